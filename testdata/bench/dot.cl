// The product of two vectors of whole numbers: a tree in local memory, then one atomic a workgroup.
kernel void dot_int(global const int* a, global const int* b, global int* out, uint n) {
  local int t[256];
  uint l = get_local_id(0);
  int sum = 0;
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) sum += a[i] * b[i];
  t[l] = sum;
  for (uint h = 128; h > 0; h >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < h) t[l] += t[l + h];
  }
  if (l == 0) atomic_add(out, t[0]);
}
