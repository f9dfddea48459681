// What lanes say to each other: ballots, permutations, swizzles, DPP, and sums that the compiler makes of atomics.
// options: -mllvm -amdgpu-atomic-optimizations
#define LANE __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0))
__attribute__((always_inline)) static int wave_sum(int v) {
#if defined(__gfx803__) || defined(__gfx802__) || defined(__gfx900__) || defined(__gfx906__)
  v += __builtin_amdgcn_update_dpp(0, v, 0x111, 15, 15, false);
  v += __builtin_amdgcn_update_dpp(0, v, 0x112, 15, 15, false);
  v += __builtin_amdgcn_update_dpp(0, v, 0x114, 15, 14, false);
  v += __builtin_amdgcn_update_dpp(0, v, 0x118, 15, 12, false);
  v += __builtin_amdgcn_update_dpp(0, v, 0x142, 10, 15, false);
  v += __builtin_amdgcn_update_dpp(0, v, 0x143, 12, 15, false);
  return __builtin_amdgcn_readlane(v, 63);
#else
  v += __builtin_amdgcn_ds_swizzle(v, 0x041f); v += __builtin_amdgcn_ds_swizzle(v, 0x081f);
  v += __builtin_amdgcn_ds_swizzle(v, 0x101f); v += __builtin_amdgcn_ds_swizzle(v, 0x201f);
  v += __builtin_amdgcn_ds_swizzle(v, 0x401f);
  return __builtin_amdgcn_readlane(v, 0) + __builtin_amdgcn_readlane(v, 32);
#endif
}
kernel void waves(global const int* in, global int* out, global int* count) {
  int i = get_global_id(0), lane = LANE, v = in[i];
  ulong odd = __builtin_amdgcn_uicmp((uint)(v & 1), 0u, 33);
  out[i * 6] = wave_sum(v);
  out[i * 6 + 1] = popcount(odd & ((1ul << lane) - 1));
  out[i * 6 + 2] = __builtin_amdgcn_readfirstlane(v ^ 5);
  out[i * 6 + 3] = __builtin_amdgcn_ds_swizzle(v, 0x8000 | 0x1b);
#if defined(__gfx803__) || defined(__gfx802__) || defined(__gfx900__) || defined(__gfx906__)
  out[i * 6 + 4] = __builtin_amdgcn_ds_bpermute((lane * 7 + 3 & 63) * 4, v);
#else
  local int t[256]; t[get_local_id(0)] = v; barrier(CLK_LOCAL_MEM_FENCE);
  out[i * 6 + 4] = t[(get_local_id(0) & ~63) + (lane * 7 + 3 & 63)];
#endif
  int part = 0;
  if (v & 2) part = __builtin_amdgcn_readfirstlane(v);
  out[i * 6 + 5] = part;
  atomic_add(count, v & 15);
  if (v % 3 == 0) atomic_inc(count + 1);
  atomic_max(count + 2, v);
}
