// Loops that lanes leave at different times, with breaks, switches and early returns, between barriers.
kernel void divergent(global const uint* in, global uint* out, local uint* t) {
  uint l = get_local_id(0), n = get_local_size(0), g = get_global_id(0), v = in[g], rounds = in[get_group_id(0)] % 5 + 2;
  t[l] = v;
  for (uint r = 0; r < rounds; r++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    uint x = t[(l + r * 17 + 1) % n];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint steps = 0;
    while (x != 1 && steps < 300) {
      if (x % 7 == 3 && steps > 20) break;
      switch (x & 3) {
        case 0: x >>= 2; break;
        case 2: x >>= 1; if (x < 9) { steps += 100; continue; } break;
        case 1: x = x / 4 * 3 + 1; break;
        default: x = (x >> 1) + (x >> 3) + (l & 1 ? 5 : 2);
      }
      steps++;
    }
    t[l] += x * steps + r;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[g] = t[l] ^ t[n - 1 - l];
}
