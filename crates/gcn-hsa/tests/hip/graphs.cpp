// Graphs: made node by node, and captured from streams.
#include "common.h"

__global__ void twice(int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 2 * p[i] + 1;
}

int main() {
    int n = 3000;
    std::vector<int> in(n), out(n, 0);
    for (int i = 0; i < n; i++) in[i] = i;
    int *p;
    CHECK(hipMalloc(&p, n * 4));

    hipGraph_t graph;
    CHECK(hipGraphCreate(&graph, 0));
    hipGraphNode_t copy_in, kernel, copy_out;
    CHECK(hipGraphAddMemcpyNode1D(&copy_in, graph, nullptr, 0, p, in.data(), n * 4, hipMemcpyHostToDevice));
    void *args[] = {&p, &n};
    hipKernelNodeParams params{};
    params.func = reinterpret_cast<void *>(twice);
    params.gridDim = dim3((n + 255) / 256);
    params.blockDim = dim3(256);
    params.kernelParams = args;
    CHECK(hipGraphAddKernelNode(&kernel, graph, &copy_in, 1, &params));
    CHECK(hipGraphAddMemcpyNode1D(&copy_out, graph, &kernel, 1, out.data(), p, n * 4, hipMemcpyDeviceToHost));
    hipGraphExec_t run;
    CHECK(hipGraphInstantiate(&run, graph, nullptr, nullptr, 0));
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    for (int round = 0; round < 10; round++) {
        CHECK(hipGraphLaunch(run, stream));
        CHECK(hipStreamSynchronize(stream));
        for (int i = 0; i < n; i++) EXPECT(out[i] == 2 * i + 1);
        for (int i = 0; i < n; i++) out[i] = 0;
    }
    CHECK(hipGraphExecDestroy(run));
    CHECK(hipGraphDestroy(graph));

    CHECK(hipMemcpy(p, in.data(), n * 4, hipMemcpyHostToDevice));
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    for (int k = 0; k < 3; k++) twice<<<(n + 255) / 256, 256, 0, stream>>>(p, n);
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&run, graph, nullptr, nullptr, 0));
    CHECK(hipGraphLaunch(run, stream));
    CHECK(hipGraphLaunch(run, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipMemcpy(out.data(), p, n * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(out[i] == 64 * i + 63);
    std::puts("ok");
}
