// The library's functions, which are long programs of their own.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define ROW(k, e) out[(k) * n + i] = (e)
kernel void maths32(global const float* a, global const float* b, global float* out) {
  uint i = get_global_id(0), n = get_global_size(0);
  float x = a[i], y = b[i], p = fabs(x) + 0.001f;
  ROW(0, sin(x)); ROW(1, cos(x)); ROW(2, exp(x)); ROW(3, log(p)); ROW(4, pow(p, y)); ROW(5, atan2(y, x));
  ROW(6, cbrt(x)); ROW(7, lgamma(p)); ROW(8, sqrt(p)); ROW(9, y / x); ROW(10, fmod(x, y)); ROW(11, tanh(y)); ROW(12, hypot(x, y));
}
kernel void maths64(global const double* a, global const double* b, global double* out) {
  uint i = get_global_id(0), n = get_global_size(0);
  double x = a[i], y = b[i], p = fabs(x) + 0.001;
  ROW(0, exp(x)); ROW(1, log(p)); ROW(2, sin(y)); ROW(3, sqrt(p)); ROW(4, y / x); ROW(5, fma(x, y, p)); ROW(6, floor(x) + rint(y)); ROW(7, pow(p, y));
}
