// 1024 numbers by 1024 work-items, in local memory.
kernel __attribute__((reqd_work_group_size(1024, 1, 1)))
void bitonic(global uint* a) {
  local uint t[1024];
  uint l = get_local_id(0);
  global uint* own = a + get_group_id(0) * 1024;
  t[l] = own[l];
  for (uint k = 2; k <= 1024; k <<= 1)
    for (uint j = k >> 1; j > 0; j >>= 1) {
      barrier(CLK_LOCAL_MEM_FENCE);
      uint x = l ^ j;
      if (x > l) {
        uint p = t[l], q = t[x];
        if ((l & k) == 0 ? p > q : p < q) { t[l] = q; t[x] = p; }
      }
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  own[l] = t[l];
}
