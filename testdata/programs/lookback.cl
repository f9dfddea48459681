// A scan in one pass: workgroups take numbers, and wait for those before them by spinning on their states.
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void lookback(global const uint* in, global uint* out, volatile global uint* states, volatile global uint* next) {
  local uint t[256], id, before;
  uint l = get_local_id(0);
  if (l == 0) id = atomic_inc(next);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint g = id * 256 + l;
  t[l] = in[g] & 0xfff;
  for (uint d = 1; d < 256; d <<= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    uint v = l >= d ? t[l - d] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l] += v;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) {
    uint total = t[255], sum = 0;
    // The two upper bits: 1 the workgroup's own sum is known, 2 that of all before it, too.
    if (id > 0) {
      atomic_xchg(&states[id], 1u << 30 | total);
      int look = id - 1;
      while (look >= 0) {
        uint s = atomic_or(&states[look], 0u);
        if (s >> 30 == 0) continue;
        sum += s & 0x3fffffff;
        if (s >> 30 == 2) break;
        look--;
      }
    }
    atomic_xchg(&states[id], 2u << 30 | (sum + total));
    before = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[g] = t[l] + before;
}
