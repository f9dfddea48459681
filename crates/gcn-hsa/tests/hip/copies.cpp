// Copies and fills: boxes of pitched memory and arrays, asynchronous ones, symbols, attributes of pointers.
#include "common.h"
#include <cstring>

__device__ int variable[100];
__global__ void twice_variable() { variable[threadIdx.x] *= 2; }
__global__ void add_one(int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += 1;
}

static std::vector<int> counted(int n) {
    std::vector<int> v(n);
    for (int i = 0; i < n; i++) v[i] = 3 * i - 1000;
    return v;
}

static void boxes() {
    const int w = 17, h = 9, d = 5;
    auto v = counted(w * h * d);
    hipPitchedPtr p;
    CHECK(hipMalloc3D(&p, make_hipExtent(w * 4, h, d)));
    hipMemcpy3DParms copy{};
    copy.srcPtr = make_hipPitchedPtr(v.data(), w * 4, w, h);
    copy.dstPtr = p;
    copy.extent = make_hipExtent(w * 4, h, d);
    copy.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&copy));
    // A part of it, to another position in another box on the device.
    hipPitchedPtr q;
    CHECK(hipMalloc3D(&q, make_hipExtent(w * 4, h, d)));
    CHECK(hipMemset3D(q, 0, make_hipExtent(w * 4, h, d)));
    hipMemcpy3DParms part{};
    part.srcPtr = p;
    part.dstPtr = q;
    part.srcPos = make_hipPos(2 * 4, 1, 1);
    part.dstPos = make_hipPos(5 * 4, 3, 2);
    part.extent = make_hipExtent(7 * 4, 4, 3);
    part.kind = hipMemcpyDeviceToDevice;
    CHECK(hipMemcpy3D(&part));
    std::vector<int> out(w * h * d, -1);
    hipMemcpy3DParms back{};
    back.srcPtr = q;
    back.dstPtr = make_hipPitchedPtr(out.data(), w * 4, w, h);
    back.extent = make_hipExtent(w * 4, h, d);
    back.kind = hipMemcpyDeviceToHost;
    CHECK(hipMemcpy3DAsync(&back, 0));
    CHECK(hipDeviceSynchronize());
    for (int z = 0; z < d; z++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                int sx = x - 3, sy = y - 2, sz = z - 1;
                bool in = sx >= 2 && sx < 9 && sy >= 1 && sy < 5 && sz >= 1 && sz < 4;
                EXPECT(out[(z * h + y) * w + x] == (in ? v[(sz * h + sy) * w + sx] : 0));
            }
    CHECK(hipFree(p.ptr));
    CHECK(hipFree(q.ptr));
}

static void fills() {
    const int n = 1001;
    char *p;
    CHECK(hipMalloc(&p, 4 * n));
    std::vector<char> out(4 * n);
    // Any length from any byte on.
    CHECK(hipMemset(p, 1, 4 * n));
    CHECK(hipMemset(p + 13, 0x7f, 1777));
    CHECK(hipMemcpy(out.data(), p, 4 * n, hipMemcpyDeviceToHost));
    for (int i = 0; i < 4 * n; i++) EXPECT(out[i] == (i >= 13 && i < 13 + 1777 ? 0x7f : 1));
    CHECK(hipMemsetD16(p, 0x1234, n));
    CHECK(hipMemsetD32(p + 2004, 0x89abcdef, 499));
    CHECK(hipMemcpy(out.data(), p, 4 * n, hipMemcpyDeviceToHost));
    unsigned short half;
    unsigned word;
    for (int i = 0; i < n; i++) EXPECT((std::memcpy(&half, &out[2 * i], 2), half) == 0x1234);
    for (int i = 0; i < 499; i++) EXPECT((std::memcpy(&word, &out[2004 + 4 * i], 4), word) == 0x89abcdef);
    CHECK(hipFree(p));
    size_t pitch;
    CHECK(hipMallocPitch(reinterpret_cast<void **>(&p), &pitch, 100, 20));
    CHECK(hipMemset2D(p, pitch, 5, 100, 20));
    CHECK(hipMemset2DAsync(p + pitch * 3 + 7, pitch, 9, 31, 4, 0));
    std::vector<char> flat(2000);
    CHECK(hipMemcpy2DAsync(flat.data(), 100, p, pitch, 100, 20, hipMemcpyDeviceToHost, 0));
    CHECK(hipStreamSynchronize(0));
    for (int y = 0; y < 20; y++)
        for (int x = 0; x < 100; x++) EXPECT(flat[y * 100 + x] == (y >= 3 && y < 7 && x >= 7 && x < 38 ? 9 : 5));
    CHECK(hipFree(p));
}

static void symbols() {
    auto v = counted(100);
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(variable), v.data(), 400));
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(variable), v.data() + 1, 40, 80));
    twice_variable<<<1, 100>>>();
    std::vector<int> out(100);
    CHECK(hipMemcpyFromSymbolAsync(out.data(), HIP_SYMBOL(variable), 400, 0, hipMemcpyDeviceToHost, 0));
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < 100; i++) EXPECT(out[i] == 2 * (i >= 20 && i < 30 ? v[i - 19] : v[i]));
    void *at;
    size_t bytes;
    CHECK(hipGetSymbolAddress(&at, HIP_SYMBOL(variable)));
    CHECK(hipGetSymbolSize(&bytes, HIP_SYMBOL(variable)));
    EXPECT(bytes == 400);
    int one;
    CHECK(hipMemcpy(&one, static_cast<int *>(at) + 25, 4, hipMemcpyDeviceToHost));
    EXPECT(one == out[25]);
}

static void pointers() {
    int *device, *pinned, *managed;
    CHECK(hipMalloc(&device, 4096));
    CHECK(hipHostMalloc(&pinned, 4096, hipHostMallocMapped));
    CHECK(hipMallocManaged(&managed, 4096));
    hipPointerAttribute_t a;
    CHECK(hipPointerGetAttributes(&a, device + 7));
    EXPECT(a.memoryType == hipMemoryTypeDevice && a.devicePointer == device + 7);
    CHECK(hipPointerGetAttributes(&a, pinned));
    EXPECT(a.memoryType == hipMemoryTypeHost && a.hostPointer == pinned);
    CHECK(hipPointerGetAttributes(&a, managed));
    EXPECT(a.isManaged);
    int local;
    EXPECT(hipPointerGetAttributes(&a, &local) != hipSuccess);
    hipDeviceptr_t base;
    size_t bytes;
    CHECK(hipMemGetAddressRange(&base, &bytes, reinterpret_cast<hipDeviceptr_t>(device + 100)));
    EXPECT(base == device && bytes == 4096);
    size_t spare, all, less;
    CHECK(hipMemGetInfo(&spare, &all));
    EXPECT(spare > 0 && spare <= all);
    void *large;
    CHECK(hipMalloc(&large, 64 << 20));
    CHECK(hipMemGetInfo(&less, &all));
    EXPECT(less + (64 << 20) <= spare);
    CHECK(hipFree(large));
    EXPECT(hipFree(&local) != hipSuccess);
    // Hints of managed memory are kept.
    CHECK(hipMemAdvise(managed, 4096, hipMemAdviseSetReadMostly, 0));
    CHECK(hipMemPrefetchAsync(managed, 4096, 0, 0));
    for (int i = 0; i < 1024; i++) managed[i] = i;
    add_one<<<4, 256>>>(managed, 1024);
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < 1024; i++) EXPECT(managed[i] == i + 1);
    int mostly = 0;
    CHECK(hipMemRangeGetAttribute(&mostly, 4, hipMemRangeAttributeReadMostly, managed, 4096));
    EXPECT(mostly == 1);
    CHECK(hipFree(managed));
    CHECK(hipFree(device));
    CHECK(hipHostFree(pinned));
}

static void asynchronous() {
    const int n = 1 << 18;
    hipStream_t s;
    CHECK(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    int *a, *b, *host, *back;
    CHECK(hipMalloc(&a, n * 4));
    CHECK(hipMalloc(&b, n * 4));
    CHECK(hipHostMalloc(&host, n * 4));
    CHECK(hipHostMalloc(&back, n * 4));
    for (int i = 0; i < n; i++) host[i] = i;
    for (int k = 0; k < 5; k++) {
        CHECK(hipMemcpyAsync(a, host, n * 4, hipMemcpyHostToDevice, s));
        add_one<<<n / 256, 256, 0, s>>>(a, n);
        CHECK(hipMemcpyAsync(b, a, n * 4, hipMemcpyDeviceToDevice, s));
        add_one<<<n / 256, 256, 0, s>>>(b, n);
        CHECK(hipMemcpyAsync(back, b, n * 4, hipMemcpyDeviceToHost, s));
        CHECK(hipMemcpyAsync(host, b, n * 4, hipMemcpyDeviceToHost, s));
        CHECK(hipStreamSynchronize(s));
        for (int i = 0; i < n; i++) EXPECT(back[i] == i + 2 * (k + 1));
    }
    CHECK(hipMemcpyWithStream(back, a, n * 4, hipMemcpyDeviceToHost, s));
    EXPECT(back[5] == 5 + 9);
    // Copies of odd lengths between odd addresses.
    auto *bytes = reinterpret_cast<char *>(a);
    for (int i = 0; i < 4000; i++) reinterpret_cast<char *>(host)[i] = i * 7;
    for (int length : {1, 3, 61, 1025, 3001}) {
        CHECK(hipMemcpy(bytes + 5, reinterpret_cast<char *>(host) + 3, length, hipMemcpyHostToDevice));
        CHECK(hipMemcpy(reinterpret_cast<char *>(b) + 9, bytes + 5, length, hipMemcpyDeviceToDevice));
        CHECK(hipMemcpy(reinterpret_cast<char *>(back) + 1, reinterpret_cast<char *>(b) + 9, length, hipMemcpyDeviceToHost));
        EXPECT(!std::memcmp(reinterpret_cast<char *>(back) + 1, reinterpret_cast<char *>(host) + 3, length));
    }
    CHECK(hipStreamDestroy(s));
    CHECK(hipFree(a));
    CHECK(hipFree(b));
    CHECK(hipHostFree(host));
    CHECK(hipHostFree(back));
}

int main() {
    boxes();
    fills();
    symbols();
    pointers();
    asynchronous();
    std::puts("ok");
}
