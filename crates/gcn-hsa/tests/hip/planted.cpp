// Kernels with one error each, and variants without it, for gcn hip --check. The argument selects one.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>

__global__ void shift(const int *from, int *to, int n, int by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i + by] = from[i];
}

// The maximum of 256 elements: without a barrier in the loop, the waves race.
template <bool barrier> __global__ void most(const int *from, int *to) {
    __shared__ int part[256];
    int i = threadIdx.x;
    part[i] = from[i];
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (i < step && part[i + step] > part[i]) part[i] = part[i + step];
        if (barrier) __syncthreads();
    }
    if (i == 0) *to = part[0];
}

// Some work-items of a wave leave before the barrier.
__global__ void divergent(const int *from, int *to, int n) {
    __shared__ int part[64];
    int i = threadIdx.x;
    if (i >= n) return;
    part[i] = from[i];
    __syncthreads();
    to[i] = part[n - 1 - i];
}

__global__ void sum(const int *a, const int *b, int *to) {
    int i = threadIdx.x;
    to[i] = a[i] + b[i];
}

// Counts without an atomic.
__global__ void count(int *at) {
    if (threadIdx.x == 0) *at += 1;
}

__global__ void atomically(int *at) {
    if (threadIdx.x == 0) atomicAdd(at, 1);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    auto is = [&](const char *name) { return !std::strcmp(what, name); };
    const int n = 256;
    const size_t bytes = n * sizeof(int);
    int host[n];
    for (int i = 0; i < n; i++) host[i] = i * 7 % n;
    int *a, *b, *c;
    hipMalloc(&a, bytes);
    hipMalloc(&b, bytes);
    hipMalloc(&c, bytes);
    hipMemcpy(a, host, bytes, hipMemcpyHostToDevice);
    if (is("overrun")) {
        shift<<<1, n>>>(a, b, n, 1);
    } else if (is("underrun")) {
        shift<<<1, n>>>(a, b, n, -1);
    } else if (is("freed")) {
        hipFree(b);
        shift<<<1, n>>>(a, b, n, 0);
    } else if (is("uninitialised")) {
        sum<<<1, n>>>(a, b, c);
    } else if (is("race")) {
        most<false><<<1, n>>>(a, b);
    } else if (is("barrier")) {
        divergent<<<1, 64>>>(a, b, 40);
    } else if (is("count")) {
        hipMemset(b, 0, bytes);
        count<<<8, 64>>>(b);
    } else if (is("host")) {
        int *pinned;
        hipHostMalloc(&pinned, 100, 0);
        shift<<<1, n>>>(a, pinned, 26, 0);
    } else if (is("managed")) {
        int *managed;
        hipMallocManaged(&managed, 100);
        shift<<<1, n>>>(a, managed, 26, 0);
    } else if (is("registered")) {
        static int own[64], *device;
        hipHostRegister(own + 8, 100, 0);
        hipHostGetDevicePointer((void **)&device, own + 8, 0);
        shift<<<1, n>>>(a, device, 26, 0);
        hipDeviceSynchronize();
        hipHostUnregister(own + 8);
    } else {
        int *pinned, *managed;
        static int own[64], *device;
        hipHostMalloc(&pinned, 100, 0);
        hipMallocManaged(&managed, 100);
        hipHostRegister(own + 8, 100, 0);
        hipHostGetDevicePointer((void **)&device, own + 8, 0);
        hipMemset(b, 0, bytes);
        shift<<<1, n>>>(a, c, n, 0);
        shift<<<1, n>>>(a, pinned, 25, 0);
        shift<<<1, n>>>(a, managed, 25, 0);
        shift<<<1, n>>>(a, device, 25, 0);
        sum<<<1, n>>>(a, b, c);
        most<true><<<1, n>>>(a, c);
        divergent<<<1, 64>>>(a, b, 64);
        hipMemset(b, 0, bytes);
        atomically<<<8, 64>>>(b);
        // Memory that HIP allocates again.
        hipFree(b);
        hipMalloc(&b, bytes);
        shift<<<1, n>>>(a, b, n, 0);
        hipDeviceSynchronize();
        hipHostUnregister(own + 8);
    }
    if (hipDeviceSynchronize() != hipSuccess) return 2;
    std::puts("ok");
}
