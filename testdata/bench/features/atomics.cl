// Atomics on global and local memory, with and without a result.

kernel void global_bins(global const uchar *in, global uint *bins) {
  atomic_inc(&bins[in[get_global_id(0)]]);
}

kernel void local_bins(global const uchar *in, global uint *bins, int n) {
  local uint mine[256];
  int l = get_local_id(0);
  mine[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < n; k++)
    atomic_inc(&mine[in[(get_group_id(0) * n + k) * 256 + l]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[l], mine[l]);
}

// The place in the output is the counter's value before the addition.
kernel void append(global const int *in, global int *out, global uint *counter) {
  int v = in[get_global_id(0)];
  if (v > 0)
    out[atomic_inc(counter)] = v;
}

kernel void append_local(global const int *in, global int *out, global uint *counts) {
  local uint n;
  int l = get_local_id(0), v = in[get_global_id(0)];
  if (l == 0)
    n = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (v > 0)
    out[get_group_id(0) * 128 + atomic_inc(&n)] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0)
    counts[get_group_id(0)] = n;
}

// Places in buckets, whose order may be any.
kernel void bucket_places(global const uint *keys, global uint *fill, global uint *place) {
  int i = get_global_id(0);
  uint b = keys[i] & 1023;
  place[b * 1024 + (atomic_inc(&fill[b]) & 1023)] = i;
}

kernel void atomic_maxima(global const uint *keys, global const int *values, global int *most) {
  int i = get_global_id(0);
  atomic_max(&most[keys[i] & 4095], values[i]);
}

// A sum of floats by compare-and-swap.
kernel void float_sums(global const uint *keys, global const float *values, volatile global uint *sums) {
  int i = get_global_id(0);
  volatile global uint *at = sums + (keys[i] & 4095);
  uint old = *at, seen;
  do {
    seen = old;
    old = atomic_cmpxchg(at, seen, as_uint(as_float(seen) + values[i]));
  } while (old != seen);
}

// Insertion into a table with open addresses. Which key gets which place depends on the order, their number does not.
kernel void hash_insert(global const uint *keys, volatile global uint *table, uint mask, global uint *count) {
  uint key = keys[get_global_id(0)] | 1, at = key * 0x9e3779b1u;
  for (int k = 0; k < 64; k++) {
    uint before = atomic_cmpxchg(&table[at & mask], 0u, key);
    if (before == 0)
      atomic_inc(count);
    if (before == 0 || before == key)
      break;
    at++;
  }
}

kernel void local_votes(global const uint *in, global uint *out) {
  local uint any, least;
  int l = get_local_id(0);
  if (l == 0) {
    any = 0;
    least = 0xffffffffu;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint v = in[get_global_id(0)];
  atomic_or(&any, 1u << (v & 31));
  atomic_min(&least, v);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0)
    out[get_group_id(0)] = any ^ least;
}
