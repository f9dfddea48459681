// Stencils and images: two-dimensional numbers of work-items, borders.

kernel void clamped3x3(global const float *in, global float *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  float sum = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      int u = clamp(x + dx, 0, width - 1), v = clamp(y + dy, 0, height - 1);
      sum += in[v * width + u] * (dx == 0 && dy == 0 ? 4.0f : -0.5f);
    }
  out[y * width + x] = sum;
}

// The radius is an argument; the weights are in constant memory.
kernel void blur_rows(global const float *in, global float *out, int width, int height, constant float *weights, int radius) {
  int x = get_global_id(0), y = get_global_id(1);
  float sum = 0;
  for (int k = -radius; k <= radius; k++) {
    int u = min(max(x + k, 0), width - 1);
    sum += in[y * width + u] * weights[k + radius];
  }
  out[y * width + x] = sum;
}

kernel void blur_columns(global const float4 *in, global float4 *out, int width, int height, constant float *weights, int radius) {
  int x = get_global_id(0), y = get_global_id(1);
  float4 sum = 0;
  for (int k = -radius; k <= radius; k++) {
    int v = min(max(y + k, 0), height - 1);
    sum += in[v * width + x] * weights[k + radius];
  }
  out[y * width + x] = sum;
}

kernel void bilateral(global const float *in, global float *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < 2 || y < 2 || x >= width - 2 || y >= height - 2)
    return;
  float mid = in[y * width + x], sum = 0, norm = 0;
  for (int dy = -2; dy <= 2; dy++)
    for (int dx = -2; dx <= 2; dx++) {
      float v = in[(y + dy) * width + x + dx], d = v - mid;
      float w = native_exp(-0.2f * (dx * dx + dy * dy) - 20 * d * d);
      sum += w * v;
      norm += w;
    }
  out[y * width + x] = sum / norm;
}

kernel void erode_bytes(global const uchar *in, global uchar *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height)
    return;
  uchar least = 255;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      int u = x + dx, v = y + dy;
      if (u >= 0 && v >= 0 && u < width && v < height)
        least = min(least, in[v * width + u]);
    }
  out[y * width + x] = least;
}

kernel void halve(global const float4 *in, global float4 *out, int width) {
  int x = get_global_id(0), y = get_global_id(1);
  int at = 2 * y * width + 2 * x;
  out[y * (width / 2) + x] = 0.25f * (in[at] + in[at + 1] + in[at + width] + in[at + width + 1]);
}

kernel void warp(global const float *in, global float *out, int width, int height, float c, float s) {
  int x = get_global_id(0), y = get_global_id(1);
  float u = c * x - s * y, v = s * x + c * y, result = 0;
  int iu = (int)floor(u), iv = (int)floor(v);
  if (iu >= 0 && iv >= 0 && iu < width - 1 && iv < height - 1) {
    float fu = u - iu, fv = v - iv;
    int at = iv * width + iu;
    result = (in[at] * (1 - fu) + in[at + 1] * fu) * (1 - fv) + (in[at + width] * (1 - fu) + in[at + width + 1] * fu) * fv;
  }
  out[y * width + x] = result;
}

kernel void life(global const uchar *in, global uchar *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1), n = 0;
  int left = x ? x - 1 : width - 1, right = x + 1 < width ? x + 1 : 0;
  int up = y ? y - 1 : height - 1, down = y + 1 < height ? y + 1 : 0;
  n += in[up * width + left] + in[up * width + x] + in[up * width + right];
  n += in[y * width + left] + in[y * width + right];
  n += in[down * width + left] + in[down * width + x] + in[down * width + right];
  out[y * width + x] = n == 3 || (n == 2 && in[y * width + x]);
}

// What a pixel's colours are computed of depends on the parity of its place.
kernel void mosaic(global const float *in, global float4 *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1), at = y * width + x;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) {
    out[at] = (float4)(in[at]);
    return;
  }
  float own = in[at];
  float across = 0.5f * (in[at - 1] + in[at + 1]), down = 0.5f * (in[at - width] + in[at + width]);
  float corners = 0.25f * (in[at - width - 1] + in[at - width + 1] + in[at + width - 1] + in[at + width + 1]);
  float4 c;
  if ((x & 1) == 0 && (y & 1) == 0)
    c = (float4)(own, 0.5f * (across + down), corners, 1);
  else if ((x & 1) == 1 && (y & 1) == 1)
    c = (float4)(corners, 0.5f * (across + down), own, 1);
  else if ((y & 1) == 0)
    c = (float4)(across, own, down, 1);
  else
    c = (float4)(down, own, across, 1);
  out[at] = c;
}

kernel void gamma_bytes(global const uchar *in, global uchar *out, float gamma) {
  int i = get_global_id(0);
  float v = in[i] / 255.0f;
  out[i] = convert_uchar_sat_rte(pow(v, gamma) * 255.0f);
}

// Seven points of a volume, borders kept.
kernel void volume7(global const float *in, global float *out, int n) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  int at = (z * n + y) * n + x;
  float v = in[at];
  if (x > 0 && y > 0 && z > 0 && x < n - 1 && y < n - 1 && z < n - 1)
    v = 0.4f * v + 0.1f * (in[at - 1] + in[at + 1] + in[at - n] + in[at + n] + in[at - n * n] + in[at + n * n]);
  out[at] = v;
}

// A step of a wave in three dimensions.
kernel void wave_step(global const double *now, global const double *before, global double *next, int n) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  int at = (z * n + y) * n + x;
  double v = 0;
  if (x > 1 && y > 1 && z > 1 && x < n - 2 && y < n - 2 && z < n - 2) {
    double sum = -90.0 * now[at];
    for (int k = 0; k < 3; k++) {
      int far = k == 0 ? 1 : k == 1 ? n : n * n;
      sum += 16.0 * (now[at - far] + now[at + far]) - now[at - 2 * far] - now[at + 2 * far];
    }
    v = 2.0 * now[at] - before[at] + 0.01 * sum;
  }
  next[at] = v;
}

// Layers over each other until they are opaque.
kernel void composite(global const float4 *layers, global float4 *out, int pixels, int n) {
  int i = get_global_id(0);
  float3 c = 0;
  float through = 1;
  for (int k = 0; k < n; k++) {
    float4 p = layers[k * pixels + i];
    c += p.xyz * (p.w * through);
    through *= 1 - p.w;
    if (through < 0.05f)
      break;
  }
  out[i] = (float4)(c, 1 - through);
}

// The mean of nine pixels, with the border's pixels repeated.
kernel void mean9(global const float *in, global float *out, int width, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height)
    return;
  float sum = 0;
  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++)
      sum += in[clamp(y + j, 0, height - 1) * width + clamp(x + i, 0, width - 1)];
  out[y * width + x] = sum / 9;
}

// Sums of 17 pixels of a column, which a workgroup of one column loads first.
kernel void column_window(global const float *in, global float *out, int width, int height) {
  local float tile[256 + 16];
  int x = get_global_id(0), y = get_global_id(1), l = get_local_id(1);
  tile[8 + l] = in[y * width + x];
  if (l < 8)
    tile[l] = in[max(y - 8, 0) * width + x];
  if (l >= 248)
    tile[l + 16] = in[min(y + 8, height - 1) * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int i = 0; i < 17; i++)
    sum += tile[l + i];
  out[y * width + x] = sum / 17;
}
