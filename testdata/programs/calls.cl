// Calls that are not inlined, with private arrays passed down; and calls through a table of functions.
// options: -cl-std=CL2.0
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
typedef uint (*step_t)(uint, uint);
__attribute__((noinline)) static uint mix(uint a, uint b) { return rotate(a, 7u) * 2654435761u + b; }
__attribute__((noinline)) static uint twist(uint a, uint b) { return mix(a ^ b, a) - mix(b, a & 255); }
__attribute__((noinline)) static uint digits(uint a, uint b) { uint s = 0; while (a) { s = s * 31 + a % (b % 7 + 3); a /= b % 7 + 3; } return s; }
__attribute__((noinline)) static uint fold(private const uint* p, uint n, uint start) {
  uint s = start;
  for (uint k = 0; k < n; k++) s = twist(s, p[(k * 5 + start) % n]);
  return s;
}
kernel void calls(global const uint* in, global uint* out) {
  uint i = get_global_id(0), p[9];
  for (int k = 0; k < 9; k++) p[k] = digits(in[i] + k, k);
  out[i] = fold(p, 9, in[i] % 9);
}
kernel void table(global const uint* in, global uint* out) {
  uint i = get_global_id(0), s = in[i];
  for (int k = 0; k < 5; k++) {
    step_t f = (s >> k) % 3 == 0 ? mix : (s >> k) % 3 == 1 ? twist : digits;
    s = f(s, i + k);
  }
  out[i] = s;
}
