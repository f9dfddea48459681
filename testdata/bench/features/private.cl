// Private arrays, many registers, functions.

// The index of the array is known only at run time.
kernel void private_bins(global const uchar *in, global uint *out, int n) {
  int i = get_global_id(0);
  uint bins[16];
  for (int k = 0; k < 16; k++)
    bins[k] = 0;
  for (int k = 0; k < n; k++)
    bins[in[k * get_global_size(0) + i] >> 4]++;
  uint most = 0;
  for (int k = 0; k < 16; k++)
    most = max(most, bins[k] * 16 + k);
  out[i] = most;
}

kernel void insertion_sort(global const float *in, global float *out) {
  int i = get_global_id(0), size = get_global_size(0);
  float v[12];
  for (int k = 0; k < 12; k++) {
    float x = in[k * size + i];
    int at = k;
    while (at > 0 && v[at - 1] > x) {
      v[at] = v[at - 1];
      at--;
    }
    v[at] = x;
  }
  for (int k = 0; k < 12; k++)
    out[k * size + i] = v[k];
}

// Counts the points of a balanced tree that are nearer than a distance; the stack is private.
kernel void tree_stack(global const float *tree, int nodes, global const float *queries, float radius, global uint *out) {
  int i = get_global_id(0), top = 0;
  int stack[24];
  uint found = 0;
  float q = queries[i];
  stack[top++] = 0;
  while (top > 0) {
    int at = stack[--top];
    float d = q - tree[at];
    found += fabs(d) <= radius;
    int left = 2 * at + 1, right = 2 * at + 2;
    if (left < nodes && d <= radius)
      stack[top++] = left;
    if (right < nodes && d >= -radius)
      stack[top++] = right;
  }
  out[i] = found;
}

// The edit distance of two short words.
kernel void edit_distance(global const uchar *a, global const uchar *b, global uint *out) {
  int i = get_global_id(0);
  uchar row[13];
  for (int k = 0; k <= 12; k++)
    row[k] = k;
  for (int y = 0; y < 12; y++) {
    uchar diagonal = row[0], c = a[12 * i + y];
    row[0] = y + 1;
    for (int x = 0; x < 12; x++) {
      uchar up = row[x + 1];
      uchar best = min(up, row[x]) + 1;
      row[x + 1] = min(best, (uchar)(diagonal + (c != b[12 * i + x])));
      diagonal = up;
    }
  }
  out[i] = row[12];
}

#define SORT(a, b) { float t = fmin(a, b); b = fmax(a, b); a = t; }

kernel void median9(global const float *in, global float *out, int width) {
  int x = get_global_id(0) + 1, y = get_global_id(1) + 1;
  float v[9];
  for (int k = 0; k < 9; k++)
    v[k] = in[(y + k / 3 - 1) * width + x + k % 3 - 1];
  for (int k = 0; k < 5; k++)
    for (int j = k + 1; j < 9; j++)
      SORT(v[k], v[j]);
  out[y * width + x] = v[4];
}

// A product of two 8 by 8 matrices in registers.
kernel void wide_registers(global const float *in, global float *out) {
  int i = get_global_id(0), size = get_global_size(0);
  float m[64], v[8];
  for (int k = 0; k < 64; k++)
    m[k] = in[k * size + i];
  for (int k = 0; k < 8; k++)
    v[k] = 1.0f + k;
  for (int step = 0; step < 4; step++) {
    float next[8];
    for (int r = 0; r < 8; r++) {
      next[r] = 0;
      for (int c = 0; c < 8; c++)
        next[r] += m[8 * r + c] * v[c];
    }
    float scale = 1.0f / (fabs(next[0]) + fabs(next[1]) + 1);
    for (int r = 0; r < 8; r++)
      v[r] = next[r] * scale;
  }
  for (int k = 0; k < 8; k++)
    out[k * size + i] = v[k];
}

__attribute__((noinline)) float refine(float x, float a, int n) {
  for (int k = 0; k < n; k++)
    x = 0.5f * (x + a / x);
  return x;
}

__attribute__((noinline)) float other(float x, float a) {
  return a > 2.0f ? refine(x, a, 2) : x * a;
}

kernel void calls(global const float *in, global float *out) {
  int i = get_global_id(0);
  float v = in[i], a = refine(v, v + 1, 3);
  if (v < 0.5f)
    a += refine(a, v + 2, 4);
  out[i] = a + other(a, 4 * v);
}

// A system of six equations for each lane.
kernel void solve6(global const float *in, global float *out) {
  int i = get_global_id(0), size = get_global_size(0);
  float m[6][7];
  for (int r = 0; r < 6; r++)
    for (int c = 0; c < 7; c++)
      m[r][c] = in[(r * 7 + c) * size + i] + (r == c ? 4.0f : 0.0f);
  for (int k = 0; k < 6; k++)
    for (int r = 0; r < 6; r++)
      if (r != k) {
        float f = m[r][k] / m[k][k];
        for (int c = k; c < 7; c++)
          m[r][c] -= f * m[k][c];
      }
  for (int r = 0; r < 6; r++)
    out[r * size + i] = m[r][6] / m[r][r];
}
