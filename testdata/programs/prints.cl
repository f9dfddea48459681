// OpenCL's printf. ROCm's library has the place for its arguments; libclc has not, so it is here.
// options-v5: -Xclang -no-opaque-pointers
global char* __printf_alloc(uint bytes) {
#ifdef V5
  volatile global uint* head = (volatile global uint*)((constant ulong*)__builtin_amdgcn_implicitarg_ptr())[9];
#else
  volatile global uint* head = (volatile global uint*)((constant ulong*)__builtin_amdgcn_implicitarg_ptr())[3];
#endif
  uint at = atomic_add(head, bytes);
  return at + bytes + 8 > head[1] ? (global char*)0 : (global char*)head + 8 + at;
}
kernel void prints(global const float* f, global const int* v) {
  int l = get_local_id(0), g = get_group_id(0);
  if (l % 16 == 0) printf("group %d item %3d: %-8.3f|%+e|%g|%a\n", g, l, f[g * 64 + l], f[g * 64 + l], f[g * 64 + l], f[g * 64 + l]);
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (l == 5) printf("%v4d %v4hx %#v2llx 100%% %s: %c %5.2s|\n", (int4)(v[0], v[1], v[2], v[3]), (short4)(1, -2, 3, -4), (long2)(255, 1l << 40), "text", 'x', "abc");
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (l == 63) printf("end of %u\n", g);
}
