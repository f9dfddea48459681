// Device variables that one kernel leaves to the next, constants, and tables that point to each other.
// options: -cl-std=CL2.0
constant uint squares[16] = {0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225};
global uint counter = 41;
global uint sums[64];
global uint other[4] = {5, 6, 7, 8};
global uint* global where[2] = {other + 1, &counter};
kernel void leave(global const uint* in) {
  uint l = get_local_id(0);
  sums[l] = squares[in[l] & 15] + in[l];
  if (l == 0) { counter += 1; *where[0] = 60; }
}
kernel void leave_and_take(global const uint* in, global uint* out) {
  uint l = get_local_id(0);
  sums[l] += squares[in[l] & 15] + in[l];
  if (l == 0) { *where[1] += 1; *where[0] = 60; where[0] = other + 3; }
  barrier(CLK_GLOBAL_MEM_FENCE);
  out[l] = sums[63 - l] + other[1] + *where[0] + counter;
}
