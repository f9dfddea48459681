// Services of the chip and the host for kernels: occupancy, dynamic LDS, stacks, votes, memory and text.
#include "common.h"

__global__ void reversed(float *p) {
    extern __shared__ float lds[];
    lds[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = lds[blockDim.x - 1 - threadIdx.x];
}

__device__ __noinline__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__global__ void recursion(int *out) { out[threadIdx.x] = ackermann(2, threadIdx.x % 4); }

__global__ void votes(unsigned long long *out) {
    unsigned long long odd = __ballot(threadIdx.x & 1);
    if (threadIdx.x == 0) {
        out[0] = odd;
        out[1] = __popcll(odd);
    }
    out[2 + threadIdx.x] = __shfl_xor(static_cast<int>(threadIdx.x), 5);
}

__global__ void lists(int *out) {
    int *own = static_cast<int *>(malloc(64));
    for (int i = 0; i < 16; i++) own[i] = threadIdx.x + i;
    int sum = 0;
    for (int i = 0; i < 16; i++) sum += own[i];
    out[threadIdx.x] = sum;
    free(own);
    if (threadIdx.x == 9) printf("work-item %d: %d\n", static_cast<int>(threadIdx.x), sum);
}

int main() {
    int blocks = 0, least = 0, best = 0;
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reversed, 256, 1024));
    EXPECT(blocks > 0 && blocks <= 40);
    CHECK(hipOccupancyMaxPotentialBlockSize(&least, &best, reversed, 0, 0));
    EXPECT(least > 0 && best >= 64 && best <= 1024);
    hipFuncAttributes attributes;
    CHECK(hipFuncGetAttributes(&attributes, reinterpret_cast<const void *>(reversed)));
    EXPECT(attributes.maxThreadsPerBlock >= 256 && attributes.numRegs > 0);

    void *p;
    CHECK(hipMalloc(&p, 1 << 16));
    std::vector<float> h(1024);
    for (int i = 0; i < 1024; i++) h[i] = i;
    CHECK(hipMemcpy(p, h.data(), 4096, hipMemcpyHostToDevice));
    reversed<<<1, 1024, 4096>>>(static_cast<float *>(p));
    CHECK(hipMemcpy(h.data(), p, 4096, hipMemcpyDeviceToHost));
    for (int i = 0; i < 1024; i++) EXPECT(h[i] == 1023 - i);

    std::vector<int> ints(64);
    recursion<<<1, 64>>>(static_cast<int *>(p));
    CHECK(hipMemcpy(ints.data(), p, 256, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) EXPECT(ints[i] == 2 * (i % 4) + 3);

    std::vector<unsigned long long> words(66);
    votes<<<1, 64>>>(static_cast<unsigned long long *>(p));
    CHECK(hipMemcpy(words.data(), p, 66 * 8, hipMemcpyDeviceToHost));
    EXPECT(words[0] == 0xaaaaaaaaaaaaaaaaull && words[1] == 32);
    for (int i = 0; i < 64; i++) EXPECT(words[2 + i] == static_cast<unsigned>(i ^ 5));

    // The slabs of a kernel's malloc begin at multiples of their size, independently of other allocations.
    void *odd, *large;
    CHECK(hipMalloc(&odd, 5000));
    CHECK(hipMalloc(&large, 4 << 20));
    EXPECT(reinterpret_cast<size_t>(large) % (2 << 20) == 0);
    lists<<<1, 64>>>(static_cast<int *>(p));
    CHECK(hipMemcpy(ints.data(), p, 256, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) EXPECT(ints[i] == 16 * i + 120);
    std::puts("ok");
}
