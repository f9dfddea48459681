// Edges of an image of bytes.
kernel void sobel(global const uchar* in, global uchar* out, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1), i = y * w + x;
  if (x == 0 || y == 0 || x == w - 1 || y == h - 1) { out[i] = 0; return; }
  int a = in[i - w - 1], b = in[i - w], c = in[i - w + 1], d = in[i - 1], e = in[i + 1], f = in[i + w - 1], g = in[i + w], k = in[i + w + 1];
  int gx = c + 2 * e + k - a - 2 * d - f, gy = f + 2 * g + k - a - 2 * b - c;
  out[i] = (uchar)min(abs(gx) + abs(gy), 255u);
}
