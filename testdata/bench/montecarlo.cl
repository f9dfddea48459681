// Points in a quarter of a circle, of random ones.
kernel void montecarlo(global uint* inside, uint rounds) {
  uint s = get_global_id(0) * 2654435761u + 12345u, count = 0;
  for (uint i = 0; i < rounds; i++) {
    s ^= s << 13; s ^= s >> 17; s ^= s << 5;
    float x = (s & 0xffff) / 65536.0f, y = (s >> 16) / 65536.0f;
    count += x * x + y * y < 1.0f;
  }
  inside[get_global_id(0)] = count;
}
