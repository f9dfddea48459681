__constant sampler_t WRAP = CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;

// Filtered with a sampler argument and with one in the program, and read by integers.
kernel void blur(read_only image2d_t a, write_only image2d_t b, sampler_t s) {
  int x = get_global_id(0), y = get_global_id(1);
  float2 n = (float2)(get_image_width(a), get_image_height(a));
  float4 p = read_imagef(a, s, (float2)(x + 0.25f, y + 0.75f));
  float4 q = read_imagef(a, WRAP, (float2)(x + 1.0f, y + 1.0f) / n);
  float4 r = read_imagef(a, (int2)(x, y));
  write_imagef(b, (int2)(x, y), 0.5f * p + 0.25f * q + 0.25f * r);
}

// The sum over the slices of an array.
kernel void total(read_only image2d_array_t a, global uint *out) {
  int x = get_global_id(0), y = get_global_id(1);
  uint4 sum = 0;
  for (int k = 0; k < get_image_array_size(a); k++)
    sum += read_imageui(a, (int4)(x, y, k, 0));
  out[y * get_image_width(a) + x] = sum.x + 1000 * sum.w;
}
