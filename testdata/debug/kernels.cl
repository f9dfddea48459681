// Kernels for the debugger's tests: what registers, LDS and memory hold at a line is known from the source.
int local_id(void) { return __builtin_amdgcn_workitem_id_x(); }
int global_id(void) { return __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x(); }

kernel void thirds(global int *out) {
    int i = global_id();
    if (i % 3 == 0)
        out[i] = i * 7;
}

kernel void reversed(global const int *in, global int *out) {
    local int all[64];
    int i = local_id();
    all[i] = in[i] * in[i];
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    out[i] = all[63 - i] + 1;
}

kernel void turns(global int *out) {
    int i = global_id(), n = 0;
    while (n < (i & 15)) {
        out[i] += n;
        n++;
    }
}

__attribute__((noinline)) int cube(int x) {
    return x * x * x;
}

kernel void cubes(global const int *in, global int *out) {
    int i = global_id();
    out[i] = cube(in[i]) + 1;
}

kernel void halves(global int *data, int by) {
    int i = global_id();
    if (i % 64 < 32)
        data[i] *= by;
    else
        data[64 + i] = data[i];
}
