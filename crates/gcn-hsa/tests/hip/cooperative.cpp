// Cooperative groups: tiles, blocks, and the whole grid where the chip has global wave sync for HIP (gfx9).
#include "common.h"
#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void tiles(int *out) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int v = threadIdx.x;
    for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
    if (tile.thread_rank() == 0) out[threadIdx.x / 16] = v;
}

__global__ void ring(int *p, int rounds) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    for (int k = 0; k < rounds; k++) {
        int next = p[(k & 1) * n + (i + 1) % n];
        p[(1 - (k & 1)) * n + i] = next + 1;
        grid.sync();
    }
}

int main() {
    int *p;
    CHECK(hipMalloc(&p, 1 << 20));
    tiles<<<1, 256>>>(p);
    int sums[16];
    CHECK(hipMemcpy(sums, p, sizeof sums, hipMemcpyDeviceToHost));
    for (int t = 0; t < 16; t++) EXPECT(sums[t] == 16 * 16 * t + 120);

    int can = 0;
    CHECK(hipDeviceGetAttribute(&can, hipDeviceAttributeCooperativeLaunch, 0));
    if (can) {
        const int blocks = 32, size = 128, n = blocks * size;
        int rounds = 9;
        std::vector<int> in(2 * n, 0), out(2 * n);
        for (int i = 0; i < n; i++) in[i] = 10 * i;
        for (int launch = 0; launch < 3; launch++) {
            CHECK(hipMemcpy(p, in.data(), 2 * n * 4, hipMemcpyHostToDevice));
            void *args[] = {&p, &rounds};
            CHECK(hipLaunchCooperativeKernel(reinterpret_cast<void *>(ring), dim3(blocks), dim3(size), args, 0, 0));
            CHECK(hipMemcpy(out.data(), p, 2 * n * 4, hipMemcpyDeviceToHost));
            for (int i = 0; i < n; i++) EXPECT(out[n + i] == 10 * ((i + rounds) % n) + rounds);
        }
    }
    std::puts("ok");
}
