"""Kernels for the examples of the documentation."""

#: Adds one to each element of a buffer of 32-bit integers. It needs no compiler.
ADD_ONE = """\
.amdgcn_target "amdgcn-amd-amdhsa--gfx900"
.text
.globl add_one
.p2align 8
.type add_one,@function
add_one:
  s_load_dwordx2 s[0:1], s[4:5], 0x0
  s_lshl_b32 s2, s6, 6
  v_add_u32_e32 v0, s2, v0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[0:1]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v1, 1, v1
  global_store_dword v0, v1, s[0:1]
  s_endpgm
.Lend:
.size add_one, .Lend-add_one

.rodata
.p2align 6
.amdhsa_kernel add_one
  .amdhsa_user_sgpr_private_segment_buffer 1
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_next_free_vgpr 2
  .amdhsa_next_free_sgpr 7
  .amdhsa_kernarg_size 8
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.kernels:
  - .name: add_one
    .symbol: add_one.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 7
    .vgpr_count: 2
    .max_flat_workgroup_size: 64
    .args:
      - { .name: x, .type_name: 'uint*', .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global }
...
.end_amdgpu_metadata
"""
