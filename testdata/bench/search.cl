// How often a word is in a text: 16 places a work-item, byte by byte till one differs.
kernel void search(global const uchar* text, uint n, constant uchar* word, uint len, global uint* found) {
  uint first = get_global_id(0) * 16, count = 0;
  for (uint at = first; at < first + 16 && at + len <= n; at++) {
    uint k = 0;
    while (k < len && text[at + k] == word[k]) k++;
    count += k == len;
  }
  if (count) atomic_add(found, count);
}
