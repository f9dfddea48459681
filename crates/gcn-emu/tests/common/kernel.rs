//! A kernel of a few instructions, loaded. The root of the test defines `machine`, which creates the GPU.

use gcn_emu::dispatch::{Gpu, Loaded};
use gcn_isa::Target;
use gcn_object::CodeObject;

/// A GPU with a kernel `k` of these instructions, which has the address of a buffer in s[0:1] and v[2:3], the workgroup's
/// number in s2 and the work-item's in v0. `settings`: more of `.amdhsa_kernel`.
pub fn gpu(arch: &str, body: &str, settings: &str) -> (Gpu, Loaded) {
    let gpu = crate::machine(Target::parse(arch).unwrap());
    let loaded = gpu.load(&object(arch, body, settings)).unwrap();
    (gpu, loaded)
}

/// The code object of the kernel of [`gpu`].
pub fn object(arch: &str, body: &str, settings: &str) -> CodeObject {
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{arch}\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n\
         s_load_dwordx2 s[0:1], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n\
         v_mov_b32 v2, s0\nv_mov_b32 v3, s1\n{body}\ns_endpgm\n\
         .section .rodata,#alloc\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n{settings}\
         .amdhsa_kernarg_size 8\n.amdhsa_next_free_vgpr 16\n.amdhsa_next_free_sgpr 32\n\
         .amdhsa_group_segment_fixed_size 256\n.end_amdhsa_kernel\n"
    );
    let output = gcn_asm::assemble(&source, "k.s", &gcn_asm::Options::default());
    let object = output
        .object
        .unwrap_or_else(|| panic!("{}", gcn_asm::render(&output.diagnostics, false)));
    CodeObject::parse(&object.loadable().unwrap()).unwrap()
}
