// y = a * x + y, one work-item an element. examples/saxpy.toml runs it.
//
// The kernel's arguments, one after another: x, y (addresses of floats), n (how many), a (a float).

	.amdgcn_target "amdgcn-amd-amdhsa--gfx803"

	.text
	.globl	saxpy
	.p2align	8
	.type	saxpy,@function

// On entry: s[0:1] the address of the arguments, s2 the number of the workgroup, v0 that of the work-item in it.
saxpy:
	s_load_dwordx4 s[4:7], s[0:1], 0x0      // s[4:5] x, s[6:7] y
	s_load_dwordx2 s[8:9], s[0:1], 0x10     // s8 n, s9 a
	s_lshl_b32 s2, s2, 8                    // 256 work-items a workgroup
	v_add_u32_e32 v0, vcc, s2, v0           // the element
	s_waitcnt lgkmcnt(0)
	v_cmp_gt_u32_e32 vcc, s8, v0            // the last workgroup has work-items without an element
	s_and_saveexec_b64 s[10:11], vcc
	s_cbranch_execz .Lend
	v_mov_b32_e32 v1, 0
	v_lshlrev_b64 v[0:1], 2, v[0:1]         // four bytes an element
	v_mov_b32_e32 v3, s5
	v_add_u32_e32 v2, vcc, s4, v0
	v_addc_u32_e32 v3, vcc, v3, v1, vcc
	flat_load_dword v4, v[2:3]
	v_mov_b32_e32 v3, s7
	v_add_u32_e32 v2, vcc, s6, v0
	v_addc_u32_e32 v3, vcc, v3, v1, vcc
	flat_load_dword v5, v[2:3]
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_fma_f32 v5, s9, v4, v5
	flat_store_dword v[2:3], v5
.Lend:
	s_endpgm
.Lfunc_end0:
	.size	saxpy, .Lfunc_end0-saxpy

	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel saxpy
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_kernarg_size 24
		.amdhsa_next_free_vgpr 6
		.amdhsa_next_free_sgpr 12
	.end_amdhsa_kernel
