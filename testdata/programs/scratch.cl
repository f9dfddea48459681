// A private array indexed by what is in it, sorted by insertion, and read through a permutation: scratch and its addresses.
kernel void sort_private(global const uint* in, global uint* out, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  uint a[48]; uchar order[48];
#pragma nounroll
  for (int k = 0; k < 48; k++) { a[k] = in[i * 48 + k]; order[k] = (k * 29 + i) % 48; }
#pragma nounroll
  for (int k = 1; k < 48; k++) {
    uint v = a[k]; uchar o = order[k]; int j = k - 1;
    while (j >= 0 && a[j] > v) { a[j + 1] = a[j]; order[j + 1] = order[j]; j--; }
    a[j + 1] = v; order[j + 1] = o;
  }
  uint h = 2166136261u;
#pragma nounroll
  for (int k = 0; k < 48; k++) { h = (h ^ a[(a[k] ^ k) % 48] ^ order[k]) * 16777619u; out[i * 49 + k] = a[k]; }
  out[i * 49 + 48] = h;
}
