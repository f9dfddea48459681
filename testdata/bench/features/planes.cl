// Loops along columns and planes, with strides that are arguments, borders that are mirrored or clamped, and tiles of small elements.

kernel void blur_planes(global const float *in, global float *out, int width, int height, int depth) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height)
    return;
  const int plane = width * height;
  int at = y * width + x;
  float a = 0, b = 0, c = in[at], d = in[at + plane], e = in[at + 2 * plane];
  for (int z = 0; z < depth - 3; z++) {
    out[at] = 0.375f * c + 0.25f * (b + d) + 0.0625f * (a + e);
    at += plane;
    a = b;
    b = c;
    c = d;
    d = e;
    e = in[at + 2 * plane];
  }
  out[at] = 0.375f * c + 0.25f * (b + d) + 0.0625f * (a + e);
}

// A difference along lines of any direction.
kernel void line_filter(global const float *in, global float *out, int dx, int dy, int dz, int nx, int ny, int nz) {
  int i = get_global_id(0), j = get_global_id(1);
  if (i >= nx || j >= ny)
    return;
  int at = i * dx + j * dy;
  float before = in[at], here;
  out[at] = 0;
  for (int k = 1; k < nz - 1; k++) {
    at += dz;
    here = in[at];
    out[at] = 0.5f * (in[at + dz] - before);
    before = here;
  }
}

// Vectors whose elements are some distance apart.
kernel void scale_add_strided(global float *y, uint first_y, uint by_y, global const float *x, uint first_x, uint by_x, float a, uint n) {
  for (uint i = get_global_id(0); i < n; i += get_global_size(0))
    y[i * by_y + first_y] += a * x[i * by_x + first_x];
}

kernel void filter_columns(global const float *in, global float *out, int width, int height, global const float *weights, int radius) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height)
    return;
  float sum = 0;
  for (int k = -radius; k <= radius; k++) {
    int v = clamp(y + k, 0, height - 1);
    sum += weights[k + radius] * in[v * width + x];
  }
  out[y * width + x] = sum;
}

int mirror(int i, int n) {
  if (i < 0)
    i = -i;
  return i >= n ? 2 * n - 2 - i : i;
}

kernel void filter_rows_mirrored(global const float *in, global float *out, int width, int height, constant float *weights, int taps) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height)
    return;
  float sum = 0;
  for (int k = 0; k < taps; k++)
    sum += weights[k] * in[y * width + mirror(x + k - taps / 2, width)];
  out[y * width + x] = sum;
}

// The sums of columns from the top down, transposed through local memory.
kernel void sums_of_columns(global const uchar *in, int pitch, global int *out, int out_pitch, int rows, int columns) {
  local int tile[16][65];
  int l = get_local_id(0), x = get_global_id(0);
  int sum = 0;
  for (int y = 0; y < rows; y += 16) {
    for (int i = 0; i < 16; i++) {
      if (y + i < rows && x < columns)
        sum += in[(y + i) * pitch + x];
      tile[i][l] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; k++) {
      int id = k * 64 + l, c = id / 16, r = id % 16;
      out[(get_group_id(0) * 64 + c) * out_pitch + y + r] = tile[r][c];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// A tile with a border, which the work-items fill in the order of its elements.
#define TILE(name, type, most, op)                                                                 \
  kernel void name(global const type *in, global type *out, int width, int height) {               \
    local type tile[18 * 20];                                                                      \
    int x = get_local_id(0), y = get_local_id(1);                                                  \
    int bx = get_group_id(0) * 16 - 1, by = get_group_id(1) * 16 - 1;                              \
    for (int id = y * 16 + x; id < 18 * 18; id += 256) {                                           \
      int r = id / 18, c = id % 18;                                                                \
      int u = clamp(bx + c, 0, width - 1), v = clamp(by + r, 0, height - 1);                       \
      tile[r * 20 + c] = in[v * width + u];                                                        \
    }                                                                                              \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                  \
    type result = most;                                                                            \
    for (int j = 0; j < 3; j++)                                                                    \
      for (int i = 0; i < 3; i++)                                                                  \
        result = op(result, tile[(y + j) * 20 + x + i]);                                           \
    out[(by + 1 + y) * width + bx + 1 + x] = result;                                               \
  }

TILE(dilate_tile_bytes, uchar, 0, max)
TILE(erode_tile_shorts, short, 0x7fff, min)
TILE(dilate_tile_floats, float, -1e30f, fmax)

// Adds the product of two vectors to the lower half of a matrix.
kernel void rank_one(global float *m, global const float *a, global const float *b, float scale, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < n && y < n && x <= y)
    m[y * n + x] += scale * a[x] * b[y];
}
