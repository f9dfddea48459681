	.text
	.section	.AMDGPU.config
	.long	47176
	.long	11272261
	.long	47180
	.long	133516
	.long	47200
	.long	0
	.long	4
	.long	0
	.long	8
	.long	0
	.text
	.protected	matmul                  ; -- Begin function matmul
	.globl	matmul
	.p2align	8
	.type	matmul,@function
	.amdgpu_hsa_kernel matmul
matmul:                                 ; @matmul
	.amd_kernel_code_t
		amd_code_version_major = 1
		amd_code_version_minor = 2
		amd_machine_kind = 1
		amd_machine_version_major = 8
		amd_machine_version_minor = 0
		amd_machine_version_stepping = 3
		kernel_code_entry_byte_offset = 256
		kernel_code_prefetch_byte_size = 0
		granulated_workitem_vgpr_count = 5
		granulated_wavefront_sgpr_count = 1
		priority = 0
		float_mode = 192
		priv = 0
		enable_dx10_clamp = 1
		debug_mode = 0
		enable_ieee_mode = 1
		enable_wgp_mode = 0
		enable_mem_ordered = 0
		enable_fwd_progress = 0
		enable_sgpr_private_segment_wave_byte_offset = 0
		user_sgpr_count = 6
		enable_trap_handler = 0
		enable_sgpr_workgroup_id_x = 1
		enable_sgpr_workgroup_id_y = 1
		enable_sgpr_workgroup_id_z = 0
		enable_sgpr_workgroup_info = 0
		enable_vgpr_workitem_id = 1
		enable_exception_msb = 0
		granulated_lds_size = 4
		enable_exception = 0
		enable_sgpr_private_segment_buffer = 1
		enable_sgpr_dispatch_ptr = 0
		enable_sgpr_queue_ptr = 0
		enable_sgpr_kernarg_segment_ptr = 1
		enable_sgpr_dispatch_id = 0
		enable_sgpr_flat_scratch_init = 0
		enable_sgpr_private_segment_size = 0
		enable_sgpr_grid_workgroup_count_x = 0
		enable_sgpr_grid_workgroup_count_y = 0
		enable_sgpr_grid_workgroup_count_z = 0
		enable_wavefront_size32 = 0
		enable_ordered_append_gds = 0
		private_element_size = 1
		is_ptr64 = 1
		is_dynamic_callstack = 0
		is_debug_enabled = 0
		is_xnack_enabled = 0
		workitem_private_segment_byte_size = 0
		workgroup_group_segment_byte_size = 2048
		gds_segment_byte_size = 0
		kernarg_segment_byte_size = 28
		workgroup_fbarrier_count = 0
		wavefront_sgpr_count = 12
		workitem_vgpr_count = 21
		reserved_vgpr_first = 0
		reserved_vgpr_count = 0
		reserved_sgpr_first = 0
		reserved_sgpr_count = 0
		debug_wavefront_private_segment_offset_sgpr = 0
		debug_private_segment_buffer_sgpr = 0
		kernarg_segment_alignment = 4
		group_segment_alignment = 4
		private_segment_alignment = 4
		wavefront_size = 6
		call_convention = -1
		runtime_loader_kernel_symbol = 0
	.end_amd_kernel_code_t
; %bb.0:
	s_load_dword s8, s[4:5], 0x18
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	s_load_dwordx2 s[4:5], s[4:5], 0x10
	s_lshl_b32 s7, s7, 4
	v_or_b32_e32 v2, s7, v1
	s_waitcnt lgkmcnt(0)
	v_mul_lo_u32 v5, v2, s8
	s_lshl_b32 s6, s6, 4
	s_cmp_lt_i32 s8, 16
	v_mov_b32_e32 v6, 0
	s_cbranch_scc1 .LBB0_3
; %bb.1:
	v_lshlrev_b32_e32 v2, 2, v0
	v_lshlrev_b32_e32 v7, 6, v1
	s_movk_i32 s9, 0x400
	v_or_b32_e32 v8, v7, v2
	v_or_b32_e32 v10, s9, v2
	v_mul_lo_u32 v2, v1, s8
	s_ashr_i32 s7, s8, 31
	s_lshr_b32 s7, s7, 28
	s_add_i32 s7, s8, s7
	v_add_u32_e32 v2, vcc, v0, v2
	s_ashr_i32 s7, s7, 4
	v_or_b32_e32 v9, s9, v8
	v_add_u32_e32 v1, vcc, v0, v5
	v_add_u32_e32 v3, vcc, s6, v2
	s_lshl_b32 s8, s8, 4
	v_mov_b32_e32 v6, 0
	s_mov_b32 m0, -1
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
	v_ashrrev_i32_e32 v2, 31, v1
	v_lshlrev_b64 v[11:12], 2, v[1:2]
	v_mov_b32_e32 v2, s1
	v_add_u32_e32 v11, vcc, s0, v11
	v_addc_u32_e32 v12, vcc, v2, v12, vcc
	v_ashrrev_i32_e32 v4, 31, v3
	flat_load_dword v2, v[11:12]
	v_lshlrev_b64 v[11:12], 2, v[3:4]
	v_mov_b32_e32 v4, s3
	v_add_u32_e32 v11, vcc, s2, v11
	v_addc_u32_e32 v12, vcc, v4, v12, vcc
	flat_load_dword v4, v[11:12]
	s_add_i32 s7, s7, -1
	v_add_u32_e32 v1, vcc, 16, v1
	s_cmp_eq_u32 s7, 0
	v_add_u32_e32 v3, vcc, s8, v3
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
	v_add_u32_e32 v0, vcc, s6, v0
	v_add_u32_e32 v0, vcc, v5, v0
	v_ashrrev_i32_e32 v1, 31, v0
	v_lshlrev_b64 v[0:1], 2, v[0:1]
	v_mov_b32_e32 v2, s5
	v_add_u32_e32 v0, vcc, s4, v0
	v_addc_u32_e32 v1, vcc, v2, v1, vcc
	flat_store_dword v[0:1], v6
	s_endpgm
.Lfunc_end0:
	.size	matmul, .Lfunc_end0-matmul
                                        ; -- End function
	.section	.AMDGPU.csdata
; Kernel info:
; codeLenInByte = 524
; NumSgprs: 12
; NumVgprs: 21
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 192
; IeeeMode: 1
; LDSByteSize: 2048 bytes/workgroup (compile time only)
; SGPRBlocks: 1
; VGPRBlocks: 5
; NumSGPRsForWavesPerEU: 12
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
	.amdgpu_lds llvm.amdgcn.kernel.matmul.lds, 2048, 16
	.ident	"Debian clang version 14.0.6"
	.section	".note.GNU-stack"
	.addrsig
	.amd_amdgpu_isa "amdgcn-mesa-mesa3d--gfx803"
