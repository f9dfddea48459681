// Zeros, infinities, NaNs and numbers near the ends, which data have more often than benchmarks: masked pixels, flat regions, tails.

// Compilers compute the quotient for all lanes.
kernel void guarded_quotient(global const float *a, global const float *b, global float *out) {
  int i = get_global_id(0);
  float d = b[i];
  out[i] = d > 0 ? a[i] / d : 0.25f;
}

kernel void quotient_of_zeros(global const float *a, global const float *b, global float *out) {
  int i = get_global_id(0);
  out[i] = b[i] / (a[i] + 0.5f) + b[i] / a[i];
}

// Vectors of which many are zero.
kernel void unit_vectors(global const float4 *in, global float4 *out) {
  int i = get_global_id(0);
  float4 v = in[i];
  float length = sqrt(v.x * v.x + v.y * v.y + v.z * v.z);
  if (length > 0)
    v = v / length;
  out[i] = v;
}

kernel void gaussian_tails(global const float *in, global float *out, float width) {
  int i = get_global_id(0);
  float x = in[i], sum = 0;
  for (int k = -4; k <= 4; k++) {
    float d = (x - k) * width;
    sum += native_exp(-d * d);
  }
  out[i] = sum;
}

// Least and greatest of samples at random places, some outside; the ranges of flat regions are zero.
kernel void envelope(global const float4 *in, global const int2 *offsets, global float4 *out, int width, int height, int samples) {
  int x = get_global_id(0), y = get_global_id(1);
  float4 mine = in[y * width + x], least = mine, most = mine;
  for (int k = 0; k < samples; k++) {
    int2 o = offsets[(x * 31 + y * 17 + k) & 1023];
    int u = x + o.x, v = y + o.y;
    if (u < 0 || v < 0 || u >= width || v >= height)
      continue;
    float4 p = in[v * width + u];
    least = fmin(least, p);
    most = fmax(most, p);
  }
  float4 range = most - least, r;
  r.x = range.x > 0 ? (mine.x - least.x) / range.x : 0.5f;
  r.y = range.y > 0 ? (mine.y - least.y) / range.y : 0.5f;
  r.z = range.z > 0 ? (mine.z - least.z) / range.z : 0.5f;
  r.w = mine.w;
  out[y * width + x] = r;
}

// Pixels that are not there are NaNs.
kernel void mean_of_present(global const float *in, global float *out, int n) {
  int i = get_global_id(0), size = get_global_size(0);
  float sum = 0, count = 0;
  for (int k = 0; k < n; k++) {
    float v = in[k * size + i];
    if (!isnan(v)) {
      sum += v;
      count += 1;
    }
  }
  out[i] = sum / count;
}

kernel void double_quotients(global const double *a, global const double *b, global double *out) {
  int i = get_global_id(0);
  double d = b[i];
  out[i] = d > 0.5 ? a[i] / d : a[i] / (d + 0.25) + sqrt(d);
}
