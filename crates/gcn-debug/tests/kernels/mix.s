// Counts elements by their lowest bits, with atomics in LDS and memory; each lane takes as many turns as its element says. Lane 0 of
// each wave stores what a scalar loop and lane-wise instructions make.
//
// The kernel's arguments: the elements (256 dwords), 16 counts, results (256 dwords).

	.amdgcn_target "amdgcn-amd-amdhsa--gfx900"

	.text
	.globl	mix
	.p2align	8
	.type	mix,@function

// On entry: s[0:1] the address of the arguments, s2 the number of the workgroup, v0 that of the work-item in it.
mix:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	s_lshl_b32 s3, s2, 9                    // 128 work-items a workgroup
	v_lshlrev_b32_e32 v1, 2, v0
	v_add_u32_e32 v2, s3, v1
	v_mov_b32_e32 v3, 0
	v_and_b32_e32 v4, 60, v1
	ds_write_b32 v4, v3                     // 16 counts in LDS
	s_waitcnt lgkmcnt(0)
	s_barrier
	global_load_dword v5, v2, s[4:5]
	s_waitcnt vmcnt(0)
	v_and_b32_e32 v6, 15, v5
	v_lshlrev_b32_e32 v7, 2, v6
	v_mov_b32_e32 v8, 1
	ds_add_u32 v7, v8
	ds_add_rtn_u32 v9, v7, v3
	s_mov_b64 s[10:11], exec
	v_mov_b32_e32 v10, 0
.Lturn:                                         // as many turns as the lowest bits say
	v_cmp_gt_u32_e32 vcc, v6, v10
	s_and_b64 exec, exec, vcc
	s_cbranch_execz .Lturned
	v_add_u32_e32 v10, 1, v10
	v_mad_u32_u24 v11, v10, v6, v9
	v_xor_b32_e32 v9, v11, v9
	s_branch .Lturn
.Lturned:
	s_mov_b64 exec, s[10:11]
	s_waitcnt lgkmcnt(0)
	s_barrier
	v_mov_b32_e32 v12, 0
	v_mov_b32_e32 v13, 0
	v_cmp_gt_u32_e32 vcc, 16, v0
	s_and_saveexec_b64 s[12:13], vcc
	ds_read_b32 v12, v4
	s_waitcnt lgkmcnt(0)
	global_atomic_add v13, v4, v12, s[6:7] glc
	s_waitcnt vmcnt(0)
	s_mov_b64 exec, s[12:13]
	s_movk_i32 s14, 5
	s_mov_b32 s15, 0
.Lsum:
	v_readlane_b32 s16, v5, s14
	s_add_u32 s15, s15, s16
	s_sub_u32 s14, s14, 1
	s_cmp_lg_u32 s14, 0
	s_cbranch_scc1 .Lsum
	v_writelane_b32 v9, s15, 7
	v_mov_b32_dpp v14, v9 row_shr:1 row_mask:0xf bank_mask:0xf
	v_add_u32_sdwa v15, v9, v5 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:BYTE_0
	v_add_u32_e32 v9, v14, v9
	v_add_u32_e32 v9, v15, v9
	global_store_dword v2, v9, s[8:9]
	global_store_byte v2, v13, s[8:9] offset:1
	s_endpgm
.Lfunc_end0:
	.size	mix, .Lfunc_end0-mix

	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel mix
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_kernarg_size 24
		.amdhsa_group_segment_fixed_size 64
		.amdhsa_next_free_vgpr 16
		.amdhsa_next_free_sgpr 24
	.end_amdhsa_kernel
