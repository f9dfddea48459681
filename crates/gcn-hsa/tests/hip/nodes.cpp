// Graphs of nodes of every kind: fills, copies, functions of the host, graphs within graphs; changed between launches.
#include "common.h"

__global__ void add(int *p, int n, int what) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += what;
}

__global__ void sum(const int *a, const int *b, int *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

static void count(void *data) { ++*static_cast<int *>(data); }

int main() {
    int n = 2000;
    int *a, *b, *c;
    CHECK(hipMalloc(&a, n * 4));
    CHECK(hipMalloc(&b, n * 4));
    CHECK(hipMalloc(&c, n * 4));
    std::vector<int> in(n), out(n);
    for (int i = 0; i < n; i++) in[i] = i;

    // A diamond: a is filled and b is copied concurrently, then both are added, then the host is called.
    hipGraph_t graph;
    CHECK(hipGraphCreate(&graph, 0));
    hipGraphNode_t fill, copy, kernel, back, host, more;
    hipMemsetParams set{};
    set.dst = a;
    set.elementSize = 4;
    set.value = 11;
    set.width = n;
    set.height = 1;
    CHECK(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
    CHECK(hipGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, b, in.data(), n * 4, hipMemcpyHostToDevice));
    int what = 5;
    void *add_args[] = {&a, &n, &what};
    hipKernelNodeParams add_params{};
    add_params.func = reinterpret_cast<void *>(add);
    add_params.gridDim = dim3((n + 127) / 128);
    add_params.blockDim = dim3(128);
    add_params.kernelParams = add_args;
    CHECK(hipGraphAddKernelNode(&more, graph, &fill, 1, &add_params));
    void *sum_args[] = {&a, &b, &c, &n};
    hipKernelNodeParams sum_params = add_params;
    sum_params.func = reinterpret_cast<void *>(sum);
    sum_params.kernelParams = sum_args;
    hipGraphNode_t both[] = {more, copy};
    CHECK(hipGraphAddKernelNode(&kernel, graph, both, 2, &sum_params));
    CHECK(hipGraphAddMemcpyNode1D(&back, graph, &kernel, 1, out.data(), c, n * 4, hipMemcpyDeviceToHost));
    int told = 0;
    hipHostNodeParams call{};
    call.fn = count;
    call.userData = &told;
    CHECK(hipGraphAddHostNode(&host, graph, &back, 1, &call));
    size_t nodes = 0, roots = 0;
    CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
    CHECK(hipGraphGetRootNodes(graph, nullptr, &roots));
    EXPECT(nodes == 6 && roots == 2);
    hipGraphExec_t run;
    CHECK(hipGraphInstantiate(&run, graph, nullptr, nullptr, 0));
    hipStream_t s;
    CHECK(hipStreamCreate(&s));
    for (int round = 1; round <= 3; round++) {
        CHECK(hipGraphLaunch(run, s));
        CHECK(hipStreamSynchronize(s));
        EXPECT(told == round);
        for (int i = 0; i < n; i++) EXPECT(out[i] == i + 16);
    }
    // Another argument of a kernel of the instantiated graph.
    what = 100;
    CHECK(hipGraphExecKernelNodeSetParams(run, more, &add_params));
    CHECK(hipGraphLaunch(run, s));
    CHECK(hipStreamSynchronize(s));
    for (int i = 0; i < n; i++) EXPECT(out[i] == i + 111);

    // The same graph as a part of another one.
    hipGraph_t outer;
    CHECK(hipGraphCreate(&outer, 0));
    hipGraphNode_t child, last, again;
    CHECK(hipGraphAddChildGraphNode(&child, outer, nullptr, 0, graph));
    int thousand = 1000;
    void *last_args[] = {&c, &n, &thousand};
    hipKernelNodeParams last_params = add_params;
    last_params.kernelParams = last_args;
    CHECK(hipGraphAddKernelNode(&last, outer, &child, 1, &last_params));
    CHECK(hipGraphAddMemcpyNode1D(&again, outer, &last, 1, out.data(), c, n * 4, hipMemcpyDeviceToHost));
    hipGraphExec_t outer_run;
    CHECK(hipGraphInstantiate(&outer_run, outer, nullptr, nullptr, 0));
    CHECK(hipGraphLaunch(outer_run, s));
    CHECK(hipStreamSynchronize(s));
    EXPECT(told == 5);
    for (int i = 0; i < n; i++) EXPECT(out[i] == i + 16 + 1000 || out[i] == i + 111 + 1000);

    // Two streams that fork and join while they are captured.
    hipStream_t t;
    CHECK(hipStreamCreate(&t));
    hipEvent_t fork, join;
    CHECK(hipEventCreate(&fork));
    CHECK(hipEventCreate(&join));
    hipGraph_t captured;
    CHECK(hipStreamBeginCapture(s, hipStreamCaptureModeGlobal));
    CHECK(hipMemsetAsync(a, 0, n * 4, s));
    CHECK(hipEventRecord(fork, s));
    CHECK(hipStreamWaitEvent(t, fork, 0));
    add<<<(n + 127) / 128, 128, 0, s>>>(a, n, 1);
    CHECK(hipMemcpyAsync(b, in.data(), n * 4, hipMemcpyHostToDevice, t));
    CHECK(hipEventRecord(join, t));
    CHECK(hipStreamWaitEvent(s, join, 0));
    sum<<<(n + 127) / 128, 128, 0, s>>>(a, b, c, n);
    CHECK(hipMemcpyAsync(out.data(), c, n * 4, hipMemcpyDeviceToHost, s));
    CHECK(hipStreamEndCapture(s, &captured));
    hipGraphExec_t captured_run;
    CHECK(hipGraphInstantiate(&captured_run, captured, nullptr, nullptr, 0));
    for (int round = 0; round < 20; round++) {
        for (int &v : out) v = 0;
        CHECK(hipGraphLaunch(captured_run, s));
        CHECK(hipStreamSynchronize(s));
        for (int i = 0; i < n; i++) EXPECT(out[i] == i + 1);
    }
    CHECK(hipGraphExecDestroy(run));
    CHECK(hipGraphExecDestroy(outer_run));
    CHECK(hipGraphExecDestroy(captured_run));
    CHECK(hipGraphDestroy(outer));
    CHECK(hipGraphDestroy(graph));
    CHECK(hipGraphDestroy(captured));
    std::puts("ok");
}
