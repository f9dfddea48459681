// Exclusive sums of 512 numbers by 256 work-items, up a tree and down again; sums has the totals.
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void scan_tree(global const uint* in, global uint* out, global uint* sums) {
  local uint t[512];
  uint l = get_local_id(0), base = get_group_id(0) * 512, step = 1;
  t[2 * l] = in[base + 2 * l];
  t[2 * l + 1] = in[base + 2 * l + 1];
  for (uint d = 256; d > 0; d >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < d) t[step * (2 * l + 2) - 1] += t[step * (2 * l + 1) - 1];
    step <<= 1;
  }
  if (l == 0) { sums[get_group_id(0)] = t[511]; t[511] = 0; }
  for (uint d = 1; d < 512; d <<= 1) {
    step >>= 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < d) {
      uint a = step * (2 * l + 1) - 1, b = step * (2 * l + 2) - 1, v = t[a];
      t[a] = t[b];
      t[b] += v;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[base + 2 * l] = t[2 * l];
  out[base + 2 * l + 1] = t[2 * l + 1];
}
