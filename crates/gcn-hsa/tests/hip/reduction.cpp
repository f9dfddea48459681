// A sum over the largest grid that is resident at once, in one cooperative launch; coalesced groups; a launch over the list of devices.
#include "common.h"
#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void reduce(const double *in, double *partial, double *out, int n) {
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    extern __shared__ double room[];
    double sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += in[i];
    room[block.thread_rank()] = sum;
    block.sync();
    for (int half = block.size() / 2; half > 0; half /= 2) {
        if (block.thread_rank() < half) room[block.thread_rank()] += room[block.thread_rank() + half];
        block.sync();
    }
    if (block.thread_rank() == 0) partial[blockIdx.x] = room[0];
    grid.sync();
    if (grid.thread_rank() == 0) {
        double all = 0;
        for (int b = 0; b < gridDim.x; b++) all += partial[b];
        *out = all;
    }
}

__global__ void odd(const int *in, int *count, int *rank, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    rank[i] = -1;
    if (in[i] & 1) {
        cg::coalesced_group active = cg::coalesced_threads();
        rank[i] = active.thread_rank();
        if (active.thread_rank() == 0) atomicAdd(count, active.size());
    }
}

int main() {
    int n = 100000, *numbers, *count, *rank;
    std::vector<int> in(1000), ranks(1000);
    CHECK(hipMalloc(&numbers, 4000));
    CHECK(hipMalloc(&rank, 4000));
    CHECK(hipMalloc(&count, 4));
    for (int i = 0; i < 1000; i++) in[i] = i * i / 3;
    CHECK(hipMemcpy(numbers, in.data(), 4000, hipMemcpyHostToDevice));
    CHECK(hipMemset(count, 0, 4));
    odd<<<8, 128>>>(numbers, count, rank, 1000);
    int found = 0, expected = 0;
    CHECK(hipMemcpy(&found, count, 4, hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(ranks.data(), rank, 4000, hipMemcpyDeviceToHost));
    for (int wave = 0; wave < 1000; wave += 64)
        for (int i = wave, r = 0; i < std::min(wave + 64, 1000); i++) {
            EXPECT(ranks[i] == ((in[i] & 1) ? r++ : -1));
            expected += in[i] & 1;
        }
    EXPECT(found == expected);

    int can = 0, processors = 0, blocks = 0;
    CHECK(hipDeviceGetAttribute(&can, hipDeviceAttributeCooperativeLaunch, 0));
    if (can) {
        const int size = 256;
        CHECK(hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, 0));
        CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reduce, size, size * 8));
        EXPECT(blocks > 0 && processors > 0);
        int grid = std::min(blocks * processors, 300);
        std::vector<double> values(n);
        double sum = 0, got = 0;
        for (int i = 0; i < n; i++) sum += values[i] = i % 1000;
        double *p, *partial, *out;
        CHECK(hipMalloc(&p, n * 8));
        CHECK(hipMalloc(&partial, grid * 8));
        CHECK(hipMalloc(&out, 8));
        CHECK(hipMemcpy(p, values.data(), n * 8, hipMemcpyHostToDevice));
        void *args[] = {&p, &partial, &out, &n};
        CHECK(hipLaunchCooperativeKernel(reinterpret_cast<void *>(reduce), dim3(grid), dim3(size), args, size * 8, 0));
        CHECK(hipMemcpy(&got, out, 8, hipMemcpyDeviceToHost));
        EXPECT(got == sum);
        // A grid that cannot be resident at once is refused.
        void *function = reinterpret_cast<void *>(reduce);
        EXPECT(hipLaunchCooperativeKernel(function, dim3(1 << 20), dim3(size), args, size * 8, 0) != hipSuccess);
        (void)hipGetLastError();

        int several = 0;
        CHECK(hipDeviceGetAttribute(&several, hipDeviceAttributeCooperativeMultiDeviceLaunch, 0));
        if (several) {
            hipStream_t stream;
            CHECK(hipStreamCreate(&stream));
            hipLaunchParams params{function, dim3(40), dim3(size), args, size * 8, stream};
            CHECK(hipMemset(out, 0, 8));
            CHECK(hipLaunchCooperativeKernelMultiDevice(&params, 1, 0));
            CHECK(hipStreamSynchronize(stream));
            CHECK(hipMemcpy(&got, out, 8, hipMemcpyDeviceToHost));
            EXPECT(got == sum);
        }
    }
    std::puts("ok");
}
