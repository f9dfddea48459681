// The Mandelbrot set, one work-item a pixel, as `gcn demo` runs it.
//
//     gcn asm examples/mandelbrot.s -o mandelbrot.co
//     gcn run mandelbrot.co --kernel mandelbrot --grid 128,64 --group 64 \
//         --arg buf:zero:32768 --arg u32:128 --arg u32:64 \
//         --arg f32:-2.2 --arg f32:-1.2 --arg f32:0.025 --arg f32:0.0375 --arg u32:100 --out 0=image.bin

	.amdgcn_target "amdgcn-amd-amdhsa--gfx900"

	.text
	.globl	mandelbrot
	.p2align	8
	.type	mandelbrot,@function

// On entry, as the kernel descriptor below asks:
//   s[0:1]  address of the kernel's arguments
//   s2, s3  number of the workgroup in x and y
//   v0      number of the work-item in its workgroup, one a lane
mandelbrot:
	s_load_dwordx4 s[4:7], s[0:1], 0x0      // s[4:5] image, s6 width, s7 height
	s_load_dwordx4 s[8:11], s[0:1], 0x10    // s8 x0, s9 y0, s10 dx, s11 dy
	s_load_dword s12, s[0:1], 0x20          // the most iterations
	s_waitcnt lgkmcnt(0)                    // scalar loads have arrived
	v_lshl_add_u32 v0, s2, 6, v0            // px = workgroup x * 64 + lane
	s_cmp_ge_u32 s3, s7                     // a row below the image?
	s_cbranch_scc1 .Lend
	v_cmp_gt_u32_e32 vcc, s6, v0            // lanes with px < width ...
	s_and_saveexec_b64 s[14:15], vcc        // ... go on alone
	s_cbranch_execz .Lend
	s_mov_b64 s[16:17], exec                // they will all store a pixel

	v_cvt_f32_u32_e32 v1, v0
	v_cvt_f32_u32_e32 v2, s3
	v_mov_b32_e32 v3, s8
	v_mac_f32_e32 v3, s10, v1               // cx = x0 + dx * px
	v_mov_b32_e32 v4, s9
	v_mac_f32_e32 v4, s11, v2               // cy = y0 + dy * py
	v_mov_b32_e32 v5, 0                     // x
	v_mov_b32_e32 v6, 0                     // y
	v_mov_b32_e32 v7, 0                     // iterations of each lane
	s_mov_b32 s13, 0                        // iterations of the wave
	s_cmp_eq_u32 s12, 0
	s_cbranch_scc1 .Lstore

.Lloop:
	v_mul_f32_e32 v8, v5, v5                // x * x
	v_mul_f32_e32 v9, v6, v6                // y * y
	v_add_f32_e32 v10, v8, v9
	v_cmp_gt_f32_e32 vcc, 4.0, v10          // lanes still inside the circle
	s_and_b64 exec, exec, vcc               // the others rest
	s_cbranch_execz .Lstore                 // nobody left
	v_mul_f32_e32 v11, v5, v6
	v_sub_f32_e32 v8, v8, v9
	v_add_f32_e32 v5, v8, v3                // x = x * x - y * y + cx
	v_fma_f32 v6, 2.0, v11, v4              // y = 2 * x * y + cy
	v_add_u32_e32 v7, 1, v7
	s_add_u32 s13, s13, 1
	s_cmp_lt_u32 s13, s12
	s_cbranch_scc1 .Lloop

.Lstore:
	s_mov_b64 exec, s[16:17]                // every lane of the row again
	s_mul_i32 s3, s3, s6
	v_add_u32_e32 v0, s3, v0                // py * width + px
	v_mov_b32_e32 v1, 0
	v_lshlrev_b64 v[0:1], 2, v[0:1]         // four bytes a pixel
	v_mov_b32_e32 v2, s5
	v_add_co_u32_e32 v0, vcc, s4, v0
	v_addc_co_u32_e32 v1, vcc, v2, v1, vcc
	global_store_dword v[0:1], v7, off
.Lend:
	s_endpgm
.Lfunc_end0:
	.size	mandelbrot, .Lfunc_end0-mandelbrot

	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel mandelbrot
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_kernarg_size 36
		.amdhsa_next_free_vgpr 12
		.amdhsa_next_free_sgpr 18
	.end_amdhsa_kernel

	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .name:           image
        .offset:         0
        .size:           8
        .type_name:      'uint*'
        .value_kind:     global_buffer
      - .name:           width
        .offset:         8
        .size:           4
        .type_name:      uint
        .value_kind:     by_value
      - .name:           height
        .offset:         12
        .size:           4
        .type_name:      uint
        .value_kind:     by_value
      - .name:           x0
        .offset:         16
        .size:           4
        .type_name:      float
        .value_kind:     by_value
      - .name:           y0
        .offset:         20
        .size:           4
        .type_name:      float
        .value_kind:     by_value
      - .name:           dx
        .offset:         24
        .size:           4
        .type_name:      float
        .value_kind:     by_value
      - .name:           dy
        .offset:         28
        .size:           4
        .type_name:      float
        .value_kind:     by_value
      - .name:           iterations
        .offset:         32
        .size:           4
        .type_name:      uint
        .value_kind:     by_value
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 36
    .max_flat_workgroup_size: 64
    .name:           mandelbrot
    .private_segment_fixed_size: 0
    .sgpr_count:     24
    .symbol:         mandelbrot.kd
    .vgpr_count:     12
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx900
amdhsa.version:
  - 1
  - 1
...
	.end_amdgpu_metadata
