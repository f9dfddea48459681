// Launches with all data that a record must contain: variables, constants, managed ones, addresses in variables, in structures
// and in memory. The first argument selects a launch that fails instead.
#include "common.h"
#include <cstring>
#include <string>
#include <sys/mman.h>

__device__ int total = 3;
__device__ int *target;
__constant__ int factors[4];
__managed__ int shared_by_both = 5;
static __device__ int hidden[8];

struct Node {
    Node *next;
    int value;
};

struct View {
    const int *from;
    int n, add;
    int *to;
};

__global__ void scale(View v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < v.n) {
        v.to[i] = v.from[i] * factors[i & 3] + v.add;
        atomicAdd(&total, 1);
        atomicAdd(&hidden[i & 7], v.from[i]);
    }
}

__global__ void walk(Node *first, int *out) {
    int sum = 0;
    for (Node *n = first; n; n = n->next) {
        sum += n->value;
        n->value += total;
    }
    out[3] = sum + shared_by_both;
    shared_by_both += 1;
    *target = hidden[1];
}

__global__ void store(int *p) { p[threadIdx.x] = 1; }

int main(int argc, char **argv) {
    std::string what = argc > 1 ? argv[1] : "";
    if (what == "wild") {
        store<<<1, 64>>>(reinterpret_cast<int *>(0x123456789000));
        CHECK(hipDeviceSynchronize());
    }
    if (what == "unmapped") {
        // Registered memory that is then unmapped.
        void *own = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        void *seen;
        CHECK(hipHostRegister(own, 4096, hipHostRegisterDefault));
        CHECK(hipHostGetDevicePointer(&seen, own, 0));
        munmap(own, 4096);
        store<<<1, 64>>>(static_cast<int *>(seen));
        CHECK(hipDeviceSynchronize());
    }
    const int n = 1000;
    std::vector<int> in(n), out(n);
    for (int i = 0; i < n; i++) in[i] = i;
    int f[4] = {1, -2, 3, 7}, *from, *to, *other;
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factors), f, sizeof f));
    CHECK(hipMalloc(&from, n * 4));
    CHECK(hipMalloc(&to, n * 4));
    CHECK(hipMalloc(&other, 64));
    CHECK(hipMemset(to, 0, n * 4));
    CHECK(hipMemset(other, 0, 64));
    CHECK(hipMemcpy(from, in.data(), n * 4, hipMemcpyHostToDevice));
    int *inside = other + 2;
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(target), &inside, sizeof inside));
    Node *nodes;
    CHECK(hipMalloc(&nodes, 10 * sizeof(Node)));
    std::vector<Node> list(10);
    for (int i = 0; i < 10; i++) {
        std::memset(&list[i], 0, sizeof(Node));
        list[i] = {i < 9 ? nodes + i + 1 : nullptr, i * i};
    }
    CHECK(hipMemcpy(nodes, list.data(), 10 * sizeof(Node), hipMemcpyHostToDevice));
    scale<<<4, 256>>>(View{from, n, 100, to});
    walk<<<1, 1>>>(nodes, other);
    CHECK(hipMemcpy(out.data(), to, n * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(out[i] == in[i] * f[i & 3] + 100);
    int results[16], ones = 0;
    for (int i = 1; i < n; i += 8) ones += i;
    CHECK(hipMemcpy(results, other, 64, hipMemcpyDeviceToHost));
    EXPECT(results[3] == 285 + 5 && results[2] == ones && shared_by_both == 6);
    CHECK(hipMemcpy(list.data(), nodes, 10 * sizeof(Node), hipMemcpyDeviceToHost));
    for (int i = 0; i < 10; i++) EXPECT(list[i].value == i * i + 1003);
    std::puts("ok");
}
