// The module interface: two modules with equal names, arguments in one buffer, variables, textures, occupancy; and
// errors for missing names and files.
#include "common.h"
#include <hip/hiprtc.h>
#include <string>

static const char *source = R"(
extern "C" __device__ int offset = OFFSET;
struct Pair { int low, high; };
extern "C" __global__ void fill(int *out, Pair pair, char step, long base) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = offset + pair.low + (i & 1) * pair.high + i * step + (int)base;
}
extern "C" __global__ void __launch_bounds__(128) look(hipTextureObject_t table, float *out) {
    out[threadIdx.x] = 2 * tex1Dfetch<float>(table, 127 - (int)threadIdx.x);
}
)";

static std::vector<char> build(const char *option, const std::string &arch) {
    hiprtcProgram program;
    EXPECT(hiprtcCreateProgram(&program, source, "source.cpp", 0, nullptr, nullptr) == HIPRTC_SUCCESS);
    const char *options[] = {arch.c_str(), option};
    hiprtcResult result = hiprtcCompileProgram(program, 2, options);
    size_t bytes = 0;
    if (result != HIPRTC_SUCCESS) {
        hiprtcGetProgramLogSize(program, &bytes);
        std::string log(bytes, 0);
        hiprtcGetProgramLog(program, &log[0]);
        std::printf("%s\n", log.c_str());
        std::exit(1);
    }
    EXPECT(hiprtcGetCodeSize(program, &bytes) == HIPRTC_SUCCESS);
    std::vector<char> code(bytes);
    EXPECT(hiprtcGetCode(program, code.data()) == HIPRTC_SUCCESS);
    EXPECT(hiprtcDestroyProgram(&program) == HIPRTC_SUCCESS);
    return code;
}

int main() {
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    std::string arch = std::string("--offload-arch=") + properties.gcnArchName;
    auto first = build("-DOFFSET=1000", arch), second = build("-DOFFSET=5", arch);
    hipModule_t modules[2];
    CHECK(hipModuleLoadData(&modules[0], first.data()));
    CHECK(hipModuleLoadDataEx(&modules[1], second.data(), 0, nullptr, nullptr));
    struct __attribute__((packed, aligned(8))) {
        int *out;
        int low, high;
        char step, none[7];
        long base;
    } arguments{};
    CHECK(hipMalloc(&arguments.out, 512 * 4));
    arguments.low = 3;
    arguments.high = 40;
    arguments.step = -2;
    arguments.base = 7;
    size_t size = sizeof arguments;
    void *config[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    for (int m = 0; m < 2; m++) {
        hipFunction_t fill;
        CHECK(hipModuleGetFunction(&fill, modules[m], "fill"));
        CHECK(hipModuleLaunchKernel(fill, 4, 1, 1, 128, 1, 1, 0, nullptr, nullptr, config));
        std::vector<int> out(512);
        CHECK(hipMemcpy(out.data(), arguments.out, 2048, hipMemcpyDeviceToHost));
        for (int i = 0; i < 512; i++) EXPECT(out[i] == (m ? 5 : 1000) + 3 + (i & 1) * 40 - 2 * i + 7);
        hipDeviceptr_t variable;
        size_t bytes = 0;
        CHECK(hipModuleGetGlobal(&variable, &bytes, modules[m], "offset"));
        int value = 0;
        CHECK(hipMemcpyDtoH(&value, variable, 4));
        EXPECT(bytes == 4 && value == (m ? 5 : 1000));
        int most = 0, blocks = 0;
        CHECK(hipFuncGetAttribute(&most, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, fill));
        CHECK(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
        EXPECT(most == 1024 && blocks > 0);
    }

    // A texture as a kernel's argument.
    hipFunction_t look;
    std::vector<float> in(128), out(128);
    for (int i = 0; i < 128; i++) in[i] = 0.5f * i;
    CHECK(hipMemcpy(arguments.out, in.data(), 512, hipMemcpyHostToDevice));
    hipResourceDesc resource{};
    resource.resType = hipResourceTypeLinear;
    resource.res.linear.devPtr = arguments.out;
    resource.res.linear.desc = hipCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = 512;
    hipTextureDesc description{};
    description.readMode = hipReadModeElementType;
    hipTextureObject_t table;
    CHECK(hipCreateTextureObject(&table, &resource, &description, nullptr));
    CHECK(hipModuleGetFunction(&look, modules[0], "look"));
    float *found;
    CHECK(hipMalloc(&found, 512));
    void *args[] = {&table, &found};
    CHECK(hipModuleLaunchKernel(look, 1, 1, 1, 128, 1, 1, 0, nullptr, args, nullptr));
    CHECK(hipMemcpy(out.data(), found, 512, hipMemcpyDeviceToHost));
    for (int i = 0; i < 128; i++) EXPECT(out[i] == 127 - i);
    CHECK(hipDestroyTextureObject(table));

    hipFunction_t none;
    hipDeviceptr_t nowhere;
    size_t bytes;
    EXPECT(hipModuleGetFunction(&none, modules[0], "none") == hipErrorNotFound);
    EXPECT(hipModuleGetGlobal(&nowhere, &bytes, modules[0], "none") == hipErrorNotFound);
    hipModule_t bad;
    EXPECT(hipModuleLoad(&bad, "/nonexistent.co") == hipErrorFileNotFound);
    (void)hipGetLastError();
    for (auto &module : modules) CHECK(hipModuleUnload(module));
    std::puts("ok");
}
