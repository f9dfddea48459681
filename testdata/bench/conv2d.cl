// A filter of 5 by 5 over an image; what lies outside is the nearest that does not.
kernel void conv2d(global const float* in, constant float* filter, global float* out, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  float sum = 0;
  for (int j = -2; j <= 2; j++)
    for (int i = -2; i <= 2; i++) {
      int sx = clamp(x + i, 0, w - 1), sy = clamp(y + j, 0, h - 1);
      sum += in[sy * w + sx] * filter[(j + 2) * 5 + i + 2];
    }
  out[y * w + x] = sum;
}
