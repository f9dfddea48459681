// Addresses that data determine.

kernel void gather(global const float *in, global const uint *index, global float *out) {
  int i = get_global_id(0);
  out[i] = in[index[i]];
}

kernel void gather_float4(global const float4 *in, global const uint *index, global float4 *out) {
  int i = get_global_id(0);
  out[i] = in[index[i]] * 2.0f;
}

kernel void scatter(global const float *in, global const uint *index, global float *out) {
  int i = get_global_id(0);
  out[index[i]] = in[i];
}

kernel void scatter_uchar4(global const uchar4 *in, global const uint *index, global uchar4 *out) {
  int i = get_global_id(0);
  out[index[i]] = in[i].zyxw;
}

kernel void reverse(global const uint *in, global uint *out, int n) {
  int i = get_global_id(0);
  out[n - 1 - i] = in[i];
}

kernel void sparse_rows(global const uint *rows, global const uint *columns, global const float *values, global const float *x,
                        global float *y) {
  int i = get_global_id(0);
  float sum = 0;
  for (uint k = rows[i]; k < rows[i + 1]; k++)
    sum += values[k] * x[columns[k]];
  y[i] = sum;
}

// The k-th elements of all rows follow each other.
kernel void sparse_ell(global const uint *columns, global const float *values, global const float *x, global float *y, int most) {
  int i = get_global_id(0), n = get_global_size(0);
  float sum = 0;
  for (int k = 0; k < most; k++) {
    uint c = columns[k * n + i];
    if (c != 0xffffffffu)
      sum += values[k * n + i] * x[c];
  }
  y[i] = sum;
}

kernel void binary_search(global const uint *sorted, uint n, global const uint *keys, global uint *out) {
  int i = get_global_id(0);
  uint key = keys[i], low = 0, high = n;
  while (low < high) {
    uint mid = (low + high) / 2;
    if (sorted[mid] < key)
      low = mid + 1;
    else
      high = mid;
  }
  out[i] = low;
}

// A step of a breadth-first search: the neighbours of the nodes of the front.
kernel void front_step(global const uint *rows, global const uint *edges, global const uchar *front, global uchar *next,
                       global uint *depth, uint level) {
  int i = get_global_id(0);
  if (!front[i])
    return;
  for (uint k = rows[i]; k < rows[i + 1]; k++) {
    uint to = edges[k];
    if (depth[to] >= level) {
      depth[to] = level;
      next[to] = 1;
    }
  }
}

kernel void find_roots(global const uint *parents, global uint *out) {
  uint i = get_global_id(0), at = i;
  while (parents[at] != at)
    at = parents[at];
  out[i] = at;
}

// Interpolation between samples at lanes' own places.
kernel void resample(global const float *in, int n, global const float *at, global float *out) {
  int i = get_global_id(0);
  float p = clamp(at[i], 0.0f, (float)(n - 2));
  int k = (int)p;
  float f = p - k;
  out[i] = in[k] * (1 - f) + in[k + 1] * f;
}

// Records of six words.
kernel void records(global const float *in, global float *out) {
  int i = get_global_id(0);
  global const float *r = in + 6 * i;
  float speed = sqrt(r[3] * r[3] + r[4] * r[4] + r[5] * r[5]);
  for (int k = 0; k < 3; k++)
    out[6 * i + k] = r[k] + 0.01f * r[3 + k];
  for (int k = 3; k < 6; k++)
    out[6 * i + k] = speed > 0.5f ? r[k] * 0.5f : r[k];
}
