#pragma OPENCL EXTENSION cl_khr_fp64 : enable
// A step of the heat equation in a rod whose conductivity depends on the temperature, in f64.
kernel void heat64(global const double* a, global double* b, uint n) {
  uint i = get_global_id(0);
  double l = a[i == 0 ? 0 : i - 1], m = a[i], r = a[i == n - 1 ? i : i + 1];
  double kl = 1.0 + 0.1 * (l + m), kr = 1.0 + 0.1 * (m + r);
  b[i] = m + 0.2 * (kr * (r - m) - kl * (m - l));
}
