// Fourier transforms of 256 complex numbers, each by 128 work-items in local memory; roots has exp(-2 pi i k / 256).
kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void fft256(global const float2* in, global float2* out, global const float2* roots) {
  local float2 a[256], b[256];
  uint l = get_local_id(0), base = get_group_id(0) * 256;
  a[l] = in[base + l];
  a[l + 128] = in[base + l + 128];
  local float2 *from = a, *to = b;
  for (uint s = 1; s < 256; s <<= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    uint q = l & (s - 1), p = l - q;
    float2 u = from[l], v = from[l + 128], r = roots[p];
    float2 d = u - v;
    to[2 * p + q] = u + v;
    to[2 * p + q + s] = (float2)(d.x * r.x - d.y * r.y, d.x * r.y + d.y * r.x);
    local float2* t = from; from = to; to = t;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[base + l] = from[l];
  out[base + l + 128] = from[l + 128];
}
