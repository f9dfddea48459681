// Exchanges between lanes, votes, mathematics, vectors, halves: each compared with the host's.
#include "common.h"
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>

namespace cg = cooperative_groups;

__global__ void exchanges(int *out) {
    int i = threadIdx.x, lane = i & 63;
    int *row = out + i;
    row[0] = __shfl(i, 63 - lane);
    row[64] = __shfl_up(i, 3);
    row[128] = __shfl_down(i, 5);
    row[192] = __shfl_xor(i, 21);
    row[256] = __shfl(i, 2, 16);
    row[320] = __shfl_down(i, 1, 8);
    row[384] = __any(i == 40) + 2 * __all(i < 64) + 4 * __any(i > 63);
    row[448] = static_cast<int>(__ballot(i % 3 == 0) >> 32);
    row[512] = __popcll(__ballot(i < 17));
    row[576] = static_cast<int>(__shfl(i * 1.5, lane ^ 1) * 2);
    // A sum over all lanes before this one.
    int sum = i;
    for (int d = 1; d < 64; d *= 2) {
        int other = __shfl_up(sum, d);
        if (lane >= d) sum += other;
    }
    row[640] = sum;
    auto half = cg::tiled_partition<32>(cg::this_thread_block());
    row[704] = half.shfl_xor(i, 9) + 1000 * (half.thread_rank() == i % 32);
}

__global__ void functions(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    float all[] = {sinf(v), cosf(v), expf(v / 10), logf(fabsf(v) + 1), sqrtf(fabsf(v)), powf(fabsf(v), 0.3f), tanhf(v),
                   fmaf(v, v, 1), erff(v / 10), cbrtf(v), rsqrtf(fabsf(v) + 1), floorf(v), fmodf(v, 3), atan2f(v, 2), log10f(fabsf(v) + 1)};
    for (int k = 0; k < 15; k++) out[k * n + i] = all[k];
}

__global__ void doubles(const double *x, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    double all[] = {sin(v), exp(v / 10), log(fabs(v) + 1), sqrt(fabs(v)), v / 3, pow(fabs(v), 1.7), tgamma(2 + fabs(v) / 50)};
    for (int k = 0; k < 7; k++) out[k * n + i] = all[k];
}

__global__ void integers(const unsigned *x, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = x[i];
    out[i] = __clz(v);
    out[n + i] = __popc(v);
    out[2 * n + i] = __brev(v);
    out[3 * n + i] = __ffs(v);
    out[4 * n + i] = __umulhi(v, 0x9e3779b9u);
    out[5 * n + i] = v % 1000 + v / 7;
    out[6 * n + i] = __byte_perm(v, 0x11223344, 0x7531);
}

__global__ void halves(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half a = __float2half(x[i]), b = __float2half(0.5f);
    out[i] = __half2float(__hadd(a, b));
    out[n + i] = __half2float(__hmul(a, b));
    __half2 both = __hfma2(__half2half2(a), __float2half2_rn(2), __float2half2_rn(1));
    out[2 * n + i] = __low2float(both) + __high2float(both);
}

__global__ void clocks(long long *out) {
    long long begin = clock64();
    __syncthreads();
    out[0] = clock64() - begin;
    out[1] = begin;
}

template <typename T> static T *on_device(const std::vector<T> &v, size_t room) {
    T *p;
    CHECK(hipMalloc(&p, room * sizeof(T)));
    CHECK(hipMemcpy(p, v.data(), v.size() * sizeof(T), hipMemcpyHostToDevice));
    return p;
}

int main() {
    int *out;
    CHECK(hipMalloc(&out, 768 * 4));
    exchanges<<<1, 64>>>(out);
    std::vector<int> got(768);
    CHECK(hipMemcpy(got.data(), out, 768 * 4, hipMemcpyDeviceToHost));
    unsigned long long thirds = 0;
    for (int i = 0; i < 64; i += 3) thirds |= 1ull << i;
    for (int i = 0; i < 64; i++) {
        EXPECT(got[i] == 63 - i && got[64 + i] == (i >= 3 ? i - 3 : i) && got[128 + i] == (i + 5 < 64 ? i + 5 : i));
        EXPECT(got[192 + i] == (i ^ 21) && got[256 + i] == (i & ~15) + 2);
        EXPECT(got[320 + i] == (i % 8 < 7 ? i + 1 : i) && got[384 + i] == 3);
        EXPECT(got[448 + i] == static_cast<int>(thirds >> 32) && got[512 + i] == 17 && got[576 + i] == 3 * (i ^ 1));
        EXPECT(got[640 + i] == i * (i + 1) / 2 && got[704 + i] == (i ^ 9) + 1000);
    }

    const int n = 2000;
    std::vector<float> x(n), y(15 * n);
    for (int i = 0; i < n; i++) x[i] = (i - n / 2) * 0.037f;
    float *in = on_device(x, n), *results = on_device(y, 15 * n);
    functions<<<(n + 255) / 256, 256>>>(in, results, n);
    CHECK(hipMemcpy(y.data(), results, 15 * n * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        double v = x[i], a = std::fabs(x[i]);
        double want[] = {std::sin(v), std::cos(v), std::exp(v / 10), std::log(a + 1), std::sqrt(a), std::pow(a, 0.3), std::tanh(v),
                         v * v + 1, std::erf(v / 10), std::cbrt(v), 1 / std::sqrt(a + 1), std::floor(v), std::fmod(v, 3.0), std::atan2(v, 2.0), std::log10(a + 1)};
        for (int k = 0; k < 15; k++) EXPECT(std::fabs(y[k * n + i] - want[k]) <= 3e-6 * std::fmax(1, std::fabs(want[k])));
    }

    std::vector<double> xd(n), yd(7 * n);
    for (int i = 0; i < n; i++) xd[i] = (i - n / 2) * 0.037;
    double *ind = on_device(xd, n), *outd = on_device(yd, 7 * n);
    doubles<<<(n + 255) / 256, 256>>>(ind, outd, n);
    CHECK(hipMemcpy(yd.data(), outd, 7 * n * 8, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        double v = xd[i], a = std::fabs(v);
        double want[] = {std::sin(v), std::exp(v / 10), std::log(a + 1), std::sqrt(a), v / 3, std::pow(a, 1.7), std::tgamma(2 + a / 50)};
        for (int k = 0; k < 7; k++) EXPECT(std::fabs(yd[k * n + i] - want[k]) <= 4e-15 * std::fmax(1, std::fabs(want[k])));
    }

    std::vector<unsigned> xi(n), yi(7 * n);
    for (int i = 0; i < n; i++) xi[i] = i == 0 ? 0 : static_cast<unsigned>(i) * 2654435761u >> i % 31;
    unsigned *ini = on_device(xi, n), *outi = on_device(yi, 7 * n);
    integers<<<(n + 255) / 256, 256>>>(ini, outi, n);
    CHECK(hipMemcpy(yi.data(), outi, 7 * n * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        unsigned v = xi[i], reversed = 0;
        for (int b = 0; b < 32; b++) reversed |= (v >> b & 1) << (31 - b);
        unsigned char bytes[8];
        for (int b = 0; b < 4; b++) bytes[b] = v >> 8 * b, bytes[4 + b] = 0x11223344u >> 8 * b;
        unsigned mixed = bytes[1] | bytes[3] << 8 | bytes[5] << 16 | static_cast<unsigned>(bytes[7]) << 24;
        EXPECT(yi[i] == (v ? __builtin_clz(v) : 32u) && yi[n + i] == static_cast<unsigned>(__builtin_popcount(v)));
        EXPECT(yi[2 * n + i] == reversed && yi[3 * n + i] == static_cast<unsigned>(__builtin_ffs(v)));
        EXPECT(yi[4 * n + i] == static_cast<unsigned>(static_cast<unsigned long long>(v) * 0x9e3779b9u >> 32));
        EXPECT(yi[5 * n + i] == v % 1000 + v / 7 && yi[6 * n + i] == mixed);
    }

    // Numbers that halves represent exactly.
    for (int i = 0; i < n; i++) x[i] = i - 1000;
    CHECK(hipMemcpy(in, x.data(), n * 4, hipMemcpyHostToDevice));
    halves<<<(n + 255) / 256, 256>>>(in, results, n);
    CHECK(hipMemcpy(y.data(), results, 3 * n * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(y[i] == x[i] + 0.5f && y[n + i] == x[i] / 2 && y[2 * n + i] == 2 * (2 * x[i] + 1));

    long long *ticks;
    CHECK(hipHostMalloc(&ticks, 16));
    clocks<<<1, 64>>>(ticks);
    CHECK(hipDeviceSynchronize());
    EXPECT(ticks[0] >= 0 && ticks[1] > 0);
    std::puts("ok");
}
