// Invalid actions of a program, selected by the first argument. The runtime reports them, and HIP ends the program.
#include "common.h"
#include <string>

__global__ void store(int *p) { p[threadIdx.x] = 1; }
__global__ void trap() { __builtin_trap(); }
__global__ void follow(int **p) { **p = 1; }
__global__ void jump(void (*f)()) { f(); }

// Overwrites all packets in the ring of the queue that the kernel runs on.
__global__ void own_queue(unsigned *seen) {
    auto queue = (const unsigned long long *)__builtin_amdgcn_queue_ptr();
    auto ring = (unsigned char *)queue[1];
    unsigned size = static_cast<unsigned>(queue[3]);
    for (unsigned i = 0; i < size * 64; i++) ring[i] = 0xee;
    *seen = ring[64];
}

int main(int argc, char **argv) {
    std::string what = argc > 1 ? argv[1] : "";
    if (what == "wild") store<<<1, 64>>>(reinterpret_cast<int *>(0x123456789000));
    if (what == "null") store<<<1, 64>>>(nullptr);
    if (what == "trap") trap<<<1, 64>>>();
    if (what == "code") jump<<<1, 64>>>(reinterpret_cast<void (*)()>(0x5000));
    if (what == "arguments") {
        int **p;
        CHECK(hipMalloc(&p, 8));
        int *bad = reinterpret_cast<int *>(0x1234567);
        CHECK(hipMemcpy(p, &bad, 8, hipMemcpyHostToDevice));
        follow<<<1, 64>>>(p);
    }
    if (what == "packet") {
        unsigned *seen;
        CHECK(hipHostMalloc(&seen, 4));
        own_queue<<<1, 1>>>(seen);
    }
    CHECK(hipDeviceSynchronize());
    return 0;
}
