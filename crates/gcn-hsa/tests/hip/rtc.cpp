// Programs that are compiled while this one runs: options, headers, templates, errors; and ways to launch their kernels.
#include "common.h"
#include <hip/hip_ext.h>
#include <hip/hiprtc.h>
#include <cstring>
#include <string>

static std::string architecture() {
    hipDeviceProp_t p;
    CHECK(hipGetDeviceProperties(&p, 0));
    return std::string("--gpu-architecture=") + p.gcnArchName;
}

static const char *SOURCE = R"(
#include "factor.h"
template <typename T> __global__ void scaled(T *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = p[i] * FACTOR + OFFSET;
}
__constant__ float table[8];
extern "C" __global__ void looked_up(float *p, int n) {
    extern __shared__ float lds[];
    int i = threadIdx.x;
    lds[i] = i < n ? p[i] : 0;
    __syncthreads();
    if (i < n) p[i] = lds[n - 1 - i] + table[i % 8];
}
)";

int main() {
    const char *header = "#define FACTOR 3\n", *header_name = "factor.h";
    hiprtcProgram program;
    EXPECT(hiprtcCreateProgram(&program, SOURCE, "scaled.hip", 1, &header, &header_name) == HIPRTC_SUCCESS);
    const char *names[] = {"scaled<float>", "scaled<int>"};
    for (auto name : names) EXPECT(hiprtcAddNameExpression(program, name) == HIPRTC_SUCCESS);
    auto arch = architecture();
    const char *options[] = {arch.c_str(), "-DOFFSET=2", "-O2"};
    EXPECT(hiprtcCompileProgram(program, 3, options) == HIPRTC_SUCCESS);
    size_t size;
    EXPECT(hiprtcGetCodeSize(program, &size) == HIPRTC_SUCCESS);
    std::vector<char> code(size);
    EXPECT(hiprtcGetCode(program, code.data()) == HIPRTC_SUCCESS);
    hipModule_t module;
    CHECK(hipModuleLoadData(&module, code.data()));

    int n = 1000;
    void *p;
    CHECK(hipMalloc(&p, n * 4));
    for (int which = 0; which < 2; which++) {
        const char *lowered;
        EXPECT(hiprtcGetLoweredName(program, names[which], &lowered) == HIPRTC_SUCCESS);
        hipFunction_t f;
        CHECK(hipModuleGetFunction(&f, module, lowered));
        std::vector<float> floats(n);
        std::vector<int> ints(n);
        for (int i = 0; i < n; i++) floats[i] = ints[i] = i - 500;
        const void *from = which ? static_cast<void *>(ints.data()) : floats.data();
        CHECK(hipMemcpy(p, from, n * 4, hipMemcpyHostToDevice));
        // Arguments as one block of bytes.
        struct {
            void *p;
            int n;
        } block = {p, n};
        size_t bytes = sizeof block;
        void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &block, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END};
        CHECK(hipModuleLaunchKernel(f, (n + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
        CHECK(hipMemcpy(floats.data(), p, n * 4, hipMemcpyDeviceToHost));
        std::memcpy(ints.data(), floats.data(), n * 4);
        for (int i = 0; i < n; i++) EXPECT(which ? ints[i] == 3 * (i - 500) + 2 : floats[i] == 3.0f * (i - 500) + 2);
    }
    EXPECT(hiprtcDestroyProgram(&program) == HIPRTC_SUCCESS);

    // A launch that counts work-items, with events around it.
    hipFunction_t f;
    CHECK(hipModuleGetFunction(&f, module, "looked_up"));
    hipDeviceptr_t table;
    size_t bytes;
    CHECK(hipModuleGetGlobal(&table, &bytes, module, "table"));
    EXPECT(bytes == 32);
    float values[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    CHECK(hipMemcpyHtoD(table, values, sizeof values));
    std::vector<float> v(200), out(200);
    for (int i = 0; i < 200; i++) v[i] = i;
    CHECK(hipMemcpy(p, v.data(), 800, hipMemcpyHostToDevice));
    int many = 200;
    void *args[] = {&p, &many};
    hipEvent_t begun, ended;
    CHECK(hipEventCreate(&begun));
    CHECK(hipEventCreate(&ended));
    CHECK(hipExtModuleLaunchKernel(f, 256, 1, 1, 256, 1, 1, 1024, nullptr, args, nullptr, begun, ended));
    CHECK(hipEventSynchronize(ended));
    float ms = -1;
    CHECK(hipEventElapsedTime(&ms, begun, ended));
    EXPECT(ms >= 0 && ms < 10000);
    CHECK(hipMemcpy(out.data(), p, 800, hipMemcpyDeviceToHost));
    for (int i = 0; i < 200; i++) EXPECT(out[i] == v[199 - i] + values[i % 8]);
    int blocks = 0, grid = 0, block = 0;
    CHECK(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 256, 1024));
    CHECK(hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, f, 0, 0));
    EXPECT(blocks > 0 && grid > 0 && block >= 64);
    int registers = 0;
    CHECK(hipFuncGetAttribute(&registers, HIP_FUNC_ATTRIBUTE_NUM_REGS, f));
    EXPECT(registers > 0);
    CHECK(hipModuleUnload(module));

    // An error is reported with its line.
    EXPECT(hiprtcCreateProgram(&program, "\n__global__ void f() { nonsense; }\n", "bad.hip", 0, nullptr, nullptr) == HIPRTC_SUCCESS);
    EXPECT(hiprtcCompileProgram(program, 1, options) == HIPRTC_ERROR_COMPILATION);
    EXPECT(hiprtcGetProgramLogSize(program, &size) == HIPRTC_SUCCESS && size > 1);
    std::string log(size, 0);
    EXPECT(hiprtcGetProgramLog(program, &log[0]) == HIPRTC_SUCCESS);
    EXPECT(log.find("nonsense") != std::string::npos && log.find(":2:") != std::string::npos);
    EXPECT(hiprtcDestroyProgram(&program) == HIPRTC_SUCCESS);
    char garbage[256] = "no code";
    EXPECT(hipModuleLoadData(&module, garbage) != hipSuccess);
    EXPECT(hipModuleLoad(&module, "/nonexistent.co") != hipSuccess);
    std::puts("ok");
}
