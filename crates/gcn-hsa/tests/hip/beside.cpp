// A long kernel while the host writes memory that the GPU shares: the host's stores remain, also if a debugger steps back in the kernel.
#include "common.h"
#include <atomic>
#include <thread>

__global__ void turns(unsigned *sums, int n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, sum = i;
    for (int turn = 0; turn < n; turn++) sum = sum * 1664525u + 1013904223u;
    sums[i] = sum;
}

__global__ void last(unsigned *sums) { sums[threadIdx.x] += 1; }

int main() {
    const int items = 256, n = 20000;
    unsigned *sums;
    CHECK(hipHostMalloc(&sums, items * 4 + 8192, 0));
    // On a page of its own.
    volatile unsigned *own = sums + items + 1024;
    std::atomic<bool> ends{false}, lost{false};
    std::thread host([&] {
        for (unsigned count = 1; !ends; count++) {
            *own = count;
            std::this_thread::sleep_for(std::chrono::microseconds(100));
            if (*own != count) lost = true;
        }
    });
    turns<<<items / 64, 64>>>(sums, n);
    last<<<1, 64>>>(sums);
    CHECK(hipDeviceSynchronize());
    ends = true;
    host.join();
    for (unsigned i = 0; i < items; i++) {
        unsigned sum = i;
        for (int turn = 0; turn < n; turn++) sum = sum * 1664525u + 1013904223u;
        EXPECT(sums[i] == sum + (i < 64));
    }
    EXPECT(!lost);
    std::puts("ok");
}
