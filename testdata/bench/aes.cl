// AES-128 of a block for each work-item, by a table of 256 words in local memory.
kernel void aes(global const uint4* in, global uint4* out, global const uint* table, global const uint* keys) {
  local uint t[256];
  uint l = get_local_id(0), g = get_global_id(0);
  for (uint i = l; i < 256; i += get_local_size(0)) t[i] = table[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  uint4 s = in[g] ^ (uint4)(keys[0], keys[1], keys[2], keys[3]);
#define WORD(a, b, c, d) \
  (t[a & 255] ^ rotate(t[b >> 8 & 255], 8u) ^ rotate(t[c >> 16 & 255], 16u) ^ rotate(t[d >> 24], 24u))
#define LAST(a, b, c, d) \
  ((t[a & 255] >> 8 & 255) | (t[b >> 8 & 255] & 0xff00) | (t[c >> 16 & 255] & 0xff00) << 8 | (t[d >> 24] & 0xff00) << 16)
  for (uint r = 1; r < 10; r++) {
    global const uint* k = keys + 4 * r;
    s = (uint4)(WORD(s.x, s.y, s.z, s.w) ^ k[0], WORD(s.y, s.z, s.w, s.x) ^ k[1], WORD(s.z, s.w, s.x, s.y) ^ k[2],
                WORD(s.w, s.x, s.y, s.z) ^ k[3]);
  }
  out[g] = (uint4)(LAST(s.x, s.y, s.z, s.w) ^ keys[40], LAST(s.y, s.z, s.w, s.x) ^ keys[41],
                   LAST(s.z, s.w, s.x, s.y) ^ keys[42], LAST(s.w, s.x, s.y, s.z) ^ keys[43]);
}
