// 16 numbers of each work-item sorted by insertion, in private memory.
kernel void sort16(global const uint* in, global uint* out) {
  uint g = get_global_id(0), a[16];
  for (int i = 0; i < 16; i++) a[i] = in[16 * g + i];
  for (int i = 1; i < 16; i++) {
    uint v = a[i];
    int k = i - 1;
    while (k >= 0 && a[k] > v) { a[k + 1] = a[k]; k--; }
    a[k + 1] = v;
  }
  for (int i = 0; i < 16; i++) out[16 * g + i] = a[i];
}
