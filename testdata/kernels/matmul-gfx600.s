	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx600"
	.protected	matmul                  ; -- Begin function matmul
	.globl	matmul
	.p2align	8
	.type	matmul,@function
matmul:                                 ; @matmul
; %bb.0:
	s_load_dword s12, s[4:5], 0x6
	s_load_dwordx4 s[8:11], s[4:5], 0x0
	s_load_dwordx2 s[0:1], s[4:5], 0x4
	s_lshl_b32 s2, s7, 4
	v_or_b32_e32 v2, s2, v1
	s_waitcnt lgkmcnt(0)
	v_mul_lo_u32 v5, v2, s12
	s_lshl_b32 s2, s6, 4
	s_cmp_lt_i32 s12, 16
	v_mov_b32_e32 v6, 0
	s_cbranch_scc1 .LBB0_3
; %bb.1:
	v_lshlrev_b32_e32 v2, 2, v0
	v_lshlrev_b32_e32 v7, 6, v1
	s_movk_i32 s6, 0x400
	v_or_b32_e32 v8, v7, v2
	v_or_b32_e32 v10, s6, v2
	v_mul_lo_u32 v2, v1, s12
	s_ashr_i32 s3, s12, 31
	s_lshr_b32 s3, s3, 28
	s_add_i32 s3, s12, s3
	v_add_i32_e32 v2, vcc, v0, v2
	s_mov_b32 s4, s10
	s_mov_b32 s5, s11
	s_ashr_i32 s3, s3, 4
	v_or_b32_e32 v9, s6, v8
	v_add_i32_e32 v1, vcc, v0, v5
	v_add_i32_e32 v3, vcc, s2, v2
	s_lshl_b32 s12, s12, 4
	v_mov_b32_e32 v6, 0
	s_mov_b32 s11, 0x100f000
	s_mov_b32 s10, 0
	s_mov_b32 m0, -1
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
	v_ashrrev_i32_e32 v2, 31, v1
	v_lshl_b64 v[11:12], v[1:2], 2
	v_ashrrev_i32_e32 v4, 31, v3
	buffer_load_dword v2, v[11:12], s[8:11], 0 addr64
	v_lshl_b64 v[11:12], v[3:4], 2
	s_mov_b64 s[6:7], s[10:11]
	buffer_load_dword v4, v[11:12], s[4:7], 0 addr64
	s_add_i32 s3, s3, -1
	v_add_i32_e32 v1, vcc, 16, v1
	s_cmp_eq_u32 s3, 0
	v_add_i32_e32 v3, vcc, s12, v3
	s_waitcnt vmcnt(1)
	ds_write_b32 v8, v2
	s_waitcnt vmcnt(0)
	ds_write_b32 v9, v4
	s_waitcnt lgkmcnt(0)
	s_barrier 
	ds_read2_b32 v[11:12], v10 offset1:16
	ds_read2_b32 v[13:14], v7 offset1:1
	ds_read2_b32 v[15:16], v7 offset0:2 offset1:3
	ds_read2_b32 v[17:18], v7 offset0:4 offset1:5
	ds_read2_b32 v[19:20], v7 offset0:6 offset1:7
	s_waitcnt lgkmcnt(3)
	v_mac_f32_e32 v6, v13, v11
	v_mac_f32_e32 v6, v14, v12
	ds_read2_b32 v[11:12], v10 offset0:32 offset1:48
	ds_read2_b32 v[13:14], v10 offset0:64 offset1:80
	s_waitcnt lgkmcnt(1)
	v_mac_f32_e32 v6, v15, v11
	v_mac_f32_e32 v6, v16, v12
	ds_read2_b32 v[11:12], v10 offset0:96 offset1:112
	s_waitcnt lgkmcnt(1)
	v_mac_f32_e32 v6, v17, v13
	ds_read2_b32 v[15:16], v10 offset0:128 offset1:144
	v_mac_f32_e32 v6, v18, v14
	ds_read2_b32 v[13:14], v7 offset0:8 offset1:9
	s_waitcnt lgkmcnt(2)
	v_mac_f32_e32 v6, v19, v11
	v_mac_f32_e32 v6, v20, v12
	ds_read2_b32 v[11:12], v7 offset0:10 offset1:11
	ds_read2_b32 v[17:18], v7 offset0:12 offset1:13
	ds_read2_b32 v[19:20], v7 offset0:14 offset1:15
	s_waitcnt lgkmcnt(3)
	v_mac_f32_e32 v6, v13, v15
	v_mac_f32_e32 v6, v14, v16
	ds_read2_b32 v[13:14], v10 offset0:160 offset1:176
	ds_read2_b32 v[15:16], v10 offset0:192 offset1:208
	s_waitcnt lgkmcnt(1)
	v_mac_f32_e32 v6, v11, v13
	v_mac_f32_e32 v6, v12, v14
	ds_read2_b32 v[11:12], v10 offset0:224 offset1:240
	s_waitcnt lgkmcnt(1)
	v_mac_f32_e32 v6, v17, v15
	v_mac_f32_e32 v6, v18, v16
	s_waitcnt lgkmcnt(0)
	s_barrier 
	v_mac_f32_e32 v6, v19, v11
	v_mac_f32_e32 v6, v20, v12
	s_cbranch_scc0 .LBB0_2
.LBB0_3:
	v_add_i32_e32 v0, vcc, s2, v0
	v_add_i32_e32 v0, vcc, v5, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshl_b64 v[0:1], v[0:1], 2
	s_mov_b32 s3, 0x100f000
	s_mov_b32 s2, 0
	buffer_store_dword v6, v[0:1], s[0:3], 0 addr64
	s_endpgm
	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel matmul
		.amdhsa_group_segment_fixed_size 2048
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 28
		.amdhsa_user_sgpr_count 6
		.amdhsa_user_sgpr_private_segment_buffer 1
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_flat_scratch_init 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_system_sgpr_private_segment_wavefront_offset 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 1
		.amdhsa_next_free_vgpr 21
		.amdhsa_next_free_sgpr 13
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 0
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	matmul, .Lfunc_end0-matmul
                                        ; -- End function
	.section	.AMDGPU.csdata
; Kernel info:
; codeLenInByte = 512
; NumSgprs: 15
; NumVgprs: 21
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 192
; IeeeMode: 1
; LDSByteSize: 2048 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 5
; NumSGPRsForWavesPerEU: 15
; NumVGPRsForWavesPerEU: 21
; Occupancy: 10
; WaveLimiterHint : 1
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 6
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 1
	.ident	"Debian clang version 14.0.6"
	.section	".note.GNU-stack"
	.addrsig
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .is_const:       true
        .offset:         0
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .address_space:  global
        .is_const:       true
        .offset:         8
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         16
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .offset:         24
        .size:           4
        .type_name:      int
        .value_kind:     by_value
    .group_segment_fixed_size: 2048
    .kernarg_segment_align: 8
    .kernarg_segment_size: 28
    .language:       OpenCL C
    .language_version:
      - 1
      - 2
    .max_flat_workgroup_size: 256
    .name:           matmul
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 16
      - 16
      - 1
    .sgpr_count:     15
    .sgpr_spill_count: 0
    .symbol:         matmul.kd
    .vgpr_count:     21
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx600
amdhsa.version:
  - 1
  - 1
...

	.end_amdgpu_metadata
