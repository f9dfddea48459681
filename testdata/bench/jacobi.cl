// A step of Jacobi's iteration on a grid; its edge stays.
kernel void jacobi(global const float* a, global float* b, global const float* f, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1), i = y * w + x;
  if (x == 0 || y == 0 || x == w - 1 || y == h - 1) { b[i] = a[i]; return; }
  b[i] = 0.25f * (a[i - 1] + a[i + 1] + a[i - w] + a[i + w] - f[i]);
}
