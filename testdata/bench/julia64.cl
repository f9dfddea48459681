#pragma OPENCL EXTENSION cl_khr_fp64 : enable
// How long numbers stay near the origin, in f64.
kernel void julia64(global uint* out, int w, int h, double cx, double cy, int most) {
  int px = get_global_id(0), py = get_global_id(1), it = 0;
  double x = 3.0 * px / w - 1.5, y = 3.0 * py / h - 1.5;
  while (it < most && x * x + y * y < 4.0) {
    double t = x * x - y * y + cx;
    y = 2.0 * x * y + cy; x = t; it++;
  }
  out[py * w + px] = it;
}
