// Concurrent streams, events between them, times, and callbacks to functions of the host.
#include "common.h"
#include <atomic>
#include <thread>

__global__ void add(int *p, int n, int what) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += what;
}

__global__ void wait_for(volatile int *flag) {
    while (!*flag) {
    }
}

static std::atomic<int> called{0};
static void count(hipStream_t, hipError_t status, void *data) {
    if (status == hipSuccess) called += *static_cast<int *>(data);
}

int main() {
    const int n = 5000, streams = 8;
    hipStream_t s[streams];
    int *p[streams];
    for (int k = 0; k < streams; k++) {
        CHECK(hipStreamCreate(&s[k]));
        CHECK(hipMalloc(&p[k], n * 4));
        CHECK(hipMemsetAsync(p[k], 0, n * 4, s[k]));
    }
    for (int round = 0; round < 50; round++)
        for (int k = 0; k < streams; k++) add<<<20, 256, 0, s[k]>>>(p[k], n, k + 1);
    int one = 1;
    CHECK(hipStreamAddCallback(s[3], count, &one, 0));
    for (int k = 0; k < streams; k++) CHECK(hipStreamSynchronize(s[k]));
    EXPECT(called == 1);
    std::vector<int> out(n);
    for (int k = 0; k < streams; k++) {
        CHECK(hipMemcpy(out.data(), p[k], n * 4, hipMemcpyDeviceToHost));
        for (int v : out) EXPECT(v == 50 * (k + 1));
    }

    // A kernel that waits for the host does not block another stream's kernel, nor that stream's copies.
    int *flag;
    CHECK(hipHostMalloc(&flag, 4));
    *flag = 0;
    wait_for<<<1, 64, 0, s[0]>>>(flag);
    hipEvent_t behind, begun, ended;
    CHECK(hipEventCreate(&behind));
    CHECK(hipEventCreate(&begun));
    CHECK(hipEventCreate(&ended));
    CHECK(hipEventRecord(behind, s[0]));
    CHECK(hipEventRecord(begun, s[1]));
    add<<<20, 256, 0, s[1]>>>(p[1], n, 1000);
    CHECK(hipEventRecord(ended, s[1]));
    CHECK(hipMemcpyAsync(out.data(), p[1], n * 4, hipMemcpyDeviceToHost, s[1]));
    CHECK(hipStreamSynchronize(s[1]));
    for (int v : out) EXPECT(v == 1100);
    EXPECT(hipStreamQuery(s[0]) == hipErrorNotReady);
    EXPECT(hipEventQuery(behind) == hipErrorNotReady);
    // A third stream waits for the blocked one.
    CHECK(hipStreamWaitEvent(s[2], behind, 0));
    add<<<20, 256, 0, s[2]>>>(p[2], n, 7);
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        *static_cast<volatile int *>(flag) = 1;
    });
    CHECK(hipStreamSynchronize(s[2]));
    EXPECT(*flag == 1);
    CHECK(hipEventQuery(behind));
    later.join();
    float ms = -1;
    CHECK(hipEventElapsedTime(&ms, begun, ended));
    EXPECT(ms >= 0 && ms < 60000);
    for (int k = 0; k < streams; k++) {
        CHECK(hipStreamDestroy(s[k]));
        CHECK(hipFree(p[k]));
    }
    std::puts("ok");
}
