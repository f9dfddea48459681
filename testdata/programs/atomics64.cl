// 64-bit atomics in global and local memory.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
kernel void atomics64(global const ulong* in, volatile global ulong* out, volatile global long* sout, uint n) {
  volatile local ulong sum, most; volatile local long least;
  if (get_local_id(0) == 0) { sum = 0; most = 0; least = LONG_MAX; }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint i = get_global_id(0);
  if (i < n) {
    ulong v = in[i];
    atom_add(&sum, v); atom_max(&most, v); atom_min(&least, (long)v);
    atom_xor(&out[2], v); atom_and(&out[3], v | 0xff00ff00ff00ff00ul); atom_or(&out[4], v & 0x0101010101010101ul);
    ulong old = out[5], seen;
    while ((seen = atom_cmpxchg(&out[5], old, old + (v >> 32) * 3)) != old) old = seen;
    atom_max(&sout[1], (long)v); atom_inc(&out[6]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) { atom_add(&out[0], sum); atom_max(&out[1], most); atom_min(&sout[0], least); }
}
