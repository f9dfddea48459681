// More kernels for the debugger's tests: LDS, atomics, branches, loops with breaks, 64-bit floats, scratch memory.
int local_id(void) { return __builtin_amdgcn_workitem_id_x(); }
int global_id(void) { return __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x(); }

void wait_for_all(void) {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
}

// How often each value of the lowest bits occurs.
kernel void counted(global const int *in, global int *counts) {
    local int own[16];
    int i = local_id();
    if (i < 16)
        own[i] = 0;
    wait_for_all();
    __atomic_fetch_add(&own[in[global_id()] & 15], 1, __ATOMIC_RELAXED);
    wait_for_all();
    if (i < 16)
        __atomic_fetch_add(&counts[i], own[i], __ATOMIC_RELAXED);
}

// The sums of 1, 1, 1, …
kernel void scanned(global int *out) {
    local int sums[64];
    int i = local_id();
    sums[i] = 1;
    wait_for_all();
    for (int far = 1; far < 64; far *= 2) {
        int more = i >= far ? sums[i - far] : 0;
        wait_for_all();
        sums[i] += more;
        wait_for_all();
    }
    out[i] = sums[i];
}

// A way for each of four.
kernel void four(global int *out) {
    int i = global_id(), value;
    switch (i & 3) {
    case 0: value = out[i + 1]; break;
    case 1: value = out[i] * 5; break;
    case 2:
        out[i] = 9;
        return;
    default: value = -i;
    }
    out[i] = value;
}

// The steps of n -> n / 2 or 3 n + 1 to 1.
kernel void steps(global int *out) {
    int i = global_id(), n = i + 1, count = 0;
    for (;;) {
        if (n == 1)
            break;
        n = n & 1 ? 3 * n + 1 : n / 2;
        count++;
    }
    out[i] = count;
}

// x^2 / 4 + 1 of 64 bits.
kernel void doubles(global double *out) {
    int i = global_id();
    double x = i;
    out[i] = x * x * 0.25;
    out[i] = out[i] + 1.0;
}

// Insertion sort of eight in scratch memory.
kernel void sorted(global int *all) {
    int own[8], i = global_id();
    for (int n = 0; n < 8; n++)
        own[n] = (i + n * 5) & 7;
    for (int n = 1; n < 8; n++) {
        int value = own[n], to = n;
        while (to > 0 && own[to - 1] > value) {
            own[to] = own[to - 1];
            to--;
        }
        own[to] = value;
    }
    all[i] = own[0] * 10 + own[7];
}
