// A private array that is indexed by data, and pointers whose address space is known at run time only.
kernel void private_array(global const uint* in, global uint* out) {
  uint t[16], g = get_global_id(0);
  for (uint i = 0; i < 16; i++) t[i] = i * g;
  for (uint i = 0; i < 16; i++) { uint v = in[g * 16 + i]; t[v & 15] += v; }
  uint s = 0;
  for (uint i = 0; i < 16; i++) s = s * 31 + t[i];
  out[g] = s;
}
#if __OPENCL_C_VERSION__ >= 200
__attribute__((noinline)) static uint mix(uint* p, uint n) {
  uint s = 0;
  for (uint i = 0; i < n; i++) { s = s * 31 + p[i]; p[i] = s; }
  return s;
}
kernel void generic_pointers(global uint* mem, global uint* out) {
  local uint l[64 * 4];
  uint p[4], i = get_local_id(0), g = get_global_id(0);
  for (uint k = 0; k < 4; k++) { l[i * 4 + k] = g + k; p[k] = g ^ k; }
  uint* q = g % 3 == 0 ? (uint*)(mem + g * 4) : g % 3 == 1 ? (uint*)(l + i * 4) : (uint*)p;
  uint s = mix(q, 4);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[g] = s + l[i * 4 + 3] + p[3];
}
#endif
