// Waves that do little.

kernel void fill(global uint *out, uint value) {
  out[get_global_id(0)] = value;
}

kernel void copy_bytes(global const uchar *in, global uchar *out) {
  size_t i = get_global_id(0);
  out[i] = in[i];
}

kernel void add_one(global int *data) {
  data[get_global_id(0)]++;
}

kernel void lane_numbers(global ushort *out) {
  int i = get_global_id(0);
  out[i] = i & 0xffff;
}

// Most waves end at once.
kernel void few_waves(global float *data, int n) {
  int i = get_global_id(0);
  if (i < n)
    data[i] = data[i] * 2 + 1;
}

// The number that is compared with the limit has 64 bits.
kernel void below_size(global const float *in, global float *out, int n) {
  size_t i = get_global_id(0);
  if (i < n)
    out[i] = in[i] * 2 + 1;
}

// Workgroups of 16, a quarter of a wave.
kernel void small_groups(global const float *in, global float *out) {
  int i = get_global_id(0);
  out[i] = in[i] * get_local_id(0) + get_group_id(0);
}

kernel void saxpby(global const float *x, global float *y, float a, float b, uint n) {
  for (uint i = get_global_id(0); i < n; i += get_global_size(0))
    y[i] = a * x[i] + b * y[i];
}

kernel void threshold(global const float *in, global uchar *out, float limit, int n) {
  int i = get_global_id(0);
  if (i >= n)
    return;
  if (in[i] > limit)
    out[i] = 255;
  else
    out[i] = in[i] < 0.1f ? 1 : 0;
}

kernel void strided_copy(global const float *in, global float *out, int stride) {
  int i = get_global_id(0);
  out[i] = in[i * stride];
}

kernel void interleave(global const float *a, global const float *b, global float *out) {
  int i = get_global_id(0);
  out[2 * i] = a[i];
  out[2 * i + 1] = b[i];
}

kernel void complex_multiply(global const float2 *a, global const float2 *b, global float2 *out) {
  int i = get_global_id(0);
  float2 x = a[i], y = b[i];
  out[i] = (float2)(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}

// More memory than the caches have.
kernel void stretch_float4(global const float4 *in, global float4 *out, float4 low, float4 factor) {
  int i = get_global_id(0);
  out[i] = (in[i] - low) * factor;
}
