// The module interface, with a program that is compiled while this one runs.
#include "common.h"
#include <hip/hiprtc.h>
#include <string>

static const char *SOURCE = R"(
extern "C" __device__ int calls;
__device__ int calls = 3;
extern "C" __global__ void poly(const float *x, float *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] * x[i] + 1.0f;
    if (i == 0) calls += 1;
}
)";

int main() {
    hiprtcProgram program;
    EXPECT(hiprtcCreateProgram(&program, SOURCE, "poly.hip", 0, nullptr, nullptr) == HIPRTC_SUCCESS);
    hipDeviceProp_t p;
    CHECK(hipGetDeviceProperties(&p, 0));
    std::string arch = std::string("--gpu-architecture=") + p.gcnArchName;
    const char *options[] = {arch.c_str()};
    EXPECT(hiprtcCompileProgram(program, 1, options) == HIPRTC_SUCCESS);
    size_t size;
    EXPECT(hiprtcGetCodeSize(program, &size) == HIPRTC_SUCCESS);
    std::vector<char> code(size);
    EXPECT(hiprtcGetCode(program, code.data()) == HIPRTC_SUCCESS);
    hiprtcDestroyProgram(&program);

    for (int round = 0; round < 3; round++) {
        hipModule_t module;
        hipFunction_t function;
        CHECK(hipModuleLoadData(&module, code.data()));
        CHECK(hipModuleGetFunction(&function, module, "poly"));
        EXPECT(hipModuleGetFunction(&function, module, "none") != hipSuccess);
        CHECK(hipModuleGetFunction(&function, module, "poly"));
        int n = 1000;
        float a = 2.5f, *x, *y;
        CHECK(hipMalloc(&x, n * 4));
        CHECK(hipMalloc(&y, n * 4));
        std::vector<float> h(n);
        for (int i = 0; i < n; i++) h[i] = i * 0.125f;
        CHECK(hipMemcpy(x, h.data(), n * 4, hipMemcpyHostToDevice));
        void *args[] = {&x, &y, &a, &n};
        CHECK(hipModuleLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, nullptr, args, nullptr));
        std::vector<float> out(n);
        CHECK(hipMemcpy(out.data(), y, n * 4, hipMemcpyDeviceToHost));
        for (int i = 0; i < n; i++) EXPECT(std::fabs(out[i] - (a * h[i] * h[i] + 1)) <= 1e-5f * out[i]);
        hipDeviceptr_t at;
        size_t bytes;
        CHECK(hipModuleGetGlobal(&at, &bytes, module, "calls"));
        int calls = 0;
        EXPECT(bytes == 4);
        CHECK(hipMemcpyDtoH(&calls, at, 4));
        EXPECT(calls == 4);
        CHECK(hipFree(x));
        CHECK(hipFree(y));
        CHECK(hipModuleUnload(module));
    }
    std::puts("ok");
}
