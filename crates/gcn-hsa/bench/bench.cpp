// The speed of HIP programs here, compared with the same work in threads of the host. Each figure is the best of several runs.
#include "host.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <hip/hip_runtime.h>
#include <random>
#include <rocprim/rocprim.hpp>
#include <rocrand/rocrand.h>
#include <vector>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        if (static_cast<int>(call) != 0) {                                                 \
            std::printf("%s:%d: %s failed\n", __FILE__, __LINE__, #call);                  \
            std::exit(1);                                                                  \
        }                                                                                  \
    } while (0)

__global__ void nothing() {}
__global__ void saxpy(float *y, const float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

// Seconds, the minimum of several runs.
static double best(int times, const std::function<void()> &work) {
    double least = 1e9;
    for (int k = 0; k < times; k++) {
        auto start = std::chrono::steady_clock::now();
        work();
        std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        least = std::min(least, took.count());
    }
    return least;
}

static void row(const char *what, double ours, double host, const char *unit) {
    std::printf("| %s | %.3g %s | %.3g %s |\n", what, ours, unit, host, unit);
}

int main() {
    std::printf("| | gcn hip | %d host threads |\n|---|---|---|\n", host_threads());
    const size_t n = 16 << 20, bytes = n * 4;
    float *x, *y;
    CHECK(hipMalloc(&x, bytes));
    CHECK(hipMalloc(&y, bytes));
    std::vector<float> a(n, 1.5f), b(n, 2.0f);
    auto wait = [] { CHECK(hipDeviceSynchronize()); };
    nothing<<<1, 64>>>();
    wait();

    const int many = 2000;
    double queued = best(3, [&] {
        for (int k = 0; k < many; k++) nothing<<<1, 64>>>();
        wait();
    });
    double waited = best(3, [&] {
        for (int k = 0; k < many / 10; k++) {
            nothing<<<1, 64>>>();
            wait();
        }
    });
    double regions = best(3, [&] {
        for (int k = 0; k < many; k++) host_launch();
    });
    row("empty kernel, one behind another (a parallel region)", queued / many * 1e6, regions / many * 1e6, "µs");
    row("empty kernel, waited for (a parallel region)", waited / (many / 10) * 1e6, regions / many * 1e6, "µs");

    const double gb = bytes / 1e9;
    double in = best(5, [&] { CHECK(hipMemcpy(x, a.data(), bytes, hipMemcpyHostToDevice)); });
    double out = best(5, [&] { CHECK(hipMemcpy(a.data(), x, bytes, hipMemcpyDeviceToHost)); });
    CHECK(hipMemcpy(y, b.data(), bytes, hipMemcpyHostToDevice));
    double device = best(5, [&] {
        CHECK(hipMemcpy(y, x, bytes, hipMemcpyDeviceToDevice));
        wait();
    });
    double copy = best(5, [&] { host_copy(b.data(), a.data(), bytes); });
    row("host to device, 64 MiB", gb / in, gb / copy, "GB/s");
    row("device to host", gb / out, gb / copy, "GB/s");
    row("device to device (HIP's kernel)", gb / device, gb / copy, "GB/s");

    double ours = best(5, [&] {
        saxpy<<<n / 256, 256>>>(y, x, 0.5f, n);
        wait();
    });
    double host = best(5, [&] { host_saxpy(b.data(), a.data(), 0.5f, n); });
    row("saxpy, 16 Mi elements", n / ours / 1e9, n / host / 1e9, "G elements/s");

    rocrand_generator generator;
    CHECK(rocrand_create_generator(&generator, ROCRAND_RNG_PSEUDO_PHILOX4_32_10));
    CHECK(rocrand_generate_uniform(generator, x, n));
    wait();
    ours = best(3, [&] {
        CHECK(rocrand_generate_uniform(generator, x, n));
        wait();
    });
    host = best(3, [&] { host_random(a.data(), n); });
    row("rocRAND, Philox, uniform floats", n / ours / 1e9, n / host / 1e9, "G numbers/s");

    const size_t keys = 4 << 20;
    std::vector<unsigned> values(keys), sorted(keys);
    std::mt19937 random(1);
    for (auto &v : values) v = random();
    unsigned *from, *to;
    void *room = nullptr;
    size_t needed = 0;
    CHECK(hipMalloc(&from, keys * 4));
    CHECK(hipMalloc(&to, keys * 4));
    CHECK(hipMemcpy(from, values.data(), keys * 4, hipMemcpyHostToDevice));
    CHECK(rocprim::radix_sort_keys(room, needed, from, to, keys));
    CHECK(hipMalloc(&room, needed));
    ours = best(3, [&] {
        CHECK(rocprim::radix_sort_keys(room, needed, from, to, keys));
        wait();
    });
    CHECK(hipMemcpy(sorted.data(), to, keys * 4, hipMemcpyDeviceToHost));
    host = 1e9;
    for (int k = 0; k < 3; k++) {
        auto copy = values;
        host = std::min(host, best(1, [&] { host_sort(copy.data(), keys); }));
        if (copy != sorted) {
            std::puts("the sorted keys are others");
            return 1;
        }
    }
    row("rocPRIM, radix sort of 4 Mi keys (GNU's parallel sort)", keys / ours / 1e6, keys / host / 1e6, "M keys/s");
}
