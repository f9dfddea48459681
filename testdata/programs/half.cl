// f16: arithmetic that rounds once, conversions in each direction, loads and stores of halves.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void halves(global const half* a, global const half* b, global half* out, global const float* f, global ushort* stored) {
  uint i = get_global_id(0), n = get_global_size(0);
  half x = a[i], y = b[i];
  out[i] = x + y; out[n + i] = x * y; out[2 * n + i] = x - y;
  out[3 * n + i] = x < y ? x : y; out[4 * n + i] = (half)((int)x);
  vstore_half(f[i], i, (global half*)stored);
  vstore_half(vload_half(i, a) * 3.0f, n + i, (global half*)stored);
}
