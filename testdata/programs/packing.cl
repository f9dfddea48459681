// Numbers of 4, 10 and 12 bits, bytes and shorts: packed, unpacked, counted.
kernel void packing(global const uchar* in, global uchar* nibbles, global uint* tens, global ushort* twelve, global uint* bits) {
  uint i = get_global_id(0);
  uchar8 b = vload8(i, in);
  vstore4((b.even & (uchar4)15) | (b.odd << (uchar4)4), i, nibbles);
  tens[i] = ((uint)b.s0 * 4 + (b.s1 & 3) & 1023) | ((uint)b.s2 * 3 & 1023) << 10 | ((uint)b.s3 << 2 & 1023) << 20 | (uint)(b.s4 & 3) << 30;
  uint triple = b.s5 | b.s6 << 8 | b.s7 << 16;
  twelve[2 * i] = triple & 0xfff; twelve[2 * i + 1] = triple >> 12;
  int8 s = convert_int8(as_char8(b));
  uint m = 0;
  for (int k = 0; k < 8; k++) m |= (uint)(in[i * 8 + k] > 127) << k;
  bits[i] = m | popcount(triple) << 8 | clz(triple) << 16 | (uint)((s.s0 * s.s7 + s.s1 * s.s6) & 255) << 24;
}
