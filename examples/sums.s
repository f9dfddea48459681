// Sums of many numbers in two steps, and in one step in which the workgroups meet. examples/sums.toml runs them.
//
// block_sums: numbers, sums. Each workgroup of 256 adds up its numbers in LDS and stores one sum.
// grid_sum:   numbers, state, sum. Each workgroup adds its numbers to state[0] and counts itself in state[1]; all wait until
//             all have come, and then everybody stores the sum at sum[workgroup].

	.amdgcn_target "amdgcn-amd-amdhsa--gfx900"

	.text
	.globl	block_sums
	.p2align	8
	.type	block_sums,@function

// On entry: s[0:1] the address of the arguments, s2 the number of the workgroup, v0 that of the work-item in it.
block_sums:
	s_load_dwordx4 s[4:7], s[0:1], 0x0      // s[4:5] numbers, s[6:7] sums
	s_getpc_b64 s[20:21]
	s_add_u32 s20, s20, add_up@rel32@lo+4
	s_addc_u32 s21, s21, add_up@rel32@hi+12
	s_waitcnt lgkmcnt(0)
	s_swappc_b64 s[30:31], s[20:21]
	v_cmp_eq_u32_e32 vcc, 0, v0             // one work-item stores
	s_and_saveexec_b64 s[8:9], vcc
	s_cbranch_execz .Lend0
	s_lshl_b32 s8, s2, 2
	v_mov_b32_e32 v2, s8
	global_store_dword v2, v1, s[6:7]
.Lend0:
	s_endpgm
.Lfunc_end0:
	.size	block_sums, .Lfunc_end0-block_sums

	.globl	grid_sum
	.p2align	8
	.type	grid_sum,@function
grid_sum:
	s_load_dwordx4 s[4:7], s[0:1], 0x0      // s[4:5] numbers, s[6:7] state
	s_load_dwordx2 s[10:11], s[0:1], 0x10   // sum
	s_load_dword s12, s[0:1], 0x18          // the number of workgroups
	s_getpc_b64 s[20:21]
	s_add_u32 s20, s20, add_up@rel32@lo+4
	s_addc_u32 s21, s21, add_up@rel32@hi+12
	s_waitcnt lgkmcnt(0)
	s_swappc_b64 s[30:31], s[20:21]
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[8:9], vcc
	s_cbranch_execz .Lend1
	v_mov_b32_e32 v2, 0
	v_mov_b32_e32 v3, 1
	global_atomic_add v2, v1, s[6:7]
	s_waitcnt vmcnt(0)
	global_atomic_add v2, v3, s[6:7] offset:4
.Lwait:
	s_sleep 1
	global_load_dword v4, v2, s[6:7] offset:4 glc
	s_waitcnt vmcnt(0)
	v_readfirstlane_b32 s13, v4
	s_cmp_lt_u32 s13, s12                   // some are still to come
	s_cbranch_scc1 .Lwait
	global_load_dword v4, v2, s[6:7] glc
	s_lshl_b32 s8, s2, 2
	v_mov_b32_e32 v2, s8
	s_waitcnt vmcnt(0)
	global_store_dword v2, v4, s[10:11]
.Lend1:
	s_endpgm
.Lfunc_end1:
	.size	grid_sum, .Lfunc_end1-grid_sum

// Called with s[4:5] numbers, s2 the workgroup, v0 the work-item: v1 is the sum of the workgroup's numbers. Return address in
// s[30:31].
	.p2align	2
	.type	add_up,@function
add_up:
	v_mov_b32_e32 v1, 0
	v_mov_b32_e32 v2, 0
	s_mov_b32 m0, -1
	ds_write_b32 v1, v2                     // the sum, at LDS address 0
	s_waitcnt lgkmcnt(0)
	s_barrier
	s_lshl_b32 s8, s2, 10                   // 256 numbers of four bytes
	v_lshlrev_b32_e32 v2, 2, v0
	v_add_u32_e32 v2, s8, v2
	global_load_dword v2, v2, s[4:5]
	s_waitcnt vmcnt(0)
	ds_add_u32 v1, v2
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b32 v1, v1
	s_waitcnt lgkmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end2:
	.size	add_up, .Lfunc_end2-add_up

	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel block_sums
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_group_segment_fixed_size 4
		.amdhsa_kernarg_size 16
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 32
	.end_amdhsa_kernel
	.p2align	6
	.amdhsa_kernel grid_sum
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_group_segment_fixed_size 4
		.amdhsa_kernarg_size 28
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 32
	.end_amdhsa_kernel
