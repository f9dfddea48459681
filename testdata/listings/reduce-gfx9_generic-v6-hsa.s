	.amdgcn_target "amdgcn-amd-amdhsa--gfx9-generic"
	.amdhsa_code_object_version 6
	.text
	.protected	reduce_sum              ; -- Begin function reduce_sum
	.globl	reduce_sum
	.p2align	8
	.type	reduce_sum,@function
reduce_sum:                             ; @reduce_sum
; %bb.0:
	s_load_dword s9, s[4:5], 0x4
	s_load_dwordx2 s[12:13], s[6:7], 0x40
	s_load_dwordx4 s[0:3], s[6:7], 0x0
	s_load_dwordx2 s[10:11], s[6:7], 0x10
	v_mov_b32_e32 v3, s8
	s_waitcnt lgkmcnt(0)
	s_and_b32 s9, s9, 0xffff
	v_mov_b32_e32 v2, s13
	v_add_co_u32_e32 v1, vcc, s12, v0
	v_addc_co_u32_e32 v2, vcc, 0, v2, vcc
	v_mad_u64_u32 v[1:2], s[6:7], s9, v3, v[1:2]
	v_mov_b32_e32 v3, 0
	v_cmp_gt_u32_e32 vcc, s10, v1
	s_and_saveexec_b64 s[6:7], vcc
	s_cbranch_execz .LBB0_4
; %bb.1:
	s_load_dword s8, s[4:5], 0xc
	v_mov_b32_e32 v2, 0
	s_mov_b64 s[4:5], 0
	v_mov_b32_e32 v4, s1
	v_mov_b32_e32 v3, 0
.LBB0_2:                                ; =>This Inner Loop Header: Depth=1
	v_lshlrev_b64 v[5:6], 2, v[1:2]
	v_add_co_u32_e32 v5, vcc, s0, v5
	v_addc_co_u32_e32 v6, vcc, v4, v6, vcc
	global_load_dword v5, v[5:6], off
	s_waitcnt lgkmcnt(0)
	v_add_co_u32_e32 v1, vcc, s8, v1
	v_cmp_le_u32_e32 vcc, s10, v1
	s_or_b64 s[4:5], vcc, s[4:5]
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v3, v5, v3
	s_andn2_b64 exec, exec, s[4:5]
	s_cbranch_execnz .LBB0_2
; %bb.3:
	s_or_b64 exec, exec, s[4:5]
.LBB0_4:
	s_or_b64 exec, exec, s[6:7]
	s_lshr_b32 s4, s9, 1
	v_lshl_add_u32 v1, v0, 2, s11
	s_cmp_eq_u32 s4, 0
	ds_write_b32 v1, v3
	s_cbranch_scc0 .LBB0_10
.LBB0_5:
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_8
; %bb.6:
	s_mov_b64 s[0:1], exec
	v_mbcnt_lo_u32_b32 v0, s0, 0
	v_mbcnt_hi_u32_b32 v0, s1, v0
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_b64 s[4:5], exec, vcc
	s_mov_b64 exec, s[4:5]
	s_cbranch_execz .LBB0_8
; %bb.7:
	v_mov_b32_e32 v0, s11
	ds_read_b32 v0, v0
	s_bcnt1_i32_b64 s0, s[0:1]
	v_mov_b32_e32 v1, 0
	s_waitcnt lgkmcnt(0)
	v_mul_lo_u32 v0, v0, s0
	global_atomic_add v1, v0, s[2:3]
.LBB0_8:
	s_endpgm
.LBB0_9:                                ;   in Loop: Header=BB0_10 Depth=1
	s_or_b64 exec, exec, s[0:1]
	s_lshr_b32 s4, s4, 1
	s_cmp_eq_u32 s4, 0
	s_cbranch_scc1 .LBB0_5
.LBB0_10:                               ; =>This Inner Loop Header: Depth=1
	v_cmp_gt_u32_e32 vcc, s4, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB0_9
; %bb.11:                               ;   in Loop: Header=BB0_10 Depth=1
	v_lshl_add_u32 v2, s4, 2, v1
	ds_read_b32 v2, v2
	ds_read_b32 v3, v1
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, v3, v2
	ds_write_b32 v1, v2
	s_branch .LBB0_9
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel reduce_sum
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 280
		.amdhsa_user_sgpr_count 8
		.amdhsa_user_sgpr_private_segment_buffer 1
		.amdhsa_user_sgpr_dispatch_ptr 1
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_flat_scratch_init 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_system_sgpr_private_segment_wavefront_offset 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 7
		.amdhsa_next_free_sgpr 14
		.amdhsa_reserve_vcc 1
		.amdhsa_reserve_flat_scratch 0
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
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
	.size	reduce_sum, .Lfunc_end0-reduce_sum
                                        ; -- End function
	.set reduce_sum.num_vgpr, 7
	.set reduce_sum.num_agpr, 0
	.set reduce_sum.numbered_sgpr, 14
	.set reduce_sum.num_named_barrier, 0
	.set reduce_sum.private_seg_size, 0
	.set reduce_sum.uses_vcc, 1
	.set reduce_sum.uses_flat_scratch, 0
	.set reduce_sum.has_dyn_sized_stack, 0
	.set reduce_sum.has_recursion, 0
	.set reduce_sum.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 372
; TotalNumSgprs: 18
; NumVgprs: 7
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 2
; VGPRBlocks: 1
; NumSGPRsForWavesPerEU: 18
; NumVGPRsForWavesPerEU: 7
; Occupancy: 10
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 8
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
	.text
	.protected	__clang_ocl_kern_imp_reduce_sum ; -- Begin function __clang_ocl_kern_imp_reduce_sum
	.globl	__clang_ocl_kern_imp_reduce_sum
	.p2align	2
	.type	__clang_ocl_kern_imp_reduce_sum,@function
__clang_ocl_kern_imp_reduce_sum:        ; @__clang_ocl_kern_imp_reduce_sum
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	s_load_dword s10, s[4:5], 0x4
	s_load_dwordx2 s[6:7], s[8:9], 0x28
	v_and_b32_e32 v8, 0x3ff, v31
	v_mov_b32_e32 v9, s12
	s_waitcnt lgkmcnt(0)
	s_and_b32 s8, s10, 0xffff
	v_mov_b32_e32 v7, s7
	v_add_co_u32_e32 v6, vcc, s6, v8
	v_addc_co_u32_e32 v7, vcc, 0, v7, vcc
	v_mad_u64_u32 v[6:7], s[6:7], s8, v9, v[6:7]
	v_mov_b32_e32 v9, 0
	v_cmp_gt_u32_e32 vcc, v4, v6
	s_and_saveexec_b64 s[6:7], vcc
	s_cbranch_execz .LBB1_4
; %bb.1:
	s_load_dword s9, s[4:5], 0xc
	v_mov_b32_e32 v7, 0
	s_mov_b64 s[4:5], 0
	v_mov_b32_e32 v9, 0
.LBB1_2:                                ; =>This Inner Loop Header: Depth=1
	v_lshlrev_b64 v[10:11], 2, v[6:7]
	v_add_co_u32_e32 v10, vcc, v0, v10
	v_addc_co_u32_e32 v11, vcc, v1, v11, vcc
	global_load_dword v10, v[10:11], off
	s_waitcnt lgkmcnt(0)
	v_add_co_u32_e32 v6, vcc, s9, v6
	v_cmp_le_u32_e32 vcc, v4, v6
	s_or_b64 s[4:5], vcc, s[4:5]
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v9, v10, v9
	s_andn2_b64 exec, exec, s[4:5]
	s_cbranch_execnz .LBB1_2
; %bb.3:
	s_or_b64 exec, exec, s[4:5]
.LBB1_4:
	s_or_b64 exec, exec, s[6:7]
	s_lshr_b32 s6, s8, 1
	v_lshl_add_u32 v0, v8, 2, v5
	s_cmp_eq_u32 s6, 0
	ds_write_b32 v0, v9
	s_cbranch_scc0 .LBB1_9
.LBB1_5:
	v_cmp_eq_u32_e32 vcc, 0, v8
	s_and_saveexec_b64 s[4:5], vcc
	s_cbranch_execz .LBB1_7
; %bb.6:
	ds_read_b32 v0, v5
	s_waitcnt lgkmcnt(0)
	global_atomic_add v[2:3], v0, off
.LBB1_7:
	s_or_b64 exec, exec, s[4:5]
	s_waitcnt vmcnt(0) lgkmcnt(0)
	s_setpc_b64 s[30:31]
.LBB1_8:                                ;   in Loop: Header=BB1_9 Depth=1
	s_or_b64 exec, exec, s[4:5]
	s_lshr_b32 s6, s6, 1
	s_cmp_eq_u32 s6, 0
	s_cbranch_scc1 .LBB1_5
.LBB1_9:                                ; =>This Inner Loop Header: Depth=1
	v_cmp_gt_u32_e32 vcc, s6, v8
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_and_saveexec_b64 s[4:5], vcc
	s_cbranch_execz .LBB1_8
; %bb.10:                               ;   in Loop: Header=BB1_9 Depth=1
	v_lshl_add_u32 v1, s6, 2, v0
	ds_read_b32 v1, v1
	ds_read_b32 v4, v0
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v1, v4, v1
	ds_write_b32 v0, v1
	s_branch .LBB1_8
.Lfunc_end1:
	.size	__clang_ocl_kern_imp_reduce_sum, .Lfunc_end1-__clang_ocl_kern_imp_reduce_sum
                                        ; -- End function
	.set __clang_ocl_kern_imp_reduce_sum.num_vgpr, 32
	.set __clang_ocl_kern_imp_reduce_sum.num_agpr, 0
	.set __clang_ocl_kern_imp_reduce_sum.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_reduce_sum.num_named_barrier, 0
	.set __clang_ocl_kern_imp_reduce_sum.private_seg_size, 0
	.set __clang_ocl_kern_imp_reduce_sum.uses_vcc, 1
	.set __clang_ocl_kern_imp_reduce_sum.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_reduce_sum.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_reduce_sum.has_recursion, 0
	.set __clang_ocl_kern_imp_reduce_sum.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 316
; TotalNumSgprs: 36
; NumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.text
	.protected	minmax_argmax           ; -- Begin function minmax_argmax
	.globl	minmax_argmax
	.p2align	8
	.type	minmax_argmax,@function
minmax_argmax:                          ; @minmax_argmax
; %bb.0:
	s_load_dword s2, s[4:5], 0x4
	s_load_dwordx2 s[0:1], s[6:7], 0x40
	s_load_dword s10, s[6:7], 0x10
	v_mov_b32_e32 v2, s8
	s_waitcnt lgkmcnt(0)
	s_and_b32 s2, s2, 0xffff
	v_mov_b32_e32 v1, s1
	v_add_co_u32_e32 v0, vcc, s0, v0
	v_addc_co_u32_e32 v1, vcc, 0, v1, vcc
	v_mad_u64_u32 v[0:1], s[0:1], s2, v2, v[0:1]
	v_mov_b32_e32 v1, 0
	v_cmp_gt_u32_e32 vcc, s10, v0
	s_and_saveexec_b64 s[0:1], vcc
	s_cbranch_execz .LBB2_18
; %bb.1:
	s_load_dwordx4 s[0:3], s[6:7], 0x0
	s_load_dword s11, s[4:5], 0xc
	s_mov_b64 s[4:5], 0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v4, s1
	s_branch .LBB2_3
.LBB2_2:                                ;   in Loop: Header=BB2_3 Depth=1
	s_or_b64 exec, exec, s[6:7]
	v_add_co_u32_e32 v0, vcc, s11, v0
	v_cmp_le_u32_e32 vcc, s10, v0
	s_or_b64 s[4:5], vcc, s[4:5]
	s_andn2_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB2_18
.LBB2_3:                                ; =>This Loop Header: Depth=1
                                        ;     Child Loop BB2_4 Depth 2
                                        ;     Child Loop BB2_8 Depth 2
                                        ;     Child Loop BB2_12 Depth 2
	v_lshlrev_b64 v[2:3], 2, v[0:1]
	s_mov_b64 s[6:7], exec
	v_add_co_u32_e32 v2, vcc, s0, v2
	v_addc_co_u32_e32 v3, vcc, v4, v3, vcc
	global_load_dword v5, v[2:3], off
	s_brev_b32 s1, -2
.LBB2_4:                                ;   Parent Loop BB2_3 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	s_ff1_i32_b64 s8, s[6:7]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s9, v5, s8
	s_min_i32 s1, s1, s9
	s_lshl_b64 s[8:9], 1, s8
	s_andn2_b64 s[6:7], s[6:7], s[8:9]
	s_cbranch_scc1 .LBB2_4
; %bb.5:                                ;   in Loop: Header=BB2_3 Depth=1
	v_mbcnt_lo_u32_b32 v5, exec_lo, 0
	v_mbcnt_hi_u32_b32 v5, exec_hi, v5
	v_cmp_eq_u32_e32 vcc, 0, v5
	s_and_saveexec_b64 s[6:7], vcc
	s_xor_b64 s[6:7], exec, s[6:7]
	s_cbranch_execz .LBB2_7
; %bb.6:                                ;   in Loop: Header=BB2_3 Depth=1
	v_mov_b32_e32 v5, s1
	global_atomic_smin v1, v5, s[2:3]
.LBB2_7:                                ;   in Loop: Header=BB2_3 Depth=1
	s_or_b64 exec, exec, s[6:7]
	global_load_dword v5, v[2:3], off
	s_mov_b64 s[6:7], exec
	s_brev_b32 s1, 1
.LBB2_8:                                ;   Parent Loop BB2_3 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	s_ff1_i32_b64 s8, s[6:7]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s9, v5, s8
	s_max_i32 s1, s1, s9
	s_lshl_b64 s[8:9], 1, s8
	s_andn2_b64 s[6:7], s[6:7], s[8:9]
	s_cbranch_scc1 .LBB2_8
; %bb.9:                                ;   in Loop: Header=BB2_3 Depth=1
	v_mbcnt_lo_u32_b32 v5, exec_lo, 0
	v_mbcnt_hi_u32_b32 v5, exec_hi, v5
	v_cmp_eq_u32_e32 vcc, 0, v5
	s_and_saveexec_b64 s[6:7], vcc
	s_xor_b64 s[6:7], exec, s[6:7]
	s_cbranch_execz .LBB2_11
; %bb.10:                               ;   in Loop: Header=BB2_3 Depth=1
	v_mov_b32_e32 v5, s1
	global_atomic_smax v1, v5, s[2:3] offset:4
.LBB2_11:                               ;   in Loop: Header=BB2_3 Depth=1
	s_or_b64 exec, exec, s[6:7]
	global_load_dword v5, v[2:3], off
	s_mov_b64 s[6:7], exec
	s_mov_b32 s1, 0
.LBB2_12:                               ;   Parent Loop BB2_3 Depth=1
                                        ; =>  This Inner Loop Header: Depth=2
	s_ff1_i32_b64 s8, s[6:7]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s9, v5, s8
	s_xor_b32 s1, s1, s9
	s_lshl_b64 s[8:9], 1, s8
	s_andn2_b64 s[6:7], s[6:7], s[8:9]
	s_cbranch_scc1 .LBB2_12
; %bb.13:                               ;   in Loop: Header=BB2_3 Depth=1
	v_mbcnt_lo_u32_b32 v5, exec_lo, 0
	v_mbcnt_hi_u32_b32 v5, exec_hi, v5
	v_cmp_eq_u32_e32 vcc, 0, v5
	s_and_saveexec_b64 s[6:7], vcc
	s_xor_b64 s[6:7], exec, s[6:7]
	s_cbranch_execz .LBB2_15
; %bb.14:                               ;   in Loop: Header=BB2_3 Depth=1
	v_mov_b32_e32 v5, s1
	global_atomic_xor v1, v5, s[2:3] offset:8
.LBB2_15:                               ;   in Loop: Header=BB2_3 Depth=1
	s_or_b64 exec, exec, s[6:7]
	global_load_dword v2, v[2:3], off
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v2, 0x3ff, v2
	v_cmp_eq_u32_e32 vcc, 7, v2
	s_and_saveexec_b64 s[6:7], vcc
	s_cbranch_execz .LBB2_2
; %bb.16:                               ;   in Loop: Header=BB2_3 Depth=1
	s_mov_b64 s[8:9], exec
	v_mbcnt_lo_u32_b32 v2, s8, 0
	v_mbcnt_hi_u32_b32 v2, s9, v2
	v_cmp_eq_u32_e32 vcc, 0, v2
	s_and_b64 s[12:13], exec, vcc
	s_mov_b64 exec, s[12:13]
	s_cbranch_execz .LBB2_2
; %bb.17:                               ;   in Loop: Header=BB2_3 Depth=1
	s_bcnt1_i32_b64 s1, s[8:9]
	v_mov_b32_e32 v2, s1
	global_atomic_add v1, v2, s[2:3] offset:12
	s_branch .LBB2_2
.LBB2_18:
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel minmax_argmax
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 280
		.amdhsa_user_sgpr_count 8
		.amdhsa_user_sgpr_private_segment_buffer 1
		.amdhsa_user_sgpr_dispatch_ptr 1
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_flat_scratch_init 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_system_sgpr_private_segment_wavefront_offset 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 0
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 14
		.amdhsa_reserve_vcc 1
		.amdhsa_reserve_flat_scratch 0
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end2:
	.size	minmax_argmax, .Lfunc_end2-minmax_argmax
                                        ; -- End function
	.set minmax_argmax.num_vgpr, 6
	.set minmax_argmax.num_agpr, 0
	.set minmax_argmax.numbered_sgpr, 14
	.set minmax_argmax.num_named_barrier, 0
	.set minmax_argmax.private_seg_size, 0
	.set minmax_argmax.uses_vcc, 1
	.set minmax_argmax.uses_flat_scratch, 0
	.set minmax_argmax.has_dyn_sized_stack, 0
	.set minmax_argmax.has_recursion, 0
	.set minmax_argmax.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 528
; TotalNumSgprs: 18
; NumVgprs: 6
; ScratchSize: 0
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 2
; VGPRBlocks: 1
; NumSGPRsForWavesPerEU: 18
; NumVGPRsForWavesPerEU: 6
; Occupancy: 10
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 0
; COMPUTE_PGM_RSRC2:USER_SGPR: 8
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 0
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 0
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 0
	.text
	.protected	__clang_ocl_kern_imp_minmax_argmax ; -- Begin function __clang_ocl_kern_imp_minmax_argmax
	.globl	__clang_ocl_kern_imp_minmax_argmax
	.p2align	2
	.type	__clang_ocl_kern_imp_minmax_argmax,@function
__clang_ocl_kern_imp_minmax_argmax:     ; @__clang_ocl_kern_imp_minmax_argmax
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	s_load_dword s10, s[4:5], 0x4
	s_load_dwordx2 s[6:7], s[8:9], 0x28
	v_and_b32_e32 v5, 0x3ff, v31
	v_mov_b32_e32 v7, s12
	s_waitcnt lgkmcnt(0)
	s_and_b32 s8, s10, 0xffff
	v_mov_b32_e32 v6, s7
	v_add_co_u32_e32 v5, vcc, s6, v5
	v_addc_co_u32_e32 v6, vcc, 0, v6, vcc
	v_mad_u64_u32 v[5:6], s[6:7], s8, v7, v[5:6]
	v_mov_b32_e32 v6, 0
	v_cmp_gt_u32_e32 vcc, v4, v5
	s_and_saveexec_b64 s[6:7], vcc
	s_cbranch_execz .LBB3_5
; %bb.1:
	s_load_dword s10, s[4:5], 0xc
	s_mov_b64 s[4:5], 0
	v_mov_b32_e32 v7, 1
	s_branch .LBB3_3
.LBB3_2:                                ;   in Loop: Header=BB3_3 Depth=1
	s_or_b64 exec, exec, s[8:9]
	s_waitcnt lgkmcnt(0)
	v_add_co_u32_e32 v5, vcc, s10, v5
	v_cmp_le_u32_e32 vcc, v4, v5
	s_or_b64 s[4:5], vcc, s[4:5]
	s_andn2_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB3_5
.LBB3_3:                                ; =>This Inner Loop Header: Depth=1
	v_lshlrev_b64 v[8:9], 2, v[5:6]
	v_add_co_u32_e32 v8, vcc, v0, v8
	v_addc_co_u32_e32 v9, vcc, v1, v9, vcc
	global_load_dword v10, v[8:9], off
	s_waitcnt vmcnt(0)
	global_atomic_smin v[2:3], v10, off
	global_load_dword v10, v[8:9], off
	s_waitcnt vmcnt(0)
	global_atomic_smax v[2:3], v10, off offset:4
	global_load_dword v10, v[8:9], off
	s_waitcnt vmcnt(0)
	global_atomic_xor v[2:3], v10, off offset:8
	global_load_dword v8, v[8:9], off
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v8, 0x3ff, v8
	v_cmp_eq_u32_e32 vcc, 7, v8
	s_and_saveexec_b64 s[8:9], vcc
	s_cbranch_execz .LBB3_2
; %bb.4:                                ;   in Loop: Header=BB3_3 Depth=1
	global_atomic_add v[2:3], v7, off offset:12
	s_branch .LBB3_2
.LBB3_5:
	s_or_b64 exec, exec, s[6:7]
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end3:
	.size	__clang_ocl_kern_imp_minmax_argmax, .Lfunc_end3-__clang_ocl_kern_imp_minmax_argmax
                                        ; -- End function
	.set __clang_ocl_kern_imp_minmax_argmax.num_vgpr, 32
	.set __clang_ocl_kern_imp_minmax_argmax.num_agpr, 0
	.set __clang_ocl_kern_imp_minmax_argmax.numbered_sgpr, 32
	.set __clang_ocl_kern_imp_minmax_argmax.num_named_barrier, 0
	.set __clang_ocl_kern_imp_minmax_argmax.private_seg_size, 0
	.set __clang_ocl_kern_imp_minmax_argmax.uses_vcc, 1
	.set __clang_ocl_kern_imp_minmax_argmax.uses_flat_scratch, 0
	.set __clang_ocl_kern_imp_minmax_argmax.has_dyn_sized_stack, 0
	.set __clang_ocl_kern_imp_minmax_argmax.has_recursion, 0
	.set __clang_ocl_kern_imp_minmax_argmax.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 260
; TotalNumSgprs: 36
; NumVgprs: 32
; ScratchSize: 0
; MemoryBound: 0
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 32
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 32
	.set amdgpu.max_num_named_barrier, 0
	.section	.AMDGPU.csdata,"",@progbits
	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",@progbits
	.addrsig
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .is_const:       true
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .offset:         16
        .size:           4
        .type_name:      uint
        .value_kind:     by_value
      - .address_space:  local
        .offset:         20
        .pointee_align:  4
        .size:           4
        .type_name:      'int*'
        .value_kind:     dynamic_shared_pointer
      - .offset:         24
        .size:           4
        .value_kind:     hidden_block_count_x
      - .offset:         28
        .size:           4
        .value_kind:     hidden_block_count_y
      - .offset:         32
        .size:           4
        .value_kind:     hidden_block_count_z
      - .offset:         36
        .size:           2
        .value_kind:     hidden_group_size_x
      - .offset:         38
        .size:           2
        .value_kind:     hidden_group_size_y
      - .offset:         40
        .size:           2
        .value_kind:     hidden_group_size_z
      - .offset:         42
        .size:           2
        .value_kind:     hidden_remainder_x
      - .offset:         44
        .size:           2
        .value_kind:     hidden_remainder_y
      - .offset:         46
        .size:           2
        .value_kind:     hidden_remainder_z
      - .offset:         64
        .size:           8
        .value_kind:     hidden_global_offset_x
      - .offset:         72
        .size:           8
        .value_kind:     hidden_global_offset_y
      - .offset:         80
        .size:           8
        .value_kind:     hidden_global_offset_z
      - .offset:         88
        .size:           2
        .value_kind:     hidden_grid_dims
      - .offset:         144
        .size:           4
        .value_kind:     hidden_dynamic_lds_size
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 280
    .language:       OpenCL C
    .language_version:
      - 1
      - 2
    .max_flat_workgroup_size: 256
    .name:           reduce_sum
    .private_segment_fixed_size: 0
    .sgpr_count:     18
    .sgpr_spill_count: 0
    .symbol:         reduce_sum.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     7
    .vgpr_spill_count: 0
    .wavefront_size: 64
  - .args:
      - .address_space:  global
        .is_const:       true
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .offset:         16
        .size:           4
        .type_name:      uint
        .value_kind:     by_value
      - .offset:         24
        .size:           4
        .value_kind:     hidden_block_count_x
      - .offset:         28
        .size:           4
        .value_kind:     hidden_block_count_y
      - .offset:         32
        .size:           4
        .value_kind:     hidden_block_count_z
      - .offset:         36
        .size:           2
        .value_kind:     hidden_group_size_x
      - .offset:         38
        .size:           2
        .value_kind:     hidden_group_size_y
      - .offset:         40
        .size:           2
        .value_kind:     hidden_group_size_z
      - .offset:         42
        .size:           2
        .value_kind:     hidden_remainder_x
      - .offset:         44
        .size:           2
        .value_kind:     hidden_remainder_y
      - .offset:         46
        .size:           2
        .value_kind:     hidden_remainder_z
      - .offset:         64
        .size:           8
        .value_kind:     hidden_global_offset_x
      - .offset:         72
        .size:           8
        .value_kind:     hidden_global_offset_y
      - .offset:         80
        .size:           8
        .value_kind:     hidden_global_offset_z
      - .offset:         88
        .size:           2
        .value_kind:     hidden_grid_dims
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 280
    .language:       OpenCL C
    .language_version:
      - 1
      - 2
    .max_flat_workgroup_size: 256
    .name:           minmax_argmax
    .private_segment_fixed_size: 0
    .sgpr_count:     18
    .sgpr_spill_count: 0
    .symbol:         minmax_argmax.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     6
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx9-generic
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
