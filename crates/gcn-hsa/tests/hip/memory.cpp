// Every kind of memory: device, pinned, registered, managed, pitched, constants and variables.
#include "common.h"

__constant__ int factors[4];
__device__ int total;
__managed__ int shared_by_both = 5;

__global__ void scale(const int *from, int *to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        to[i] = from[i] * factors[i & 3];
        atomicAdd(&total, 1);
    }
}

__global__ void add_managed(int n) { atomicAdd(&shared_by_both, n); }

__global__ void rows(int *p, size_t pitch, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width && y < height) {
        int *row = reinterpret_cast<int *>(reinterpret_cast<char *>(p) + y * pitch);
        row[x] = 1000 * y + x;
    }
}

int main() {
    const int n = 100003;
    std::vector<int> in(n), out(n);
    for (int i = 0; i < n; i++) in[i] = i;
    int f[4] = {1, -2, 3, 7};
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factors), f, sizeof f));
    auto right = [&](const int *p) {
        for (int i = 0; i < n; i++)
            if (p[i] != in[i] * f[i & 3]) return false;
        return true;
    };
    int *a, *b;
    CHECK(hipMalloc(&a, n * 4));
    CHECK(hipMalloc(&b, n * 4));
    CHECK(hipMemcpy(a, in.data(), n * 4, hipMemcpyHostToDevice));
    scale<<<(n + 255) / 256, 256>>>(a, b, n);
    CHECK(hipMemcpy(out.data(), b, n * 4, hipMemcpyDeviceToHost));
    EXPECT(right(out.data()));
    int counted = 0;
    CHECK(hipMemcpyFromSymbol(&counted, HIP_SYMBOL(total), 4));
    EXPECT(counted == n);

    int *pinned;
    CHECK(hipHostMalloc(&pinned, n * 4));
    for (int i = 0; i < n; i++) pinned[i] = i;
    scale<<<(n + 255) / 256, 256>>>(pinned, b, n);
    CHECK(hipMemcpy(out.data(), b, n * 4, hipMemcpyDefault));
    EXPECT(right(out.data()));

    // The program's own memory, repeatedly: registered memory can be released.
    for (int round = 0; round < 20; round++) {
        std::vector<int> own(n, 0);
        CHECK(hipHostRegister(own.data(), n * 4, hipHostRegisterDefault));
        void *seen;
        CHECK(hipHostGetDevicePointer(&seen, own.data(), 0));
        scale<<<(n + 255) / 256, 256>>>(a, static_cast<int *>(seen), n);
        CHECK(hipDeviceSynchronize());
        EXPECT(right(own.data()));
        CHECK(hipHostUnregister(own.data()));
    }

    for (int round = 0; round < 20; round++) {
        int *managed;
        CHECK(hipMallocManaged(&managed, n * 4));
        for (int i = 0; i < n; i++) managed[i] = i;
        scale<<<(n + 255) / 256, 256>>>(managed, managed, n);
        CHECK(hipDeviceSynchronize());
        EXPECT(right(managed));
        CHECK(hipFree(managed));
    }
    add_managed<<<2, 64>>>(1);
    CHECK(hipDeviceSynchronize());
    EXPECT(shared_by_both == 5 + 128);

    const int width = 100, height = 37;
    int *pitched;
    size_t pitch;
    CHECK(hipMallocPitch(reinterpret_cast<void **>(&pitched), &pitch, width * 4, height));
    rows<<<dim3(1, height), 128>>>(pitched, pitch, width, height);
    std::vector<int> flat(width * height);
    CHECK(hipMemcpy2D(flat.data(), width * 4, pitched, pitch, width * 4, height, hipMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) EXPECT(flat[y * width + x] == 1000 * y + x);

    CHECK(hipMemset(b, 0x5a, n * 4));
    CHECK(hipMemcpy(a, b, n * 4, hipMemcpyDeviceToDevice));
    CHECK(hipMemcpy(out.data(), a, n * 4, hipMemcpyDeviceToHost));
    for (int v : out) EXPECT(v == 0x5a5a5a5a);
    void *too_much;
    EXPECT(hipMalloc(&too_much, size_t(1) << 46) == hipErrorOutOfMemory);
    CHECK(hipFree(a));
    CHECK(hipFree(b));
    CHECK(hipHostFree(pinned));
    std::puts("ok");
}
