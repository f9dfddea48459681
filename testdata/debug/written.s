// Kernels by hand for the debugger's tests: cross-lane instructions, lane masks, scalar loops, calls, LDS. What registers hold at a label
// follows from the code. Each has one argument, a buffer of a dword for each of 64 work-items.

	.amdgcn_target "amdgcn-amd-amdhsa--gfx900"

// On entry: s[0:1] the address of the arguments, v0 the number of the work-item.
	.macro	begin name
	.text
	.globl	\name
	.p2align	8
	.type	\name,@function
\name:
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	v_lshlrev_b32_e32 v1, 2, v0
	.endm

// Stores v2 for each work-item, and ends.
	.macro	end name
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[2:3]
	s_endpgm
.Lend_\name:
	.size	\name, .Lend_\name-\name
	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel \name
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_kernarg_size 8
		.amdhsa_group_segment_fixed_size 256
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 40
	.end_amdhsa_kernel
	.endm

// Each row of 16 lanes, turned by one.
	begin turned
	v_mov_b32_dpp v2, v0 row_ror:1 row_mask:0xf bank_mask:0xf
	end turned

// The odd lanes, numbered from 0.
	begin numbered
	v_and_b32_e32 v2, 1, v0
	v_cmp_eq_u32_e32 vcc, 1, v2
	s_and_saveexec_b64 s[4:5], vcc
	v_mbcnt_lo_u32_b32 v2, vcc_lo, 0
	v_mbcnt_hi_u32_b32 v2, vcc_hi, v2
	s_mov_b64 exec, s[4:5]
	end numbered

// 10! by scalars.
	begin factorial
	s_mov_b32 s4, 1
	s_movk_i32 s5, 10
.Lagain:
	s_mul_i32 s4, s4, s5
	s_sub_u32 s5, s5, 1
	s_cmp_lg_u32 s5, 0
	s_cbranch_scc1 .Lagain
	v_mov_b32_e32 v2, s4
	end factorial

// A square of a square, by a function that calls another.
	begin squares
	s_getpc_b64 s[30:31]
	s_add_u32 s30, s30, fourth@rel32@lo+4
	s_addc_u32 s31, s31, fourth@rel32@hi+12
	s_swappc_b64 s[32:33], s[30:31]
	v_mov_b32_e32 v2, v3
	end squares

	.text
	.p2align	8
	.type	square,@function
square:
	v_mul_lo_u32 v3, v3, v3
	s_setpc_b64 s[34:35]
.Lend_square:
	.size	square, .Lend_square-square

	.p2align	8
	.type	fourth,@function
fourth:
	v_mov_b32_e32 v3, v0
	s_getpc_b64 s[30:31]
	s_add_u32 s30, s30, square@rel32@lo+4
	s_addc_u32 s31, s31, square@rel32@hi+12
	s_swappc_b64 s[34:35], s[30:31]
	s_swappc_b64 s[34:35], s[30:31]
	s_setpc_b64 s[32:33]
.Lend_fourth:
	.size	fourth, .Lend_fourth-fourth

// Neighbours change places by way of LDS.
	begin swapped
	ds_write_b32 v1, v0
	v_xor_b32_e32 v3, 4, v1
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b32 v2, v3
	end swapped
