// Atomic operations on every kind of memory, of every type; votes and exchanges between lanes.
#include "common.h"

struct Sums {
    int add, sub, smallest, largest, and_, or_, xor_, exchanged;
    unsigned up, down;
    unsigned long long wide, wide_max;
    float real;
    double precise;
    int swapped;
};

__global__ void everything(Sums *s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&s->add, i);
    atomicSub(&s->sub, i);
    atomicMin(&s->smallest, 500 - i);
    atomicMax(&s->largest, i * 3);
    atomicAnd(&s->and_, ~(1 << (i & 15)));
    atomicOr(&s->or_, 1 << (i & 15));
    atomicXor(&s->xor_, i);
    atomicExch(&s->exchanged, 77);
    atomicInc(&s->up, 99);
    atomicDec(&s->down, 99);
    atomicAdd(&s->wide, static_cast<unsigned long long>(i) << 32);
    atomicMax(&s->wide_max, static_cast<unsigned long long>(i) << 33);
    atomicAdd(&s->real, 1.0f);
    atomicAdd(&s->precise, 0.5);
    // A lock-free maximum by comparing and swapping.
    int seen = s->swapped;
    while (seen < i) {
        int now = atomicCAS(&s->swapped, seen, i);
        if (now == seen) break;
        seen = now;
    }
}

__global__ void histogram(const unsigned char *in, int n, unsigned *out) {
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1u);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

// The last workgroup to finish sums the results of all.
__device__ unsigned finished;
__global__ void last_sums(const int *in, int n, int *part, int *total) {
    __shared__ int sums[256];
    __shared__ bool last;
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    sums[threadIdx.x] = sum;
    for (int d = 128; d > 0; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) sums[threadIdx.x] += sums[threadIdx.x + d];
    }
    if (threadIdx.x == 0) {
        part[blockIdx.x] = sums[0];
        __threadfence();
        last = atomicAdd(&finished, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        int all = 0;
        for (unsigned b = 0; b < gridDim.x; b++) all += reinterpret_cast<volatile int *>(part)[b];
        *total = all;
    }
}

static void check(const Sums &s, int n) {
    int sum = n * (n - 1) / 2, x = 0;
    for (int i = 0; i < n; i++) x ^= i;
    EXPECT(s.add == sum && s.sub == -sum);
    EXPECT(s.smallest == 500 - (n - 1) && s.largest == 3 * (n - 1));
    EXPECT(s.and_ == static_cast<int>(0xffff0000) && s.or_ == 0xffff && s.xor_ == x && s.exchanged == 77);
    EXPECT(s.up == static_cast<unsigned>(n % 100) && s.down == static_cast<unsigned>((100 - n % 100) % 100));
    EXPECT(s.wide == static_cast<unsigned long long>(sum) << 32);
    EXPECT(s.wide_max == static_cast<unsigned long long>(n - 1) << 33);
    EXPECT(s.real == n && s.precise == 0.5 * n && s.swapped == n - 1);
}

int main() {
    const int blocks = 13, size = 192, n = blocks * size;
    Sums start{};
    start.and_ = -1;
    start.smallest = 1 << 30;
    Sums *device, *managed, *pinned;
    CHECK(hipMalloc(&device, sizeof start));
    CHECK(hipMallocManaged(&managed, sizeof start));
    CHECK(hipHostMalloc(&pinned, sizeof start));
    CHECK(hipMemcpy(device, &start, sizeof start, hipMemcpyHostToDevice));
    *managed = *pinned = start;
    everything<<<blocks, size>>>(device);
    everything<<<blocks, size>>>(managed);
    everything<<<blocks, size>>>(pinned);
    CHECK(hipDeviceSynchronize());
    Sums got;
    CHECK(hipMemcpy(&got, device, sizeof got, hipMemcpyDeviceToHost));
    check(got, n);
    check(*managed, n);
    check(*pinned, n);

    const int many = 70001;
    std::vector<unsigned char> bytes(many);
    std::vector<unsigned> want(256, 0), bins(256);
    for (int i = 0; i < many; i++) want[bytes[i] = static_cast<unsigned>(i) * 2654435761u >> 23]++;
    unsigned char *in;
    unsigned *out;
    CHECK(hipMalloc(&in, many));
    CHECK(hipMalloc(&out, 1024));
    CHECK(hipMemset(out, 0, 1024));
    CHECK(hipMemcpy(in, bytes.data(), many, hipMemcpyHostToDevice));
    histogram<<<9, 256>>>(in, many, out);
    CHECK(hipMemcpy(bins.data(), out, 1024, hipMemcpyDeviceToHost));
    EXPECT(bins == want);

    std::vector<int> values(50000);
    int sum = 0;
    for (int i = 0; i < 50000; i++) sum += values[i] = i * 7 % 1000 - 400;
    int *v, *part, total = 0;
    CHECK(hipMalloc(&v, 200000));
    CHECK(hipMalloc(&part, 4 * 65));
    CHECK(hipMemcpy(v, values.data(), 200000, hipMemcpyHostToDevice));
    last_sums<<<64, 256>>>(v, 50000, part, part + 64);
    CHECK(hipMemcpy(&total, part + 64, 4, hipMemcpyDeviceToHost));
    EXPECT(total == sum);
    std::puts("ok");
}
