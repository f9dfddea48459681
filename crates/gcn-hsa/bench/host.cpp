// The same work in threads of the host: OpenMP.
#include "host.h"
#include <cstdint>
#include <cstring>
#include <omp.h>
#include <parallel/algorithm>

int host_threads() { return omp_get_max_threads(); }

void host_launch() {
#pragma omp parallel
    {
        asm volatile("");
    }
}

void host_copy(void *to, const void *from, size_t bytes) {
    const size_t part = 1 << 20;
#pragma omp parallel for schedule(static)
    for (size_t at = 0; at < bytes; at += part) {
        size_t count = bytes - at < part ? bytes - at : part;
        std::memcpy(static_cast<char *>(to) + at, static_cast<const char *>(from) + at, count);
    }
}

void host_saxpy(float *y, const float *x, float a, size_t n) {
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

void host_random(float *out, size_t n) {
#pragma omp parallel for schedule(static)
    for (size_t block = 0; block < n / 4; block++) {
        uint32_t c[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0}, k0 = 42, k1 = 0;
        for (int round = 0; round < 10; round++) {
            uint64_t a = uint64_t(0xd2511f53) * c[0], b = uint64_t(0xcd9e8d57) * c[2];
            uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
                                static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
            std::memcpy(c, next, sizeof c);
            k0 += 0x9e3779b9;
            k1 += 0xbb67ae85;
        }
        for (int i = 0; i < 4; i++) out[4 * block + i] = 2.3283064e-10f * c[i] + 1.1641532e-10f;
    }
}

void host_sort(unsigned *p, size_t n) { __gnu_parallel::sort(p, p + n); }
