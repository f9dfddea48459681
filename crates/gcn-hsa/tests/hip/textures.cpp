// Textures of arrays: the nearest element and the filter, addresses beyond the edges, and elements of several components.
#include "common.h"

__global__ void read2d(hipTextureObject_t t, const float2 *at, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float>(t, at[i].x, at[i].y);
}

__global__ void read4(hipTextureObject_t t, float4 *out, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex2D<float4>(t, i % width + 0.5f, i / width + 0.5f);
}

static const int W = 19, H = 11;

static float element(const std::vector<float> &image, int x, int y) {
    x = x < 0 ? 0 : x >= W ? W - 1 : x;
    y = y < 0 ? 0 : y >= H ? H - 1 : y;
    return image[y * W + x];
}

int main() {
    std::vector<float> image(W * H);
    for (int i = 0; i < W * H; i++) image[i] = (i * 37 % 101) * 0.25f;
    hipArray_t array;
    auto format = hipCreateChannelDesc<float>();
    CHECK(hipMallocArray(&array, &format, W, H));
    CHECK(hipMemcpy2DToArray(array, 0, 0, image.data(), W * 4, W * 4, H, hipMemcpyHostToDevice));
    std::vector<float2> at;
    for (int i = 0; i < 500; i++) at.push_back({i * 7 % 230 / 10.0f - 2, i * 13 % 150 / 10.0f - 2});
    const int n = at.size();
    float2 *places;
    float *out;
    CHECK(hipMalloc(&places, n * sizeof(float2)));
    CHECK(hipMalloc(&out, n * sizeof(float4)));
    CHECK(hipMemcpy(places, at.data(), n * sizeof(float2), hipMemcpyHostToDevice));
    for (int linear = 0; linear < 2; linear++) {
        hipResourceDesc resource{};
        resource.resType = hipResourceTypeArray;
        resource.res.array.array = array;
        hipTextureDesc description{};
        description.addressMode[0] = description.addressMode[1] = hipAddressModeClamp;
        description.filterMode = linear ? hipFilterModeLinear : hipFilterModePoint;
        description.readMode = hipReadModeElementType;
        hipTextureObject_t texture;
        CHECK(hipCreateTextureObject(&texture, &resource, &description, nullptr));
        read2d<<<(n + 63) / 64, 64>>>(texture, places, out, n);
        std::vector<float> got(n);
        CHECK(hipMemcpy(got.data(), out, n * 4, hipMemcpyDeviceToHost));
        for (int i = 0; i < n; i++) {
            float x = at[i].x, y = at[i].y, want;
            if (linear) {
                float u = x - 0.5f, v = y - 0.5f;
                int x0 = std::floor(u), y0 = std::floor(v);
                float a = u - x0, b = v - y0;
                want = (1 - a) * (1 - b) * element(image, x0, y0) + a * (1 - b) * element(image, x0 + 1, y0) +
                       (1 - a) * b * element(image, x0, y0 + 1) + a * b * element(image, x0 + 1, y0 + 1);
                // Weights have eight bits.
                EXPECT(std::fabs(got[i] - want) < 0.25f);
            } else {
                want = element(image, std::floor(x), std::floor(y));
                EXPECT(got[i] == want);
            }
        }
        CHECK(hipDestroyTextureObject(texture));
    }
    CHECK(hipFreeArray(array));

    // Four bytes, read as floats from 0 to 1.
    std::vector<uchar4> bytes(16 * 8);
    for (int i = 0; i < 128; i++) bytes[i] = make_uchar4(i, 255 - i, 2 * i, 128);
    auto format4 = hipCreateChannelDesc(8, 8, 8, 8, hipChannelFormatKindUnsigned);
    CHECK(hipMallocArray(&array, &format4, 16, 8));
    CHECK(hipMemcpy2DToArray(array, 0, 0, bytes.data(), 64, 64, 8, hipMemcpyHostToDevice));
    hipResourceDesc resource{};
    resource.resType = hipResourceTypeArray;
    resource.res.array.array = array;
    hipTextureDesc description{};
    description.readMode = hipReadModeNormalizedFloat;
    hipTextureObject_t texture;
    CHECK(hipCreateTextureObject(&texture, &resource, &description, nullptr));
    float4 *out4 = reinterpret_cast<float4 *>(out);
    read4<<<2, 64>>>(texture, out4, 16);
    std::vector<float4> got(128);
    CHECK(hipMemcpy(got.data(), out4, 128 * sizeof(float4), hipMemcpyDeviceToHost));
    for (int i = 0; i < 128; i++) {
        EXPECT(std::fabs(got[i].x - bytes[i].x / 255.0f) < 1e-6f && std::fabs(got[i].y - bytes[i].y / 255.0f) < 1e-6f);
        EXPECT(std::fabs(got[i].z - bytes[i].z / 255.0f) < 1e-6f && std::fabs(got[i].w - 128 / 255.0f) < 1e-6f);
    }
    std::puts("ok");
}
