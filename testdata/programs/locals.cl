// Every atomic of local memory, old values among them, and a ticket that orders work-items.
kernel void locals(global const int* in, global int* out, global uint* tickets) {
  volatile local int t[9]; volatile local uint ticket; local float f;
  int l = get_local_id(0), n = get_local_size(0), v = in[get_global_id(0)];
  if (l < 9) t[l] = l == 3 ? INT_MAX : l == 4 ? INT_MIN : l == 5 ? -1 : 0;
  if (l == 0) ticket = 100;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&t[0], v); atomic_sub(&t[1], v); atomic_xor(&t[2], v); atomic_min(&t[3], v); atomic_max(&t[4], v);
  atomic_and(&t[5], v | 0xff); atomic_or(&t[6], v & 0xf0f0);
  int old = t[7], seen;
  while ((seen = atomic_cmpxchg(&t[7], old, old * 5 + 1)) != old) old = seen;
  uint mine = atomic_inc(&ticket);
  tickets[get_group_id(0) * n + mine - 100] = l;
  if (v < 0) atomic_dec(&t[8]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l < 9) out[get_group_id(0) * 9 + l] = t[l];
}
