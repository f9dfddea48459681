	.amdgcn_target "amdgcn-amd-amdhsa--gfx906"
	.amdhsa_code_object_version 6
	.text
	.hidden	twice                           ; -- Begin function twice
	.globl	twice
	.p2align	2
	.type	twice,@function
twice:                                  ; @twice
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	s_mov_b32 s6, s33
	s_mov_b32 s33, s32
	s_add_i32 s32, s32, 0x600
	buffer_store_dword v0, off, s[0:3], s33
	buffer_load_dword v0, off, s[0:3], s33
	s_mov_b32 s5, 3
	s_waitcnt vmcnt(0)
	v_and_b32_e64 v1, v0, s5
	s_lshr_b32 s4, s33, 6
	s_add_i32 s4, s4, 4
	v_lshl_add_u32 v1, v1, 2, s4
	buffer_store_dword v0, v1, s[0:3], 0 offen
	s_waitcnt vmcnt(0)
	buffer_load_dword v0, off, s[0:3], s33
	s_waitcnt vmcnt(0)
	v_and_b32_e64 v0, v0, s5
	v_lshl_add_u32 v0, v0, 2, s4
	buffer_load_dword v0, v0, s[0:3], 0 offen glc
	s_waitcnt vmcnt(0)
	s_mov_b32 s4, 1
	v_lshlrev_b32_e64 v0, s4, v0
	s_mov_b32 s32, s33
	s_mov_b32 s33, s6
	s_setpc_b64 s[30:31]
.Lfunc_end0:
	.size	twice, .Lfunc_end0-twice
                                        ; -- End function
	.set twice.num_vgpr, 2
	.set twice.num_agpr, 0
	.set twice.numbered_sgpr, 34
	.set twice.num_named_barrier, 0
	.set twice.private_seg_size, 24
	.set twice.uses_vcc, 0
	.set twice.uses_flat_scratch, 0
	.set twice.has_dyn_sized_stack, 0
	.set twice.has_recursion, 0
	.set twice.has_indirect_call, 0
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 144
; TotalNumSgprs: 38
; NumVgprs: 2
; ScratchSize: 24
; MemoryBound: 0
	.text
	.hidden	more                            ; -- Begin function more
	.globl	more
	.p2align	2
	.type	more,@function
more:                                   ; @more
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	s_mov_b32 s19, s33
	s_mov_b32 s33, s32
	s_xor_saveexec_b64 s[16:17], -1
	buffer_store_dword v2, off, s[0:3], s33 offset:12 ; 4-byte Folded Spill
	buffer_store_dword v3, off, s[0:3], s33 offset:16 ; 4-byte Folded Spill
	s_mov_b64 exec, s[16:17]
	s_add_i32 s32, s32, 0x800
	v_writelane_b32 v2, s30, 0
	v_writelane_b32 v2, s31, 1
	buffer_store_dword v31, off, s[0:3], s33 offset:8 ; 4-byte Folded Spill
                                        ; implicit-def: $vgpr3 : SGPR spill to VGPR lane
	v_writelane_b32 v3, s15, 0
	v_writelane_b32 v3, s14, 1
	v_writelane_b32 v3, s13, 2
	v_writelane_b32 v3, s12, 3
	v_writelane_b32 v3, s10, 4
	v_writelane_b32 v3, s11, 5
	v_writelane_b32 v3, s8, 6
	v_writelane_b32 v3, s9, 7
	v_writelane_b32 v3, s6, 8
	v_writelane_b32 v3, s7, 9
	v_writelane_b32 v3, s4, 10
	v_writelane_b32 v3, s5, 11
	buffer_store_dword v0, off, s[0:3], s33
	buffer_load_dword v0, off, s[0:3], s33
	s_getpc_b64 s[16:17]
	s_add_u32 s16, s16, twice@rel32@lo+4
	s_addc_u32 s17, s17, twice@rel32@hi+12
	s_mov_b64 s[22:23], s[2:3]
	s_mov_b64 s[20:21], s[0:1]
	s_mov_b64 s[0:1], s[20:21]
	s_mov_b64 s[2:3], s[22:23]
	s_swappc_b64 s[30:31], s[16:17]
	buffer_load_dword v31, off, s[0:3], s33 offset:8 ; 4-byte Folded Reload
	v_readlane_b32 s15, v3, 0
	v_readlane_b32 s14, v3, 1
	v_readlane_b32 s13, v3, 2
	v_readlane_b32 s12, v3, 3
	v_readlane_b32 s10, v3, 4
	v_readlane_b32 s11, v3, 5
	v_readlane_b32 s8, v3, 6
	v_readlane_b32 s9, v3, 7
	v_readlane_b32 s4, v3, 10
	v_readlane_b32 s5, v3, 11
	v_readlane_b32 s6, v3, 8
	v_readlane_b32 s7, v3, 9
	buffer_store_dword v0, off, s[0:3], s33 offset:4 ; 4-byte Folded Spill
	buffer_load_dword v0, off, s[0:3], s33
	s_mov_b32 s18, 1
	s_waitcnt vmcnt(0)
	v_add_u32_e64 v0, v0, s18
	s_mov_b64 s[22:23], s[2:3]
	s_mov_b64 s[20:21], s[0:1]
	s_mov_b64 s[0:1], s[20:21]
	s_mov_b64 s[2:3], s[22:23]
	s_swappc_b64 s[30:31], s[16:17]
	v_mov_b32_e32 v1, v0
	buffer_load_dword v0, off, s[0:3], s33 offset:4 ; 4-byte Folded Reload
	s_waitcnt vmcnt(0)
	v_add_u32_e64 v0, v0, v1
	v_readlane_b32 s31, v2, 1
	v_readlane_b32 s30, v2, 0
	s_mov_b32 s32, s33
	s_xor_saveexec_b64 s[4:5], -1
	buffer_load_dword v2, off, s[0:3], s33 offset:12 ; 4-byte Folded Reload
	buffer_load_dword v3, off, s[0:3], s33 offset:16 ; 4-byte Folded Reload
	s_mov_b64 exec, s[4:5]
	s_mov_b32 s33, s19
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end1:
	.size	more, .Lfunc_end1-more
                                        ; -- End function
	.set more.num_vgpr, max(32, twice.num_vgpr)
	.set more.num_agpr, max(0, twice.num_agpr)
	.set more.numbered_sgpr, max(34, twice.numbered_sgpr)
	.set more.num_named_barrier, max(0, twice.num_named_barrier)
	.set more.private_seg_size, 32+max(twice.private_seg_size)
	.set more.uses_vcc, or(0, twice.uses_vcc)
	.set more.uses_flat_scratch, or(0, twice.uses_flat_scratch)
	.set more.has_dyn_sized_stack, or(0, twice.has_dyn_sized_stack)
	.set more.has_recursion, or(0, twice.has_recursion)
	.set more.has_indirect_call, or(0, twice.has_indirect_call)
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 456
; TotalNumSgprs: 38
; NumVgprs: 32
; ScratchSize: 56
; MemoryBound: 0
	.text
	.protected	__clang_ocl_kern_imp_calls ; -- Begin function __clang_ocl_kern_imp_calls
	.globl	__clang_ocl_kern_imp_calls
	.p2align	2
	.type	__clang_ocl_kern_imp_calls,@function
__clang_ocl_kern_imp_calls:             ; @__clang_ocl_kern_imp_calls
; %bb.0:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	s_mov_b32 s28, s33
	s_mov_b32 s33, s32
	s_xor_saveexec_b64 s[16:17], -1
	buffer_store_dword v9, off, s[0:3], s33 offset:144 ; 4-byte Folded Spill
	buffer_store_dword v10, off, s[0:3], s33 offset:148 ; 4-byte Folded Spill
	s_mov_b64 exec, s[16:17]
	s_add_i32 s32, s32, 0x2800
	v_writelane_b32 v9, s30, 0
	v_writelane_b32 v9, s31, 1
	buffer_store_dword v31, off, s[0:3], s33 offset:60 ; 4-byte Folded Spill
	buffer_store_dword v2, off, s[0:3], s33 offset:56 ; 4-byte Folded Spill
	v_mov_b32_e32 v4, v1
	v_mov_b32_e32 v2, v0
	buffer_load_dword v0, off, s[0:3], s33 offset:56 ; 4-byte Folded Reload
                                        ; implicit-def: $vgpr10 : SGPR spill to VGPR lane
	v_writelane_b32 v10, s15, 0
	v_writelane_b32 v10, s14, 1
	v_writelane_b32 v10, s13, 2
	v_writelane_b32 v10, s12, 3
	v_writelane_b32 v10, s10, 4
	v_writelane_b32 v10, s11, 5
	v_writelane_b32 v10, s8, 6
	v_writelane_b32 v10, s9, 7
	v_writelane_b32 v10, s6, 8
	v_writelane_b32 v10, s7, 9
	v_writelane_b32 v10, s4, 10
	v_writelane_b32 v10, s5, 11
                                        ; kill: def $vgpr0 killed $vgpr0 def $vgpr0_vgpr1 killed $exec
	v_mov_b32_e32 v1, v3
                                        ; kill: def $vgpr2 killed $vgpr2 def $vgpr2_vgpr3 killed $exec
	v_mov_b32_e32 v3, v4
	v_mov_b32_e32 v4, v3
	buffer_store_dword v4, off, s[0:3], s33 offset:28
                                        ; kill: def $vgpr2 killed $vgpr2 killed $vgpr2_vgpr3 killed $exec
	buffer_store_dword v2, off, s[0:3], s33 offset:24
	v_mov_b32_e32 v2, v1
	buffer_store_dword v2, off, s[0:3], s33 offset:36
                                        ; kill: def $vgpr0 killed $vgpr0 killed $vgpr0_vgpr1 killed $exec
	s_waitcnt vmcnt(3)
	buffer_store_dword v0, off, s[0:3], s33 offset:32
	v_mov_b32_e32 v1, 0
	buffer_store_dword v1, off, s[0:3], s33 offset:16
	buffer_load_dword v0, off, s[0:3], s33 offset:16
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:12
	buffer_load_dword v0, off, s[0:3], s33 offset:12
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e64 s[4:5], v0, v1
	v_mov_b32_e32 v0, s12
	buffer_store_dword v0, off, s[0:3], s33 offset:52 ; 4-byte Folded Spill
	s_mov_b64 s[6:7], exec
	s_and_b64 s[4:5], s[6:7], s[4:5]
	s_xor_b64 s[6:7], s[4:5], s[6:7]
	v_writelane_b32 v10, s6, 12
	v_writelane_b32 v10, s7, 13
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_mov_b64 exec, s[4:5]
	s_cbranch_execz .LBB2_10
	s_branch .LBB2_2
.LBB2_1:
	s_branch .LBB2_12
.LBB2_2:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s6, v10, 2
	buffer_load_dword v0, off, s[0:3], s33 offset:12
	s_mov_b32 s4, 1
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e64 s[4:5], v0, s4
	v_mov_b32_e32 v0, s6
	buffer_store_dword v0, off, s[0:3], s33 offset:64 ; 4-byte Folded Spill
	s_mov_b64 s[6:7], exec
	s_and_b64 s[4:5], s[6:7], s[4:5]
	s_xor_b64 s[6:7], s[4:5], s[6:7]
	v_writelane_b32 v10, s6, 14
	v_writelane_b32 v10, s7, 15
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_mov_b64 exec, s[4:5]
	s_cbranch_execz .LBB2_8
	s_branch .LBB2_4
.LBB2_3:
	s_branch .LBB2_11
.LBB2_4:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s6, v10, 1
	buffer_load_dword v0, off, s[0:3], s33 offset:12
	s_mov_b32 s4, 2
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e64 s[4:5], v0, s4
	v_mov_b32_e32 v0, s6
	buffer_store_dword v0, off, s[0:3], s33 offset:68 ; 4-byte Folded Spill
	s_mov_b64 s[6:7], exec
	s_and_b64 s[4:5], s[6:7], s[4:5]
	s_xor_b64 s[6:7], s[4:5], s[6:7]
	v_writelane_b32 v10, s6, 16
	v_writelane_b32 v10, s7, 17
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_mov_b64 exec, s[4:5]
	s_cbranch_execz .LBB2_5
	s_branch .LBB2_7
.LBB2_5:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 16
	v_readlane_b32 s5, v10, 17
	s_or_saveexec_b64 s[4:5], s[4:5]
	buffer_load_dword v0, off, s[0:3], s33 offset:68 ; 4-byte Folded Reload
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:72 ; 4-byte Folded Spill
	s_and_b64 s[4:5], exec, s[4:5]
	v_writelane_b32 v10, s4, 18
	v_writelane_b32 v10, s5, 19
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_xor_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB2_9
; %bb.6:
	s_branch .LBB2_9
.LBB2_7:
	v_mov_b32_e32 v0, 0
	buffer_store_dword v0, off, s[0:3], s33 offset:68 ; 4-byte Folded Spill
	s_branch .LBB2_5
.LBB2_8:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 14
	v_readlane_b32 s5, v10, 15
	s_or_saveexec_b64 s[4:5], s[4:5]
	buffer_load_dword v0, off, s[0:3], s33 offset:64 ; 4-byte Folded Reload
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:76 ; 4-byte Folded Spill
	s_and_b64 s[4:5], exec, s[4:5]
	v_writelane_b32 v10, s4, 20
	v_writelane_b32 v10, s5, 21
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_xor_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB2_11
	s_branch .LBB2_3
.LBB2_9:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 18
	v_readlane_b32 s5, v10, 19
	s_or_b64 exec, exec, s[4:5]
	buffer_load_dword v0, off, s[0:3], s33 offset:72 ; 4-byte Folded Reload
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:64 ; 4-byte Folded Spill
	s_branch .LBB2_8
.LBB2_10:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 12
	v_readlane_b32 s5, v10, 13
	s_or_saveexec_b64 s[4:5], s[4:5]
	buffer_load_dword v0, off, s[0:3], s33 offset:52 ; 4-byte Folded Reload
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:80 ; 4-byte Folded Spill
	s_and_b64 s[4:5], exec, s[4:5]
	v_writelane_b32 v10, s4, 22
	v_writelane_b32 v10, s5, 23
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_xor_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB2_12
	s_branch .LBB2_1
.LBB2_11:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 20
	v_readlane_b32 s5, v10, 21
	s_or_b64 exec, exec, s[4:5]
	buffer_load_dword v0, off, s[0:3], s33 offset:76 ; 4-byte Folded Reload
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:52 ; 4-byte Folded Spill
	s_branch .LBB2_10
.LBB2_12:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 22
	v_readlane_b32 s5, v10, 23
	s_or_b64 exec, exec, s[4:5]
	buffer_load_dword v0, off, s[0:3], s33 offset:80 ; 4-byte Folded Reload
	v_mov_b32_e32 v2, 0
                                        ; kill: def $vgpr0 killed $vgpr0 def $vgpr0_vgpr1 killed $exec
	v_mov_b32_e32 v1, v2
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:84 ; 4-byte Folded Spill
	s_nop 0
	buffer_store_dword v1, off, s[0:3], s33 offset:88 ; 4-byte Folded Spill
	buffer_load_dword v0, off, s[0:3], s33 offset:16
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:8
	buffer_load_dword v0, off, s[0:3], s33 offset:8
	s_mov_b32 s4, 2
	s_waitcnt vmcnt(0)
	v_cmp_gt_u32_e64 s[4:5], v0, s4
	s_mov_b64 s[6:7], exec
	s_and_b64 s[4:5], s[6:7], s[4:5]
	s_xor_b64 s[6:7], s[4:5], s[6:7]
	v_writelane_b32 v10, s6, 24
	v_writelane_b32 v10, s7, 25
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_mov_b64 exec, s[4:5]
	s_cbranch_execz .LBB2_13
	s_branch .LBB2_15
.LBB2_13:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 24
	v_readlane_b32 s5, v10, 25
	s_or_saveexec_b64 s[4:5], s[4:5]
	v_mov_b32_e32 v0, 1
	buffer_store_dword v0, off, s[0:3], s33 offset:92 ; 4-byte Folded Spill
	s_and_b64 s[4:5], exec, s[4:5]
	v_writelane_b32 v10, s4, 26
	v_writelane_b32 v10, s5, 27
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_xor_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB2_16
; %bb.14:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 10
	v_readlane_b32 s5, v10, 11
	buffer_load_dword v0, off, s[0:3], s33 offset:8
	s_mov_b32 s6, 4
	s_waitcnt vmcnt(0)
	v_lshl_add_u32 v0, v0, 1, s6
	s_nop 0
	global_load_ushort v0, v0, s[4:5]
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:92 ; 4-byte Folded Spill
	s_branch .LBB2_16
.LBB2_15:
	s_branch .LBB2_13
.LBB2_16:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 26
	v_readlane_b32 s5, v10, 27
	s_or_b64 exec, exec, s[4:5]
	buffer_load_dword v0, off, s[0:3], s33 offset:60 ; 4-byte Folded Reload
	buffer_load_dword v6, off, s[0:3], s33 offset:84 ; 4-byte Folded Reload
	buffer_load_dword v7, off, s[0:3], s33 offset:88 ; 4-byte Folded Reload
	buffer_load_dword v3, off, s[0:3], s33 offset:92 ; 4-byte Folded Reload
	s_waitcnt vmcnt(0)
	v_ashrrev_i32_e64 v4, 31, v3
	v_mov_b32_e32 v1, v3
	v_mov_b32_e32 v2, v4
	s_mov_b32 s4, 32
	v_lshrrev_b64 v[4:5], s4, v[6:7]
                                        ; kill: def $vgpr4 killed $vgpr4 killed $vgpr4_vgpr5 killed $exec
	v_mul_lo_u32 v5, v4, v3
	v_lshrrev_b64 v[1:2], s4, v[1:2]
	v_mov_b32_e32 v2, v1
	v_mov_b32_e32 v1, v6
	v_mul_lo_u32 v2, v1, v2
	v_mad_u64_u32 v[3:4], s[6:7], v1, v3, 0
	v_mov_b32_e32 v1, v4
	v_add3_u32 v1, v1, v2, v5
                                        ; implicit-def: $sgpr5
                                        ; implicit-def: $sgpr6
                                        ; kill: def $vgpr1 killed $vgpr1 def $vgpr1_vgpr2 killed $exec
	v_mov_b32_e32 v2, s5
	v_lshlrev_b64 v[1:2], s4, v[1:2]
	v_mov_b32_e32 v6, v2
	v_mov_b32_e32 v4, v3
	v_mov_b32_e32 v3, 0
                                        ; kill: def $vgpr4 killed $vgpr4 def $vgpr4_vgpr5 killed $exec
	v_mov_b32_e32 v5, v3
	v_mov_b32_e32 v3, v5
	v_or_b32_e64 v3, v3, v6
	v_mov_b32_e32 v2, v1
	v_mov_b32_e32 v1, v4
	v_or_b32_e64 v1, v1, v2
                                        ; kill: def $vgpr1 killed $vgpr1 def $vgpr1_vgpr2 killed $exec
	v_mov_b32_e32 v2, v3
	buffer_store_dword v1, off, s[0:3], s33 offset:100 ; 4-byte Folded Spill
	s_nop 0
	buffer_store_dword v2, off, s[0:3], s33 offset:104 ; 4-byte Folded Spill
	buffer_load_dword v1, off, s[0:3], s33 offset:16
	s_waitcnt vmcnt(0)
	buffer_store_dword v1, off, s[0:3], s33 offset:4
	buffer_load_dword v1, off, s[0:3], s33 offset:4
	s_mov_b32 s4, 0
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e64 s[4:5], v1, s4
	s_mov_b32 s6, 0x3ff
	v_and_b32_e64 v0, v0, s6
	buffer_store_dword v0, off, s[0:3], s33 offset:96 ; 4-byte Folded Spill
	s_mov_b64 s[6:7], exec
	s_and_b64 s[4:5], s[6:7], s[4:5]
	s_xor_b64 s[6:7], s[4:5], s[6:7]
	v_writelane_b32 v10, s6, 28
	v_writelane_b32 v10, s7, 29
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_mov_b64 exec, s[4:5]
	s_cbranch_execz .LBB2_26
	s_branch .LBB2_18
.LBB2_17:
	s_branch .LBB2_28
.LBB2_18:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	buffer_load_dword v0, off, s[0:3], s33 offset:60 ; 4-byte Folded Reload
	buffer_load_dword v1, off, s[0:3], s33 offset:4
	s_mov_b32 s4, 1
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e64 s[4:5], v1, s4
	v_bfe_u32 v0, v0, 10, 10
	buffer_store_dword v0, off, s[0:3], s33 offset:108 ; 4-byte Folded Spill
	s_mov_b64 s[6:7], exec
	s_and_b64 s[4:5], s[6:7], s[4:5]
	s_xor_b64 s[6:7], s[4:5], s[6:7]
	v_writelane_b32 v10, s6, 30
	v_writelane_b32 v10, s7, 31
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_mov_b64 exec, s[4:5]
	s_cbranch_execz .LBB2_24
	s_branch .LBB2_20
.LBB2_19:
	s_branch .LBB2_27
.LBB2_20:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	buffer_load_dword v0, off, s[0:3], s33 offset:60 ; 4-byte Folded Reload
	buffer_load_dword v1, off, s[0:3], s33 offset:4
	s_mov_b32 s4, 2
	s_waitcnt vmcnt(0)
	v_cmp_ne_u32_e64 s[4:5], v1, s4
	v_bfe_u32 v0, v0, 20, 10
	buffer_store_dword v0, off, s[0:3], s33 offset:112 ; 4-byte Folded Spill
	s_mov_b64 s[6:7], exec
	s_and_b64 s[4:5], s[6:7], s[4:5]
	s_xor_b64 s[6:7], s[4:5], s[6:7]
	v_writelane_b32 v10, s6, 32
	v_writelane_b32 v10, s7, 33
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_mov_b64 exec, s[4:5]
	s_cbranch_execz .LBB2_21
	s_branch .LBB2_23
.LBB2_21:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 32
	v_readlane_b32 s5, v10, 33
	s_or_saveexec_b64 s[4:5], s[4:5]
	buffer_load_dword v0, off, s[0:3], s33 offset:112 ; 4-byte Folded Reload
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:116 ; 4-byte Folded Spill
	s_and_b64 s[4:5], exec, s[4:5]
	v_writelane_b32 v10, s4, 34
	v_writelane_b32 v10, s5, 35
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_xor_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB2_25
; %bb.22:
	s_branch .LBB2_25
.LBB2_23:
	v_mov_b32_e32 v0, 0
	buffer_store_dword v0, off, s[0:3], s33 offset:112 ; 4-byte Folded Spill
	s_branch .LBB2_21
.LBB2_24:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 30
	v_readlane_b32 s5, v10, 31
	s_or_saveexec_b64 s[4:5], s[4:5]
	buffer_load_dword v0, off, s[0:3], s33 offset:108 ; 4-byte Folded Reload
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:120 ; 4-byte Folded Spill
	s_and_b64 s[4:5], exec, s[4:5]
	v_writelane_b32 v10, s4, 36
	v_writelane_b32 v10, s5, 37
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_xor_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB2_27
	s_branch .LBB2_19
.LBB2_25:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 34
	v_readlane_b32 s5, v10, 35
	s_or_b64 exec, exec, s[4:5]
	buffer_load_dword v0, off, s[0:3], s33 offset:116 ; 4-byte Folded Reload
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:108 ; 4-byte Folded Spill
	s_branch .LBB2_24
.LBB2_26:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 28
	v_readlane_b32 s5, v10, 29
	s_or_saveexec_b64 s[4:5], s[4:5]
	buffer_load_dword v0, off, s[0:3], s33 offset:96 ; 4-byte Folded Reload
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:124 ; 4-byte Folded Spill
	s_and_b64 s[4:5], exec, s[4:5]
	v_writelane_b32 v10, s4, 38
	v_writelane_b32 v10, s5, 39
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_xor_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB2_28
	s_branch .LBB2_17
.LBB2_27:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 36
	v_readlane_b32 s5, v10, 37
	s_or_b64 exec, exec, s[4:5]
	buffer_load_dword v0, off, s[0:3], s33 offset:120 ; 4-byte Folded Reload
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:96 ; 4-byte Folded Spill
	s_branch .LBB2_26
.LBB2_28:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 38
	v_readlane_b32 s5, v10, 39
	s_or_b64 exec, exec, s[4:5]
	buffer_load_dword v1, off, s[0:3], s33 offset:100 ; 4-byte Folded Reload
	buffer_load_dword v2, off, s[0:3], s33 offset:104 ; 4-byte Folded Reload
	buffer_load_dword v4, off, s[0:3], s33 offset:124 ; 4-byte Folded Reload
	v_mov_b32_e32 v0, 0
                                        ; kill: def $vgpr4 killed $vgpr4 def $vgpr4_vgpr5 killed $exec
	v_mov_b32_e32 v5, v0
	s_waitcnt vmcnt(2)
	v_mov_b32_e32 v0, v1
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v3, v4
	v_mov_b32_e32 v1, v2
	v_mov_b32_e32 v2, v5
	v_add_co_u32_e64 v0, s[4:5], v0, v3
	v_addc_co_u32_e64 v2, s[4:5], v1, v2, s[4:5]
                                        ; kill: def $vgpr0 killed $vgpr0 def $vgpr0_vgpr1 killed $exec
	v_mov_b32_e32 v1, v2
	buffer_store_dword v0, off, s[0:3], s33 offset:128 ; 4-byte Folded Spill
	s_nop 0
	buffer_store_dword v1, off, s[0:3], s33 offset:132 ; 4-byte Folded Spill
	buffer_load_dword v0, off, s[0:3], s33 offset:16
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33
	buffer_load_dword v0, off, s[0:3], s33
	s_mov_b32 s4, 2
	s_waitcnt vmcnt(0)
	v_cmp_gt_u32_e64 s[4:5], v0, s4
	s_mov_b64 s[6:7], exec
	s_and_b64 s[4:5], s[6:7], s[4:5]
	s_xor_b64 s[6:7], s[4:5], s[6:7]
	v_writelane_b32 v10, s6, 40
	v_writelane_b32 v10, s7, 41
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_mov_b64 exec, s[4:5]
	s_cbranch_execz .LBB2_29
	s_branch .LBB2_31
.LBB2_29:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 40
	v_readlane_b32 s5, v10, 41
	s_or_saveexec_b64 s[4:5], s[4:5]
	v_mov_b32_e32 v0, 0
	v_mov_b32_e32 v1, 0
	buffer_store_dword v0, off, s[0:3], s33 offset:136 ; 4-byte Folded Spill
	s_nop 0
	buffer_store_dword v1, off, s[0:3], s33 offset:140 ; 4-byte Folded Spill
	s_and_b64 s[4:5], exec, s[4:5]
	v_writelane_b32 v10, s4, 42
	v_writelane_b32 v10, s5, 43
	s_or_saveexec_b64 s[26:27], -1
	buffer_store_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Spill
	s_mov_b64 exec, s[26:27]
	s_xor_b64 exec, exec, s[4:5]
	s_cbranch_execz .LBB2_32
; %bb.30:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s4, v10, 6
	v_readlane_b32 s5, v10, 7
	buffer_load_dword v0, off, s[0:3], s33
	s_mov_b32 s6, 3
	s_waitcnt vmcnt(0)
	v_lshlrev_b32_e64 v0, s6, v0
	s_nop 0
	global_load_dwordx2 v[0:1], v0, s[4:5] offset:40
	s_waitcnt vmcnt(0)
	buffer_store_dword v0, off, s[0:3], s33 offset:136 ; 4-byte Folded Spill
	s_nop 0
	buffer_store_dword v1, off, s[0:3], s33 offset:140 ; 4-byte Folded Spill
	s_branch .LBB2_32
.LBB2_31:
	s_branch .LBB2_29
.LBB2_32:
	s_or_saveexec_b64 s[26:27], -1
	buffer_load_dword v10, off, s[0:3], s33 offset:48 ; 4-byte Folded Reload
	s_mov_b64 exec, s[26:27]
	s_waitcnt vmcnt(0)
	v_readlane_b32 s16, v10, 42
	v_readlane_b32 s17, v10, 43
	s_or_b64 exec, exec, s[16:17]
	v_readlane_b32 s15, v10, 0
	v_readlane_b32 s14, v10, 1
	v_readlane_b32 s13, v10, 2
	v_readlane_b32 s12, v10, 3
	v_readlane_b32 s10, v10, 4
	v_readlane_b32 s11, v10, 5
	v_readlane_b32 s8, v10, 6
	v_readlane_b32 s9, v10, 7
	v_readlane_b32 s6, v10, 8
	v_readlane_b32 s7, v10, 9
	v_readlane_b32 s4, v10, 10
	v_readlane_b32 s5, v10, 11
	buffer_load_dword v31, off, s[0:3], s33 offset:60 ; 4-byte Folded Reload
	buffer_load_dword v1, off, s[0:3], s33 offset:128 ; 4-byte Folded Reload
	buffer_load_dword v2, off, s[0:3], s33 offset:132 ; 4-byte Folded Reload
	buffer_load_dword v4, off, s[0:3], s33 offset:136 ; 4-byte Folded Reload
	buffer_load_dword v5, off, s[0:3], s33 offset:140 ; 4-byte Folded Reload
	s_waitcnt vmcnt(3)
	v_mov_b32_e32 v0, v1
	s_waitcnt vmcnt(1)
	v_mov_b32_e32 v3, v4
	v_mov_b32_e32 v1, v2
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v2, v5
	v_add_co_u32_e64 v0, s[16:17], v0, v3
	v_addc_co_u32_e64 v2, s[16:17], v1, v2, s[16:17]
                                        ; kill: def $vgpr0 killed $vgpr0 def $vgpr0_vgpr1 killed $exec
	v_mov_b32_e32 v1, v2
	v_mov_b32_e32 v2, v1
	buffer_store_dword v2, off, s[0:3], s33 offset:44
                                        ; kill: def $vgpr0 killed $vgpr0 killed $vgpr0_vgpr1 killed $exec
	buffer_store_dword v0, off, s[0:3], s33 offset:40
	buffer_load_dword v1, off, s[0:3], s33 offset:24
	s_nop 0
	buffer_load_dword v0, off, s[0:3], s33 offset:28
                                        ; kill: def $vgpr1 killed $vgpr1 def $vgpr1_vgpr2 killed $exec
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v2, v0
	buffer_load_dword v3, off, s[0:3], s33 offset:40
	buffer_load_dword v0, off, s[0:3], s33 offset:44
                                        ; kill: def $vgpr3 killed $vgpr3 def $vgpr3_vgpr4 killed $exec
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v4, v0
	s_mov_b32 s16, 2
	v_writelane_b32 v10, s16, 44
	v_lshlrev_b64 v[4:5], s16, v[3:4]
	v_mov_b32_e32 v0, v1
	v_mov_b32_e32 v3, v4
	v_mov_b32_e32 v1, v2
	v_mov_b32_e32 v2, v5
	v_add_co_u32_e64 v0, s[16:17], v0, v3
	v_addc_co_u32_e64 v2, s[16:17], v1, v2, s[16:17]
                                        ; kill: def $vgpr0 killed $vgpr0 def $vgpr0_vgpr1 killed $exec
	v_mov_b32_e32 v1, v2
	global_load_dword v0, v[0:1], off
	s_getpc_b64 s[16:17]
	s_add_u32 s16, s16, more@rel32@lo+4
	s_addc_u32 s17, s17, more@rel32@hi+12
	s_mov_b64 s[22:23], s[2:3]
	s_mov_b64 s[20:21], s[0:1]
	s_mov_b64 s[0:1], s[20:21]
	s_mov_b64 s[2:3], s[22:23]
	s_swappc_b64 s[30:31], s[16:17]
	v_readlane_b32 s4, v10, 44
	v_mov_b32_e32 v2, v0
	buffer_load_dword v7, off, s[0:3], s33 offset:24
	buffer_load_dword v0, off, s[0:3], s33 offset:28
                                        ; kill: def $vgpr7 killed $vgpr7 def $vgpr7_vgpr8 killed $exec
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v8, v0
	buffer_load_dword v0, off, s[0:3], s33 offset:40
	buffer_load_dword v3, off, s[0:3], s33 offset:44
                                        ; kill: def $vgpr0 killed $vgpr0 def $vgpr0_vgpr1 killed $exec
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v1, v3
	v_lshlrev_b64 v[5:6], s4, v[0:1]
	v_mov_b32_e32 v0, v7
	v_mov_b32_e32 v4, v5
	v_mov_b32_e32 v1, v8
	v_mov_b32_e32 v3, v6
	v_add_co_u32_e64 v0, s[6:7], v0, v4
	v_addc_co_u32_e64 v3, s[6:7], v1, v3, s[6:7]
                                        ; kill: def $vgpr0 killed $vgpr0 def $vgpr0_vgpr1 killed $exec
	v_mov_b32_e32 v1, v3
	global_store_dword v[0:1], v2, off
	buffer_load_dword v2, off, s[0:3], s33 offset:40
	s_nop 0
	buffer_load_dword v3, off, s[0:3], s33 offset:44
	s_waitcnt vmcnt(1)
	v_mov_b32_e32 v0, v2
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v1, v3
	s_mov_b32 s5, 7
	v_and_b32_e64 v2, v2, s5
	v_lshlrev_b32_e64 v2, s4, v2
	s_getpc_b64 s[6:7]
	s_add_u32 s6, s6, table@rel32@lo+4
	s_addc_u32 s7, s7, table@rel32@hi+12
	global_load_dword v2, v2, s[6:7]
	s_nop 0
	buffer_load_dword v7, off, s[0:3], s33 offset:32
	buffer_load_dword v3, off, s[0:3], s33 offset:36
                                        ; kill: def $vgpr7 killed $vgpr7 def $vgpr7_vgpr8 killed $exec
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v8, v3
	v_lshlrev_b64 v[5:6], s4, v[0:1]
	v_mov_b32_e32 v0, v7
	v_mov_b32_e32 v4, v5
	v_mov_b32_e32 v1, v8
	v_mov_b32_e32 v3, v6
	v_add_co_u32_e64 v0, s[4:5], v0, v4
	v_addc_co_u32_e64 v3, s[4:5], v1, v3, s[4:5]
                                        ; kill: def $vgpr0 killed $vgpr0 def $vgpr0_vgpr1 killed $exec
	v_mov_b32_e32 v1, v3
	global_store_dword v[0:1], v2, off
	v_readlane_b32 s31, v9, 1
	v_readlane_b32 s30, v9, 0
	s_mov_b32 s32, s33
	s_xor_saveexec_b64 s[4:5], -1
	buffer_load_dword v9, off, s[0:3], s33 offset:144 ; 4-byte Folded Reload
	buffer_load_dword v10, off, s[0:3], s33 offset:148 ; 4-byte Folded Reload
	s_mov_b64 exec, s[4:5]
	s_mov_b32 s33, s28
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end2:
	.size	__clang_ocl_kern_imp_calls, .Lfunc_end2-__clang_ocl_kern_imp_calls
                                        ; -- End function
	.set __clang_ocl_kern_imp_calls.num_vgpr, max(32, more.num_vgpr)
	.set __clang_ocl_kern_imp_calls.num_agpr, max(0, more.num_agpr)
	.set __clang_ocl_kern_imp_calls.numbered_sgpr, max(34, more.numbered_sgpr)
	.set __clang_ocl_kern_imp_calls.num_named_barrier, max(0, more.num_named_barrier)
	.set __clang_ocl_kern_imp_calls.private_seg_size, 160+max(more.private_seg_size)
	.set __clang_ocl_kern_imp_calls.uses_vcc, or(0, more.uses_vcc)
	.set __clang_ocl_kern_imp_calls.uses_flat_scratch, or(0, more.uses_flat_scratch)
	.set __clang_ocl_kern_imp_calls.has_dyn_sized_stack, or(0, more.has_dyn_sized_stack)
	.set __clang_ocl_kern_imp_calls.has_recursion, or(0, more.has_recursion)
	.set __clang_ocl_kern_imp_calls.has_indirect_call, or(0, more.has_indirect_call)
	.section	.AMDGPU.csdata,"",@progbits
; Function info:
; codeLenInByte = 3704
; TotalNumSgprs: 38
; NumVgprs: 32
; ScratchSize: 216
; MemoryBound: 0
	.text
	.protected	calls                   ; -- Begin function calls
	.globl	calls
	.p2align	8
	.type	calls,@function
calls:                                  ; @calls
; %bb.0:
	s_mov_b32 s33, 0
	s_mov_b32 s32, 0x800
	s_add_u32 flat_scratch_lo, s12, s17
	s_addc_u32 flat_scratch_hi, s13, 0
	s_add_u32 s0, s0, s17
	s_addc_u32 s1, s1, 0
                                        ; implicit-def: $vgpr11 : SGPR spill to VGPR lane
	v_writelane_b32 v11, s16, 0
	s_mov_b32 s13, s15
	s_mov_b32 s12, s14
	v_readlane_b32 s14, v11, 0
	s_mov_b64 s[16:17], s[8:9]
	v_mov_b32_e32 v6, v2
	v_mov_b32_e32 v5, v1
	v_mov_b32_e32 v4, v0
	s_load_dwordx2 s[18:19], s[16:17], 0x0
	s_load_dwordx2 s[8:9], s[16:17], 0x8
	s_waitcnt lgkmcnt(0)
	s_mov_b32 s15, s19
	v_mov_b32_e32 v0, s15
	buffer_store_dword v0, off, s[0:3], s33 offset:4
	s_mov_b32 s15, s18
	v_mov_b32_e32 v0, s15
	buffer_store_dword v0, off, s[0:3], s33
	s_mov_b32 s15, s9
	v_mov_b32_e32 v0, s15
	buffer_store_dword v0, off, s[0:3], s33 offset:12
                                        ; kill: def $sgpr8 killed $sgpr8 killed $sgpr8_sgpr9
	v_mov_b32_e32 v0, s8
	buffer_store_dword v0, off, s[0:3], s33 offset:8
	buffer_load_dword v0, off, s[0:3], s33
	s_nop 0
	buffer_load_dword v1, off, s[0:3], s33 offset:4
                                        ; implicit-def: $sgpr8
                                        ; implicit-def: $sgpr9
	v_mov_b32_e32 v9, s8
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v10, v1
	buffer_load_dword v2, off, s[0:3], s33 offset:8
	buffer_load_dword v1, off, s[0:3], s33 offset:12
                                        ; implicit-def: $sgpr8
                                        ; implicit-def: $sgpr9
	v_mov_b32_e32 v7, s8
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v8, v1
	s_mov_b64 s[18:19], 16
	s_mov_b32 s8, s16
	s_mov_b32 s9, s17
	s_mov_b32 s16, s18
	s_mov_b32 s15, s19
	s_add_u32 s8, s8, s16
	s_addc_u32 s15, s9, s15
                                        ; kill: def $sgpr8 killed $sgpr8 def $sgpr8_sgpr9
	s_mov_b32 s9, s15
	s_mov_b32 s15, 32
	v_lshrrev_b64 v[9:10], s15, v[9:10]
	v_mov_b32_e32 v1, v9
	v_lshrrev_b64 v[7:8], s15, v[7:8]
	v_mov_b32_e32 v3, v7
	s_getpc_b64 s[16:17]
	s_add_u32 s16, s16, __clang_ocl_kern_imp_calls@rel32@lo+4
	s_addc_u32 s17, s17, __clang_ocl_kern_imp_calls@rel32@hi+12
	s_mov_b64 s[22:23], s[2:3]
	s_mov_b64 s[20:21], s[0:1]
	s_mov_b32 s15, 20
	v_lshlrev_b32_e64 v6, s15, v6
	s_mov_b32 s15, 10
	v_lshlrev_b32_e64 v5, s15, v5
	v_or3_b32 v31, v4, v5, v6
                                        ; implicit-def: $sgpr15
	s_mov_b64 s[0:1], s[20:21]
	s_mov_b64 s[2:3], s[22:23]
	s_swappc_b64 s[30:31], s[16:17]
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel calls
		.amdhsa_group_segment_fixed_size 0
		.amdhsa_private_segment_fixed_size 248
		.amdhsa_kernarg_size 272
		.amdhsa_user_sgpr_count 14
		.amdhsa_user_sgpr_private_segment_buffer 1
		.amdhsa_user_sgpr_dispatch_ptr 1
		.amdhsa_user_sgpr_queue_ptr 1
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 1
		.amdhsa_user_sgpr_flat_scratch_init 1
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_system_sgpr_private_segment_wavefront_offset 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 1
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 2
		.amdhsa_next_free_vgpr 32
		.amdhsa_next_free_sgpr 34
		.amdhsa_reserve_vcc 0
		.amdhsa_reserve_flat_scratch 1
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
.Lfunc_end3:
	.size	calls, .Lfunc_end3-calls
                                        ; -- End function
	.set calls.num_vgpr, max(32, __clang_ocl_kern_imp_calls.num_vgpr)
	.set calls.num_agpr, max(0, __clang_ocl_kern_imp_calls.num_agpr)
	.set calls.numbered_sgpr, max(34, __clang_ocl_kern_imp_calls.numbered_sgpr)
	.set calls.num_named_barrier, max(0, __clang_ocl_kern_imp_calls.num_named_barrier)
	.set calls.private_seg_size, 32+max(__clang_ocl_kern_imp_calls.private_seg_size)
	.set calls.uses_vcc, or(0, __clang_ocl_kern_imp_calls.uses_vcc)
	.set calls.uses_flat_scratch, or(1, __clang_ocl_kern_imp_calls.uses_flat_scratch)
	.set calls.has_dyn_sized_stack, or(0, __clang_ocl_kern_imp_calls.has_dyn_sized_stack)
	.set calls.has_recursion, or(0, __clang_ocl_kern_imp_calls.has_recursion)
	.set calls.has_indirect_call, or(0, __clang_ocl_kern_imp_calls.has_indirect_call)
	.section	.AMDGPU.csdata,"",@progbits
; Kernel info:
; codeLenInByte = 344
; TotalNumSgprs: 40
; NumVgprs: 32
; ScratchSize: 248
; MemoryBound: 0
; FloatMode: 240
; IeeeMode: 1
; LDSByteSize: 0 bytes/workgroup (compile time only)
; SGPRBlocks: 4
; VGPRBlocks: 7
; NumSGPRsForWavesPerEU: 40
; NumVGPRsForWavesPerEU: 32
; Occupancy: 8
; WaveLimiterHint : 0
; COMPUTE_PGM_RSRC2:SCRATCH_EN: 1
; COMPUTE_PGM_RSRC2:USER_SGPR: 14
; COMPUTE_PGM_RSRC2:TRAP_HANDLER: 0
; COMPUTE_PGM_RSRC2:TGID_X_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Y_EN: 1
; COMPUTE_PGM_RSRC2:TGID_Z_EN: 1
; COMPUTE_PGM_RSRC2:TIDIG_COMP_CNT: 2
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 32
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 34
	.set amdgpu.max_num_named_barrier, 0
	.section	.AMDGPU.csdata,"",@progbits
	.hidden	table                           ; @table
	.type	table,@object
	.section	.rodata,"a",@progbits
	.globl	table
	.p2align	2, 0x0
table:
	.long	0x3f800000                      ; float 1
	.long	0x40000000                      ; float 2
	.long	0x40400000                      ; float 3
	.long	0x40800000                      ; float 4
	.long	0x40a00000                      ; float 5
	.long	0x40c00000                      ; float 6
	.long	0x40e00000                      ; float 7
	.long	0x41000000                      ; float 8
	.size	table, 32

	.ident	"Debian clang version 22.1.8 (1~deb12u1)"
	.section	".note.GNU-stack","",@progbits
	.addrsig
	.addrsig_sym twice
	.addrsig_sym more
	.addrsig_sym __clang_ocl_kern_imp_calls
	.addrsig_sym table
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .type_name:      'int*'
        .value_kind:     global_buffer
      - .address_space:  global
        .offset:         8
        .size:           8
        .type_name:      'float*'
        .value_kind:     global_buffer
      - .offset:         16
        .size:           4
        .value_kind:     hidden_block_count_x
      - .offset:         20
        .size:           4
        .value_kind:     hidden_block_count_y
      - .offset:         24
        .size:           4
        .value_kind:     hidden_block_count_z
      - .offset:         28
        .size:           2
        .value_kind:     hidden_group_size_x
      - .offset:         30
        .size:           2
        .value_kind:     hidden_group_size_y
      - .offset:         32
        .size:           2
        .value_kind:     hidden_group_size_z
      - .offset:         34
        .size:           2
        .value_kind:     hidden_remainder_x
      - .offset:         36
        .size:           2
        .value_kind:     hidden_remainder_y
      - .offset:         38
        .size:           2
        .value_kind:     hidden_remainder_z
      - .offset:         56
        .size:           8
        .value_kind:     hidden_global_offset_x
      - .offset:         64
        .size:           8
        .value_kind:     hidden_global_offset_y
      - .offset:         72
        .size:           8
        .value_kind:     hidden_global_offset_z
      - .offset:         80
        .size:           2
        .value_kind:     hidden_grid_dims
      - .offset:         96
        .size:           8
        .value_kind:     hidden_hostcall_buffer
      - .offset:         104
        .size:           8
        .value_kind:     hidden_multigrid_sync_arg
      - .offset:         112
        .size:           8
        .value_kind:     hidden_heap_v1
      - .offset:         120
        .size:           8
        .value_kind:     hidden_default_queue
      - .offset:         128
        .size:           8
        .value_kind:     hidden_completion_action
      - .offset:         216
        .size:           8
        .value_kind:     hidden_queue_ptr
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 272
    .language:       OpenCL C
    .language_version:
      - 1
      - 2
    .max_flat_workgroup_size: 256
    .name:           calls
    .private_segment_fixed_size: 248
    .sgpr_count:     40
    .sgpr_spill_count: 1
    .symbol:         calls.kd
    .uniform_work_group_size: 1
    .uses_dynamic_stack: false
    .vgpr_count:     32
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx906
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
