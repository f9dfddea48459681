; References of every kind between sections, for comparison with llvm-mc and ld.lld.
.text
.globl foo
.protected foo
.p2align 8
.type foo,@function
foo:
 s_getpc_b64 s[0:1]
 s_add_u32 s0, s0, tab@rel32@lo+4
 s_addc_u32 s1, s1, tab@rel32@hi+12
 s_getpc_b64 s[0:1]
 s_add_u32 s0, s0, gv@gotpcrel32@lo+4
 s_addc_u32 s1, s1, gv@gotpcrel32@hi+12
 s_getpc_b64 s[0:1]
 s_add_u32 s0, s0, ext@gotpcrel32@lo+4
 s_addc_u32 s1, s1, ext@gotpcrel32@hi+12
 s_endpgm
.Lfoo_end:
.size foo, .Lfoo_end-foo
local_fn:
 s_endpgm
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel foo
 .amdhsa_next_free_vgpr 1
 .amdhsa_next_free_sgpr 2
.end_amdhsa_kernel
.section .rodata.cst,"a",@progbits
.hidden tab
.globl tab
.p2align 4
tab: .long 1,2,3,4
.section .data.rel.ro,"aw",@progbits
.p2align 3
.quad tab+4
.data
.globl gv
.p2align 3
gv: .quad gv
 .quad foo
 .quad tab+8
 .quad ext
 .quad local_fn
.bss
.globl zz
.p2align 4
zz: .zero 100
.section .foo_custom,"aw",@progbits
.long 7
.section .bar_custom,"a",@progbits
.long 7
.weak wk
.comm cm,16,8
.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .is_const:       true
        .name:           p
        .offset:         0
        .size:           8
        .type_name:      'uint*'
        .value_kind:     global_buffer
      - .offset:         8
        .size:           4
        .value_kind:     by_value
      - .offset:         16
        .size:           8
        .value_kind:     hidden_global_offset_x
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .language:       Assembler
    .max_flat_workgroup_size: 256
    .name:           foo
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 64
      - 1
      - 1
    .sgpr_count:     8
    .symbol:         foo.kd
    .vgpr_count:     1
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx900
amdhsa.version:
  - 1
  - 1
...
.end_amdgpu_metadata
