// y[i] = |x[i]|, one work-item an element. It has a bug, which docs/debug.md finds.
//
// The kernel's arguments: x, y (addresses of floats).

	.amdgcn_target "amdgcn-amd-amdhsa--gfx900"

	.text
	.globl	absolute
	.p2align	8
	.type	absolute,@function

// On entry: s[0:1] the address of the arguments, s2 the number of the workgroup, v0 that of the work-item in it.
absolute:
	s_load_dwordx4 s[4:7], s[0:1], 0x0      // s[4:5] x, s[6:7] y
	s_lshl_b32 s2, s2, 6                    // 64 work-items a workgroup
	v_add_u32_e32 v0, s2, v0                // the element
	v_lshlrev_b32_e32 v1, 2, v0             // its distance from the beginning, in bytes
	s_waitcnt lgkmcnt(0)
	global_load_dword v2, v1, s[4:5]
	s_waitcnt vmcnt(0)
	v_cmp_gt_f32_e32 vcc, 0, v2
	s_and_saveexec_b64 s[8:9], vcc          // the lanes whose element is negative
	s_cbranch_execz .Ljoin
	v_mul_f32_e32 v2, -1.0, v2
	v_lshlrev_b32_e32 v1, 1, v1
.Ljoin:
	s_mov_b64 exec, s[8:9]
	global_store_dword v1, v2, s[6:7]
	s_endpgm
.Lfunc_end0:
	.size	absolute, .Lfunc_end0-absolute

	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel absolute
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_kernarg_size 16
		.amdhsa_next_free_vgpr 3
		.amdhsa_next_free_sgpr 16
	.end_amdhsa_kernel
