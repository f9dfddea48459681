// Graphs that are cloned, edited, updated after instantiation and that record events; a diamond of kernels.
#include "common.h"

__global__ void scale(float *out, const float *in, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * by;
}

__global__ void add(float *out, const float *a, const float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}

static hipKernelNodeParams node(void *function, void **args, int n) {
    hipKernelNodeParams params{};
    params.func = function;
    params.gridDim = dim3((n + 127) / 128);
    params.blockDim = dim3(128);
    params.kernelParams = args;
    return params;
}

int main() {
    int n = 1500;
    std::vector<float> in(n), other(n), out(n);
    for (int i = 0; i < n; i++) {
        in[i] = i;
        other[i] = -i;
    }
    float *d[4];
    for (auto &p : d) CHECK(hipMalloc(&p, n * 4));
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    hipEvent_t begin, end;
    CHECK(hipEventCreate(&begin));
    CHECK(hipEventCreate(&end));

    hipGraph_t graph;
    CHECK(hipGraphCreate(&graph, 0));
    hipGraphNode_t start, copy, left, right, join, back, stop, empty;
    CHECK(hipGraphAddEventRecordNode(&start, graph, nullptr, 0, begin));
    CHECK(hipGraphAddMemcpyNode1D(&copy, graph, &start, 1, d[0], in.data(), n * 4, hipMemcpyHostToDevice));
    CHECK(hipGraphAddEmptyNode(&empty, graph, &copy, 1));
    float two = 2, three = 3, five = 5;
    void *left_args[] = {&d[1], &d[0], &two, &n}, *right_args[] = {&d[2], &d[0], &three, &n};
    void *join_args[] = {&d[3], &d[1], &d[2], &n}, *new_args[] = {&d[1], &d[0], &five, &n};
    auto params = node(reinterpret_cast<void *>(scale), left_args, n);
    CHECK(hipGraphAddKernelNode(&left, graph, &empty, 1, &params));
    params = node(reinterpret_cast<void *>(scale), right_args, n);
    CHECK(hipGraphAddKernelNode(&right, graph, &empty, 1, &params));
    hipGraphNode_t both[] = {left, right};
    params = node(reinterpret_cast<void *>(add), join_args, n);
    CHECK(hipGraphAddKernelNode(&join, graph, both, 2, &params));
    CHECK(hipGraphAddMemcpyNode1D(&back, graph, &join, 1, out.data(), d[3], n * 4, hipMemcpyDeviceToHost));
    CHECK(hipGraphAddEventRecordNode(&stop, graph, &back, 1, end));

    hipGraphNodeType type;
    CHECK(hipGraphNodeGetType(join, &type));
    EXPECT(type == hipGraphNodeTypeKernel);
    size_t count = 0;
    CHECK(hipGraphGetNodes(graph, nullptr, &count));
    EXPECT(count == 8);
    CHECK(hipGraphNodeGetDependencies(join, nullptr, &count));
    EXPECT(count == 2);

    hipGraphExec_t exec;
    CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    auto launch = [&](float factor) {
        std::fill(out.begin(), out.end(), 0.f);
        CHECK(hipGraphLaunch(exec, stream));
        CHECK(hipStreamSynchronize(stream));
        for (int i = 0; i < n; i++) EXPECT(out[i] == factor * in[i]);
        float ms = -1;
        CHECK(hipEventElapsedTime(&ms, begin, end));
        EXPECT(ms >= 0);
    };
    launch(5);

    // Parameters of one node, of a copy, and those of a whole graph of the same shape.
    params = node(reinterpret_cast<void *>(scale), new_args, n);
    CHECK(hipGraphExecKernelNodeSetParams(exec, left, &params));
    launch(8);
    CHECK(hipGraphExecMemcpyNodeSetParams1D(exec, copy, d[0], other.data(), n * 4, hipMemcpyHostToDevice));
    std::swap(in, other);
    launch(8);
    std::swap(in, other);
    hipGraph_t clone;
    CHECK(hipGraphClone(&clone, graph));
    CHECK(hipGraphExecDestroy(exec));
    CHECK(hipGraphInstantiate(&exec, clone, nullptr, nullptr, 0));
    launch(5);
    hipGraphNode_t cloned;
    CHECK(hipGraphNodeFindInClone(&cloned, right, clone));
    CHECK(hipGraphKernelNodeSetParams(cloned, &params));
    CHECK(hipGraphExecDestroy(exec));
    CHECK(hipGraphInstantiate(&exec, clone, nullptr, nullptr, 0));
    CHECK(hipGraphLaunch(exec, stream));
    CHECK(hipStreamSynchronize(stream));

    // An edge is removed and added again.
    CHECK(hipGraphRemoveDependencies(graph, &right, &join, 1));
    CHECK(hipGraphNodeGetDependencies(join, nullptr, &count));
    EXPECT(count == 1);
    CHECK(hipGraphAddDependencies(graph, &right, &join, 1));
    CHECK(hipGraphExecDestroy(exec));
    CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    launch(5);
    CHECK(hipGraphExecDestroy(exec));
    CHECK(hipGraphDestroy(clone));
    CHECK(hipGraphDestroy(graph));
    std::puts("ok");
}
