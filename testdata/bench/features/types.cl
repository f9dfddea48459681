// Elements of 8, 16 and 64 bits, vectors of them, integer division, bits.

kernel void blend_uchar4(global const uchar4 *a, global const uchar4 *b, global uchar4 *out, uint n) {
  uint i = get_global_id(0);
  if (i >= n)
    return;
  uint4 x = convert_uint4(a[i]), y = convert_uint4(b[i]);
  uint w = y.w;
  uint4 v = (x * (255 - w) + y * w + 127) / 255;
  out[i] = convert_uchar4(v);
}

kernel void mix_short(global const short *a, global const short *b, global short *out, int gain) {
  int i = get_global_id(0);
  int v = (a[i] * gain >> 8) + b[i];
  out[i] = convert_short_sat(v);
}

kernel void dot_char(global const char4 *a, global const char4 *b, global int *out, int n) {
  int i = get_global_id(0), size = get_global_size(0), sum = 0;
  for (int k = 0; k < n; k++) {
    char4 x = a[k * size + i], y = b[k * size + i];
    sum += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
  }
  out[i] = sum;
}

kernel void half_scale(global const half *in, global half *out, float a, float b) {
  size_t i = get_global_id(0);
  vstore_half(vload_half(i, in) * a + b, i, out);
}

kernel void half4_sum(global const half *a, global const half *b, global float4 *out) {
  size_t i = get_global_id(0);
  out[i] = vload_half4(i, a) * vload_half4(i, b);
}

kernel void double_rational(global const double *in, global double *out) {
  size_t i = get_global_id(0);
  double x = in[i];
  double p = ((0.25 * x + 1.5) * x - 0.75) * x + 2.0;
  double q = (x * x + 1.0) * x + 3.0;
  out[i] = p / q + sqrt(x);
}

kernel void double_sums(global const double *x, global const double *y, global double *out, int n) {
  int i = get_global_id(0), size = get_global_size(0);
  double sx = 0, sy = 0, sxy = 0;
  for (int k = 0; k < n; k++) {
    double a = x[k * size + i], b = y[k * size + i];
    sx += a;
    sy += b;
    sxy = fma(a, b, sxy);
  }
  out[i] = sxy - sx * sy / n;
}

kernel void long_mix(global const ulong *in, global ulong *out, int rounds) {
  size_t i = get_global_id(0);
  ulong z = in[i];
  for (int k = 0; k < rounds; k++) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ul;
    z = (z ^ z >> 27) * 0x94d049bb133111ebul;
    z ^= z >> 31;
  }
  out[i] = z;
}

kernel void mod_power(global const uint *bases, global uint *out, uint exponent, uint modulus) {
  size_t i = get_global_id(0);
  ulong b = bases[i] % modulus, r = 1;
  for (uint e = exponent; e; e >>= 1) {
    if (e & 1)
      r = r * b % modulus;
    b = b * b % modulus;
  }
  out[i] = (uint)r;
}

kernel void divide_lanes(global const int *a, global const int *b, global int2 *out) {
  int i = get_global_id(0);
  int d = b[i] | 1;
  out[i] = (int2)(a[i] / d, a[i] % d);
}

// Coordinates from one number: divisors are arguments and constants.
kernel void unflatten(global const uint *in, global uint *out, uint width, uint height) {
  uint i = get_global_id(0);
  uint x = i % width, y = i / width % height, z = i / (width * height);
  out[i] = in[(z * height + y) * width + (width - 1 - x)] / 10 + y % 7;
}

kernel void normalize3(global const float *in, global float *out) {
  size_t i = get_global_id(0);
  float3 v = vload3(i, in);
  float3 c = cross(v, (float3)(0.5f, 1.0f, -0.25f));
  vstore3(c * rsqrt(dot(c, c) + 1e-3f), i, out);
}

kernel void float4_lighting(global const float4 *normals, global const float4 *colors, global float4 *out, float4 light) {
  int i = get_global_id(0);
  float4 n = normals[i];
  float d = fmax(dot(n, light), 0.0f);
  float s = d * d;
  s = s * s * s;
  float4 c = colors[i] * (0.1f + 0.9f * d) + s;
  c.w = 1;
  out[i] = clamp(c, 0.0f, 1.0f);
}

kernel void bit_counts(global const uint *in, global uint *out) {
  size_t i = get_global_id(0);
  uint v = in[i];
  uint ones = popcount(v), zeros = clz(v), low = popcount((v & -v) - 1);
  out[i] = ones | zeros << 8 | low << 16 | (v >> 31 ? 1u << 31 : 0);
}

// Numbers of 10 bits.
kernel void unpack10(global const uint *in, global ushort *out) {
  uint i = get_global_id(0), bit = 10 * i;
  uint low = in[bit >> 5], high = in[(bit >> 5) + 1], shift = bit & 31;
  uint v = low >> shift | (shift ? high << (32 - shift) : 0);
  out[i] = v & 1023;
}

kernel void rgb_to_hsv(global const uchar4 *in, global float4 *out) {
  int i = get_global_id(0);
  uchar4 p = in[i];
  float r = p.x / 255.0f, g = p.y / 255.0f, b = p.z / 255.0f;
  float most = fmax(r, fmax(g, b)), least = fmin(r, fmin(g, b)), d = most - least, h = 0;
  if (d > 0) {
    if (most == r)
      h = (g - b) / d;
    else if (most == g)
      h = 2 + (b - r) / d;
    else
      h = 4 + (r - g) / d;
    if (h < 0)
      h += 6;
  }
  out[i] = (float4)(h * 60, most > 0 ? d / most : 0, most, 1);
}

// Two pixels share their colours.
kernel void yuyv_to_rgb(global const uchar4 *in, global uchar *out) {
  int i = get_global_id(0);
  uchar4 p = in[i];
  int u = p.y - 128, v = p.w - 128;
  for (int k = 0; k < 2; k++) {
    int y = 298 * ((k ? p.z : p.x) - 16) + 128;
    out[6 * i + 3 * k] = clamp((y + 409 * v) >> 8, 0, 255);
    out[6 * i + 3 * k + 1] = clamp((y - 100 * u - 208 * v) >> 8, 0, 255);
    out[6 * i + 3 * k + 2] = clamp((y + 516 * u) >> 8, 0, 255);
  }
}
