// Local memory and barriers.

kernel void tile_transpose(global const float *in, global float *out, int n) {
  local float tile[16][17];
  int x = get_local_id(0), y = get_local_id(1);
  tile[y][x] = in[get_global_id(1) * n + get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[(get_group_id(0) * 16 + y) * n + get_group_id(1) * 16 + x] = tile[x][y];
}

kernel void tree_max(global const float *in, global float *out) {
  local float tile[256];
  int l = get_local_id(0);
  tile[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 128; step > 0; step >>= 1) {
    if (l < step)
      tile[l] = fmax(tile[l], tile[l + step]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0)
    out[get_group_id(0)] = tile[0];
}

// A reduction with interleaved neighbours, whose active lanes are far apart.
kernel void tree_interleaved(global const int *in, global int *out) {
  local int tile[128];
  int l = get_local_id(0);
  tile[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 1; step < 128; step *= 2) {
    if (l % (2 * step) == 0)
      tile[l] += tile[l + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0)
    out[get_group_id(0)] = tile[0];
}

kernel void scan_steps(global const uint *in, global uint *out) {
  local uint tile[2][128];
  int l = get_local_id(0), from = 0;
  tile[0][l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 1; step < 128; step <<= 1) {
    uint v = tile[from][l];
    if (l >= step)
      v += tile[from][l - step];
    tile[1 - from][l] = v;
    from = 1 - from;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = tile[from][l];
}

kernel void bitonic_tile(global uint *data) {
  local uint tile[256];
  uint l = get_local_id(0);
  tile[l] = data[get_global_id(0)];
  for (uint size = 2; size <= 256; size <<= 1)
    for (uint step = size >> 1; step > 0; step >>= 1) {
      barrier(CLK_LOCAL_MEM_FENCE);
      uint other = l ^ step;
      if (other > l) {
        uint a = tile[l], b = tile[other];
        if ((a > b) == ((l & size) == 0)) {
          tile[l] = b;
          tile[other] = a;
        }
      }
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  data[get_global_id(0)] = tile[l];
}

kernel void tile_stencil(global const float *in, global float *out, int n) {
  local float tile[136];
  int l = get_local_id(0), i = get_global_id(0);
  tile[l + 4] = in[i];
  if (l < 4) {
    tile[l] = i >= 4 ? in[i - 4] : 0;
    tile[l + 132] = i + 128 < n ? in[i + 128] : 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int k = -4; k <= 4; k++)
    sum += tile[l + 4 + k] * (1.0f - 0.1f * k * k);
  out[i] = sum;
}

kernel void gemm_tile(global const float *a, global const float *b, global float *c, int n) {
  local float as[8][8], bs[8][8];
  int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int t = 0; t < n; t += 8) {
    as[y][x] = a[row * n + t + x];
    bs[y][x] = b[(t + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 8; k++)
      sum += as[y][k] * bs[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

kernel void gemm_direct(global const float *a, global const float *b, global float *c, int n) {
  int column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int k = 0; k < n; k++)
    sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

// Eight of 64 lanes work.
kernel void few_lanes(global const float *in, global float *out) {
  local float tile[64];
  int l = get_local_id(0);
  tile[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 8) {
    float sum = 0;
    for (int k = 0; k < 8; k++)
      sum = sum * 0.5f + tile[8 * l + k];
    out[get_group_id(0) * 8 + l] = sum;
  }
}

// The first lane does what is to be done in order.
kernel void one_lane(global const uint *in, global uint *out) {
  local uint tile[64];
  int l = get_local_id(0);
  tile[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0)
    for (int k = 1; k < 64; k++)
      tile[k] = tile[k] * 3 + tile[k - 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = tile[l];
}

// Waves of a front that moves over a tile: the number of active lanes grows and shrinks.
kernel void wavefront(global const int *in, global int *out) {
  local int tile[33][33];
  int l = get_local_id(0), g = get_group_id(0);
  tile[0][l + 1] = -l;
  tile[l + 1][0] = -l;
  if (l == 0)
    tile[0][0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 0; d < 63; d++) {
    int y = d - l;
    if (y >= 0 && y < 32) {
      int score = in[(g * 32 + y) * 32 + l] % 5 - 2;
      int v = max(tile[y][l] + score, max(tile[y][l + 1], tile[y + 1][l]) - 1);
      tile[y + 1][l + 1] = v;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int y = 0; y < 32; y++)
    out[(g * 32 + y) * 32 + l] = tile[y + 1][l + 1];
}

kernel void radix_digits(global const uint *in, global uint *counts, uint shift) {
  local uint bins[16];
  uint l = get_local_id(0);
  if (l < 16)
    bins[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&bins[in[get_global_id(0)] >> shift & 15]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 16)
    counts[get_group_id(0) * 16 + l] = bins[l];
}

// Elements that satisfy a condition, in order, by a scan of the workgroup.
kernel void compact_scan(global const int *in, global int *out, global int *counts) {
  local int tile[64];
  int l = get_local_id(0), v = in[get_global_id(0)], keep = v > 0;
  tile[l] = keep;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = 1; step < 64; step *= 2) {
    int t = l >= step ? tile[l - step] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[l] += t;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (keep)
    out[get_group_id(0) * 64 + tile[l] - 1] = v;
  if (l == 63)
    counts[get_group_id(0)] = tile[63];
}

// A product of matrices, tile by tile of 8 by 8 elements.
kernel void tile_product(global const float *a, global const float *b, global float *c, int n) {
  local float rows[8][8], columns[8][8];
  int x = get_local_id(0), y = get_local_id(1);
  float sum = 0;
  for (int k = 0; k < n; k += 8) {
    rows[y][x] = a[get_global_id(1) * n + k + x];
    columns[y][x] = b[(k + y) * n + get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 8; i++)
      sum += rows[y][i] * columns[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[get_global_id(1) * n + get_global_id(0)] = sum;
}
