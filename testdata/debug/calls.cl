// Functions that call each other, without optimisation: what the debugger tells of the calls is known from the source.
int global_id(void) { return __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x(); }

__attribute__((noinline)) int inner(global int *all, int n) {
    return all[n] * 3;
}

__attribute__((noinline)) int middle(global int *all, int n) {
    int own = inner(all, n);
    return own + inner(all, n ^ 1);
}

__attribute__((noinline)) int outer(global int *all, int n) {
    int own = middle(all, n);
    return own - 1;
}

kernel void calls(global int *in, global int *out) {
    int i = global_id();
    out[i] = outer(in, i);
}
