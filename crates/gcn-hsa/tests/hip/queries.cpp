// Queries about the device and streams: properties, limits, errors, priorities, values that streams wait for.
#include "common.h"
#include <cstring>
#include <string>
#include <thread>

__global__ void store(int *p, int v) { *p = v; }
__global__ void add(int *p, int n, int what) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += what;
}

static void told(hipStream_t, hipError_t, void *data) { *static_cast<int *>(data) += 1; }

static void devices() {
    int count = 0, device = -1, value = 0;
    CHECK(hipGetDeviceCount(&count));
    EXPECT(count == 1);
    CHECK(hipGetDevice(&device));
    EXPECT(device == 0 && hipSetDevice(1) == hipErrorInvalidDevice);
    CHECK(hipSetDevice(0));
    hipDeviceProp_t p;
    CHECK(hipGetDeviceProperties(&p, 0));
    EXPECT(p.warpSize == 64 && p.maxThreadsPerBlock == 1024 && p.multiProcessorCount > 0 && p.totalGlobalMem > 256 << 20);
    EXPECT(p.sharedMemPerBlock == 65536 && p.clockRate > 0 && std::strlen(p.name) > 0 && std::string(p.gcnArchName).find("gfx") == 0);
    char name[256];
    CHECK(hipDeviceGetName(name, sizeof name, 0));
    EXPECT(std::string(name) == p.name);
    CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeMaxSharedMemoryPerBlock, 0));
    EXPECT(value == 65536);
    CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0));
    EXPECT(value == 64);
    char bus[64];
    CHECK(hipDeviceGetPCIBusId(bus, sizeof bus, 0));
    CHECK(hipDeviceGetByPCIBusId(&device, bus));
    EXPECT(device == 0);
    size_t heap = 0;
    CHECK(hipDeviceGetLimit(&heap, hipLimitMallocHeapSize));
    EXPECT(heap > 0);
    CHECK(hipDriverGetVersion(&value));
    CHECK(hipRuntimeGetVersion(&value));
    EXPECT(value > 0);
    int major = 0, minor = 0;
    CHECK(hipDeviceComputeCapability(&major, &minor, 0));
    EXPECT(major == p.major && minor == p.minor && major >= 7);
}

static void mistakes() {
    int *p;
    CHECK(hipMalloc(&p, 4));
    EXPECT(hipMemcpy(nullptr, p, 4, hipMemcpyDeviceToHost) != hipSuccess);
    EXPECT(hipMalloc(nullptr, 4) == hipErrorInvalidValue);
    // More work-items than a workgroup holds: the launch fails, and the next one succeeds.
    store<<<1, 4096>>>(p, 1);
    EXPECT(hipGetLastError() != hipSuccess);
    EXPECT(hipGetLastError() == hipSuccess);
    store<<<1, 1>>>(p, 7);
    CHECK(hipGetLastError());
    int v = 0;
    CHECK(hipMemcpy(&v, p, 4, hipMemcpyDeviceToHost));
    EXPECT(v == 7 && std::string(hipGetErrorName(hipErrorInvalidValue)) == "hipErrorInvalidValue");
    hipStream_t s;
    CHECK(hipStreamCreate(&s));
    EXPECT(hipEventQuery(nullptr) != hipSuccess);
    CHECK(hipStreamDestroy(s));
    CHECK(hipFree(p));
    CHECK(hipFree(nullptr));
    // Zero bytes are nothing.
    void *nothing = &v;
    CHECK(hipMalloc(&nothing, 0));
    EXPECT(nothing == nullptr);
}

static void streams() {
    int low = 0, high = 0;
    CHECK(hipDeviceGetStreamPriorityRange(&low, &high));
    hipStream_t s, t;
    CHECK(hipStreamCreateWithPriority(&s, hipStreamNonBlocking, high));
    CHECK(hipStreamCreateWithPriority(&t, hipStreamDefault, low));
    int priority = 99;
    unsigned flags = 99;
    CHECK(hipStreamGetPriority(s, &priority));
    CHECK(hipStreamGetFlags(s, &flags));
    EXPECT(priority == high && flags == hipStreamNonBlocking);
    const int n = 3000;
    int *p;
    CHECK(hipMalloc(&p, n * 4));
    CHECK(hipMemset(p, 0, n * 4));
    int calls = 0;
    for (int k = 0; k < 10; k++) {
        add<<<(n + 255) / 256, 256, 0, s>>>(p, n, k);
        CHECK(hipStreamAddCallback(s, told, &calls, 0));
    }
    CHECK(hipStreamSynchronize(s));
    EXPECT(calls == 10);
    // The null stream waits for blocking streams, and they wait for it.
    for (int k = 0; k < 20; k++) {
        add<<<(n + 255) / 256, 256, 0, t>>>(p, n, 1);
        add<<<(n + 255) / 256, 256>>>(p, n, 10);
    }
    std::vector<int> out(n);
    CHECK(hipMemcpy(out.data(), p, n * 4, hipMemcpyDeviceToHost));
    for (int v : out) EXPECT(v == 45 + 20 * 11);
    // Each thread's own.
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; k++)
        threads.emplace_back([] {
            int *own, v = 0;
            CHECK(hipMalloc(&own, 4));
            store<<<1, 1, 0, hipStreamPerThread>>>(own, 31);
            CHECK(hipMemcpyAsync(&v, own, 4, hipMemcpyDeviceToHost, hipStreamPerThread));
            CHECK(hipStreamSynchronize(hipStreamPerThread));
            EXPECT(v == 31);
            CHECK(hipFree(own));
        });
    for (auto &thread : threads) thread.join();
    CHECK(hipStreamDestroy(s));
    CHECK(hipStreamDestroy(t));
    CHECK(hipFree(p));
}

static void values() {
    int can = 0;
    CHECK(hipDeviceGetAttribute(&can, hipDeviceAttributeCanUseStreamWaitValue, 0));
    if (!can) return;
    hipStream_t s, t;
    CHECK(hipStreamCreate(&s));
    CHECK(hipStreamCreate(&t));
    unsigned long long *word;
    CHECK(hipExtMallocWithFlags(reinterpret_cast<void **>(&word), 8, hipMallocSignalMemory));
    CHECK(hipStreamWriteValue64(t, word, 0, 0));
    CHECK(hipStreamSynchronize(t));
    int *p, v = 0;
    CHECK(hipMalloc(&p, 4));
    CHECK(hipMemset(p, 0, 4));
    CHECK(hipStreamWaitValue64(s, word, 5, hipStreamWaitValueGte, ~0ull));
    store<<<1, 1, 0, s>>>(p, 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT(hipStreamQuery(s) == hipErrorNotReady);
    CHECK(hipStreamWriteValue64(t, word, 6, 0));
    CHECK(hipStreamSynchronize(s));
    CHECK(hipMemcpy(&v, p, 4, hipMemcpyDeviceToHost));
    EXPECT(v == 3);
    CHECK(hipFree(p));
    CHECK(hipFree(word));
    CHECK(hipStreamDestroy(s));
    CHECK(hipStreamDestroy(t));
}

static void events() {
    hipEvent_t first, last, untimed;
    CHECK(hipEventCreate(&first));
    CHECK(hipEventCreate(&last));
    CHECK(hipEventCreateWithFlags(&untimed, hipEventDisableTiming));
    int *p;
    CHECK(hipMalloc(&p, 1 << 20));
    CHECK(hipEventRecord(first));
    for (int k = 0; k < 10; k++) add<<<1024, 256>>>(p, 1 << 18, k);
    CHECK(hipEventRecord(last));
    CHECK(hipEventRecord(untimed));
    CHECK(hipEventSynchronize(last));
    float ms = -1;
    CHECK(hipEventElapsedTime(&ms, first, last));
    EXPECT(ms > 0 && ms < 60000);
    EXPECT(hipEventElapsedTime(&ms, first, untimed) != hipSuccess);
    CHECK(hipEventDestroy(first));
    CHECK(hipEventDestroy(last));
    CHECK(hipEventDestroy(untimed));
    CHECK(hipFree(p));
}

static void pools() {
    int can = 0;
    CHECK(hipDeviceGetAttribute(&can, hipDeviceAttributeMemoryPoolsSupported, 0));
    if (!can) return;
    hipStream_t s;
    CHECK(hipStreamCreate(&s));
    for (int round = 0; round < 10; round++) {
        int *p, v = 0;
        CHECK(hipMallocAsync(reinterpret_cast<void **>(&p), 4096, s));
        store<<<1, 1, 0, s>>>(p, round);
        CHECK(hipMemcpyAsync(&v, p, 4, hipMemcpyDeviceToHost, s));
        CHECK(hipFreeAsync(p, s));
        CHECK(hipStreamSynchronize(s));
        EXPECT(v == round);
    }
    CHECK(hipStreamDestroy(s));
}

int main() {
    devices();
    mistakes();
    streams();
    values();
    events();
    pools();
    std::puts("ok");
}
