// Look-ups in tables, hashes, texts.

kernel void checksum_table(global const uint *table, global const uchar *in, global uint *out, int length) {
  int i = get_global_id(0);
  uint crc = 0xffffffffu;
  for (int k = 0; k < length; k++)
    crc = table[(crc ^ in[i * length + k]) & 255] ^ crc >> 8;
  out[i] = ~crc;
}

constant uchar NIBBLES[16] = {12, 5, 6, 11, 9, 0, 10, 13, 3, 14, 15, 8, 4, 7, 1, 2};

kernel void substitute(global const uint *in, global uint *out, uint key) {
  int i = get_global_id(0);
  uint v = in[i];
  for (uint round = 0; round < 4; round++) {
    v ^= key + round;
    uint r = 0;
    for (int k = 0; k < 8; k++)
      r |= (uint)NIBBLES[v >> 4 * k & 15] << 4 * k;
    v = rotate(r, 3u);
  }
  out[i] = v;
}

kernel void local_table(global const uchar *table, global const uchar *in, global uchar *out) {
  local uchar copy[256];
  int l = get_local_id(0), i = get_global_id(0);
  copy[l] = table[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  uchar v = in[i];
  for (int k = 0; k < 8; k++)
    v = copy[v ^ k];
  out[i] = v;
}

kernel void rotate_rounds(global const uint4 *in, global uint4 *out, int rounds) {
  int i = get_global_id(0);
  uint4 s = in[i];
  uint a = s.x, b = s.y, c = s.z, d = s.w;
  for (int k = 0; k < rounds; k++) {
    a += b; d = rotate(d ^ a, 16u);
    c += d; b = rotate(b ^ c, 12u);
    a += b; d = rotate(d ^ a, 8u);
    c += d; b = rotate(b ^ c, 7u);
  }
  out[i] = (uint4)(a, b, c, d) + s;
}

kernel void hash_text(global const uchar *text, global const uint *starts, global uint *out) {
  int i = get_global_id(0);
  uint h = 2166136261u;
  for (uint k = starts[i]; k < starts[i + 1]; k++)
    h = (h ^ text[k]) * 16777619u;
  out[i] = h;
}

kernel void bloom_query(global const uint *filter, uint mask, global const uint *keys, global uchar *out) {
  int i = get_global_id(0);
  uint h = keys[i] * 0x9e3779b1u;
  uchar found = 1;
  for (int k = 0; k < 4; k++) {
    h = rotate(h, 9u) * 0x85ebca6bu;
    if (!(filter[h >> 5 & mask] >> (h & 31) & 1)) {
      found = 0;
      break;
    }
  }
  out[i] = found;
}

// A colour by interpolation in a table of three dimensions.
kernel void colour_cube(global const float4 *cube, int size, global const float4 *in, global float4 *out) {
  int i = get_global_id(0);
  float4 p = in[i] * (size - 1);
  int x = min((int)p.x, size - 2), y = min((int)p.y, size - 2), z = min((int)p.z, size - 2);
  float fx = p.x - x, fy = p.y - y, fz = p.z - z;
  int at = (z * size + y) * size + x;
  float4 a = mix(mix(cube[at], cube[at + 1], fx), mix(cube[at + size], cube[at + size + 1], fx), fy);
  at += size * size;
  float4 b = mix(mix(cube[at], cube[at + 1], fx), mix(cube[at + size], cube[at + size + 1], fx), fy);
  out[i] = mix(a, b, fz);
}

kernel void count_words(global const uchar *text, global uint *out, int part) {
  int i = get_global_id(0);
  uint words = 0;
  uchar before = i ? text[i * part - 1] : ' ';
  for (int k = 0; k < part; k++) {
    uchar c = text[i * part + k];
    words += c > ' ' && before <= ' ';
    before = c;
  }
  out[i] = words;
}

kernel void find_pattern(global const uchar *text, constant uchar *pattern, int length, global uchar *out) {
  int i = get_global_id(0), k = 0;
  while (k < length && text[i + k] == pattern[k])
    k++;
  out[i] = k == length;
}

// Numbers of one to four bytes.
kernel void decode_varint(global const uchar *in, global const uint *starts, global uint *out) {
  int i = get_global_id(0);
  uint at = starts[i], v = 0, shift = 0;
  uchar c;
  do {
    c = in[at++];
    v |= (uint)(c & 127) << shift;
    shift += 7;
  } while (c & 128 && shift < 28);
  out[i] = v;
}
