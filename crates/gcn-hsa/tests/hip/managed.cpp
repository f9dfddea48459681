// Managed memory with pointers in it, used by host and kernels in turn; a pipeline of streams and events; launches with events.
#include "common.h"
#include <hip/hip_ext.h>
#include <numeric>

struct Node {
    int value;
    Node *next;
};

__managed__ int steps = 7;

__global__ void walk(Node *first, long *sum) {
    long all = 0;
    for (Node *n = first; n; n = n->next) {
        all += n->value;
        n->value = -n->value;
    }
    *sum = all * steps;
}

__global__ void prefix(int *p, int n) {
    __shared__ int room[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    room[threadIdx.x] = i < n ? p[i] : 0;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        int add = threadIdx.x >= d ? room[threadIdx.x - d] : 0;
        __syncthreads();
        room[threadIdx.x] += add;
        __syncthreads();
    }
    if (i < n) p[i] = room[threadIdx.x];
}

__global__ void count(unsigned *counter, unsigned by) { atomicAdd_system(counter, by); }

int main() {
    Node *nodes;
    long *sum;
    CHECK(hipMallocManaged(&nodes, 100 * sizeof(Node)));
    CHECK(hipMallocManaged(&sum, sizeof(long)));
    long expected = 0;
    for (int i = 0; i < 100; i++) {
        nodes[i] = {i * i, i + 1 < 100 ? &nodes[i + 1] : nullptr};
        expected += i * i;
    }
    CHECK(hipMemPrefetchAsync(nodes, 100 * sizeof(Node), 0, 0));
    for (int round = 0; round < 4; round++) {
        steps = 7 + round;
        walk<<<1, 1>>>(nodes, sum);
        CHECK(hipDeviceSynchronize());
        EXPECT(*sum == (round & 1 ? -expected : expected) * (7 + round));
        EXPECT(nodes[9].value == (round & 1 ? 81 : -81));
    }

    // Chunks on four streams: copied in, scanned, copied out; then the carries on a stream that waits for all.
    const int chunks = 12, size = 256, n = chunks * size;
    int *host, *device;
    CHECK(hipHostMalloc(&host, n * 4));
    CHECK(hipMalloc(&device, n * 4));
    for (int i = 0; i < n; i++) host[i] = i % 17;
    std::vector<int> whole(host, host + n);
    std::partial_sum(whole.begin(), whole.end(), whole.begin());
    hipStream_t streams[4], last;
    hipEvent_t done[chunks];
    for (auto &s : streams) CHECK(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    CHECK(hipStreamCreateWithFlags(&last, hipStreamNonBlocking));
    CHECK(hipStreamAttachMemAsync(last, sum, sizeof *sum, hipMemAttachGlobal));
    for (int c = 0; c < chunks; c++) {
        hipStream_t s = streams[c % 4];
        CHECK(hipEventCreateWithFlags(&done[c], hipEventDisableTiming));
        CHECK(hipMemcpyAsync(device + c * size, host + c * size, size * 4, hipMemcpyHostToDevice, s));
        prefix<<<1, 256, 0, s>>>(device + c * size, size);
        CHECK(hipMemcpyAsync(host + c * size, device + c * size, size * 4, hipMemcpyDeviceToHost, s));
        CHECK(hipEventRecord(done[c], s));
    }
    for (auto &e : done) CHECK(hipStreamWaitEvent(last, e, 0));
    struct Carry {
        int *p;
    } carry{host};
    CHECK(hipStreamAddCallback(last, [](hipStream_t, hipError_t, void *data) {
        int *p = static_cast<Carry *>(data)->p;
        for (int i = size; i < n; i++) p[i] += p[i / size * size - 1];
    }, &carry, 0));
    CHECK(hipStreamSynchronize(last));
    for (int i = 0; i < n; i++) EXPECT(host[i] == whole[i]);

    // Events of the launch itself, and a counter that host and kernels change.
    hipEvent_t begin, end;
    CHECK(hipEventCreate(&begin));
    CHECK(hipEventCreate(&end));
    unsigned *counter;
    CHECK(hipHostMalloc(&counter, 4, hipHostMallocCoherent));
    *counter = 0;
    for (unsigned k = 1; k <= 20; k++) {
        hipExtLaunchKernelGGL(count, dim3(4), dim3(64), 0, last, begin, end, 0, counter, k);
        __atomic_fetch_add(counter, 1000, __ATOMIC_SEQ_CST);
    }
    CHECK(hipStreamSynchronize(last));
    EXPECT(*counter == 256 * 210 + 20000);
    float ms = -1;
    CHECK(hipEventElapsedTime(&ms, begin, end));
    EXPECT(ms >= 0);
    std::puts("ok");
}
