// Launches and copies on 8 streams of 4 threads; the first argument is their number. Memory must not grow.
#include "common.h"
#include <fstream>
#include <string>
#include <thread>

__global__ void step(unsigned *p, unsigned by) { p[blockIdx.x * blockDim.x + threadIdx.x] += by; }

// Kilobytes of the process in memory.
static long resident() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmRSS:", 0) == 0) return std::atol(line.c_str() + 6);
    return 0;
}

static void work(int launches, int seed) {
    hipStream_t streams[2];
    unsigned *p[2], *host[2];
    for (int k = 0; k < 2; k++) {
        CHECK(hipStreamCreate(&streams[k]));
        CHECK(hipMalloc(&p[k], 1024));
        CHECK(hipHostMalloc(&host[k], 1024));
        CHECK(hipMemset(p[k], 0, 1024));
    }
    unsigned want[2] = {0, 0};
    for (int i = 0; i < launches; i++) {
        int k = i & 1;
        unsigned by = i * 7 + seed;
        step<<<4, 64, 0, streams[k]>>>(p[k], by);
        want[k] += by;
        if (i % 100 >= 98) {
            CHECK(hipMemcpyAsync(host[k], p[k], 1024, hipMemcpyDeviceToHost, streams[k]));
            CHECK(hipStreamSynchronize(streams[k]));
            for (int j = 0; j < 256; j++) EXPECT(host[k][j] == want[k]);
        }
    }
    for (int k = 0; k < 2; k++) {
        CHECK(hipStreamDestroy(streams[k]));
        CHECK(hipFree(p[k]));
        CHECK(hipHostFree(host[k]));
    }
}

int main(int argc, char **argv) {
    int launches = argc > 1 ? std::atoi(argv[1]) : 8000;
    auto round = [](int each) {
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; t++) threads.emplace_back(work, each, t);
        for (auto &t : threads) t.join();
    };
    round(500);
    long before = resident();
    round(launches / 4);
    long after = resident();
    std::printf("%d launches, %ld KiB more\n", launches, after - before);
    EXPECT(after - before < 64 << 10);
    std::puts("ok");
}
