// OpenCL's built-in functions that the kernels of testdata/kernels and testdata/programs call, for compilers that cannot read
// any library of them that is installed. V5 says that the global offset is where code object v5 and later have it.
#define FUNCTION inline __attribute__((overloadable, always_inline))
#define DISPATCH(type, at) (*(constant type *)((constant char *)__builtin_amdgcn_dispatch_ptr() + (at)))
#ifdef V5
#define OFFSET_AT 40
#else
#define OFFSET_AT 0
#endif

FUNCTION uint get_work_dim(void) { return DISPATCH(ushort, 2) & 3; }
FUNCTION size_t get_local_id(uint d) {
  return d == 0 ? __builtin_amdgcn_workitem_id_x()
       : d == 1 ? __builtin_amdgcn_workitem_id_y()
       : d == 2 ? __builtin_amdgcn_workitem_id_z() : 0;
}
FUNCTION size_t get_group_id(uint d) {
  return d == 0 ? __builtin_amdgcn_workgroup_id_x()
       : d == 1 ? __builtin_amdgcn_workgroup_id_y()
       : d == 2 ? __builtin_amdgcn_workgroup_id_z() : 0;
}
FUNCTION size_t get_local_size(uint d) { return d < 3 ? DISPATCH(ushort, 4 + 2 * d) : 1; }
FUNCTION size_t get_global_size(uint d) { return d < 3 ? DISPATCH(uint, 12 + 4 * d) : 1; }
FUNCTION size_t get_num_groups(uint d) {
  return (get_global_size(d) + get_local_size(d) - 1) / get_local_size(d);
}
FUNCTION size_t get_global_offset(uint d) {
  return d < 3 ? *(constant ulong *)((constant char *)__builtin_amdgcn_implicitarg_ptr() + OFFSET_AT + 8 * d) : 0;
}
FUNCTION size_t get_global_id(uint d) {
  return get_group_id(d) * get_local_size(d) + get_local_id(d) + get_global_offset(d);
}

FUNCTION void barrier(cl_mem_fence_flags flags) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#define ATOMIC(space, type) \
  FUNCTION type atomic_add(volatile space type *p, type v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); } \
  FUNCTION type atomic_inc(volatile space type *p) { return __atomic_fetch_add(p, 1, __ATOMIC_RELAXED); } \
  FUNCTION type atomic_xor(volatile space type *p, type v) { return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED); } \
  FUNCTION type atomic_min(volatile space type *p, type v) { return __atomic_fetch_min(p, v, __ATOMIC_RELAXED); } \
  FUNCTION type atomic_max(volatile space type *p, type v) { return __atomic_fetch_max(p, v, __ATOMIC_RELAXED); }
ATOMIC(global, int)
ATOMIC(global, uint)
ATOMIC(local, int)
ATOMIC(local, uint)

FUNCTION float sqrt(float x) { return __builtin_sqrtf(x); }
FUNCTION float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
FUNCTION float fabs(float x) { return __builtin_fabsf(x); }
FUNCTION double fabs(double x) { return __builtin_fabs(x); }
FUNCTION float mad(float a, float b, float c) { return a * b + c; }
FUNCTION float4 mad(float4 a, float4 b, float4 c) { return a * b + c; }
FUNCTION float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
FUNCTION float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
FUNCTION uint rotate(uint x, uint n) { return x << (n & 31) | x >> (-n & 31); }
FUNCTION uint bitselect(uint a, uint b, uint c) { return a & ~c | b & c; }
