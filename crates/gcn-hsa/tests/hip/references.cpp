// Texture references, the older form of textures: bound to linear memory, pitched memory and arrays.
#include "common.h"

texture<float, hipTextureType1D, hipReadModeElementType> line;
texture<int4, hipTextureType1D, hipReadModeElementType> quads;
texture<float, hipTextureType2D, hipReadModeElementType> plane;
texture<unsigned char, hipTextureType2D, hipReadModeNormalizedFloat> bytes;

__global__ void gather(const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch(line, index[i]);
}

__global__ void sums(int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int4 q = tex1Dfetch(quads, i);
    out[i] = q.x + 10 * q.y + 100 * q.z + 1000 * q.w;
}

__global__ void transpose(float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[x * height + y] = tex2D(plane, x + 0.5f, y + 0.5f);
}

__global__ void blur(float *out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int d = -1; d <= 1; d++) sum += tex2D(bytes, x + d + 0.5f, y + 0.5f);
    out[y * width + x] = sum;
}

int main() {
    const int n = 1000, width = 70, height = 33;
    std::vector<float> values(n), found(n);
    std::vector<int> index(n), totals(n / 4);
    for (int i = 0; i < n; i++) {
        values[i] = 0.25f * i - 3;
        index[i] = (i * 37) % n;
    }
    float *in, *out;
    int *where;
    CHECK(hipMalloc(&in, n * 4));
    CHECK(hipMalloc(&out, width * height * 4));
    CHECK(hipMalloc(&where, n * 4));
    CHECK(hipMemcpy(in, values.data(), n * 4, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(where, index.data(), n * 4, hipMemcpyHostToDevice));
    size_t offset = 1;
    CHECK(hipBindTexture(&offset, line, in, n * 4));
    EXPECT(offset == 0);
    gather<<<(n + 63) / 64, 64>>>(where, out, n);
    CHECK(hipMemcpy(found.data(), out, n * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(found[i] == values[index[i]]);
    CHECK(hipUnbindTexture(line));

    CHECK(hipBindTexture(&offset, quads, where, n * 4));
    sums<<<1, n / 4>>>(reinterpret_cast<int *>(out), n / 4);
    CHECK(hipMemcpy(totals.data(), out, n, hipMemcpyDeviceToHost));
    for (int i = 0; i < n / 4; i++) {
        const int *q = &index[4 * i];
        EXPECT(totals[i] == q[0] + 10 * q[1] + 100 * q[2] + 1000 * q[3]);
    }

    std::vector<float> picture(width * height), turned(width * height);
    for (int i = 0; i < width * height; i++) picture[i] = std::sin(0.1f * i);
    hipArray *array;
    hipChannelFormatDesc format = hipCreateChannelDesc<float>();
    CHECK(hipMallocArray(&array, &format, width, height));
    CHECK(hipMemcpy2DToArray(array, 0, 0, picture.data(), width * 4, width * 4, height, hipMemcpyHostToDevice));
    plane.filterMode = hipFilterModePoint;
    plane.normalized = 0;
    CHECK(hipBindTextureToArray(plane, array, format));
    dim3 block(16, 8), grid((width + 15) / 16, (height + 7) / 8);
    transpose<<<grid, block>>>(out, width, height);
    CHECK(hipMemcpy(turned.data(), out, width * height * 4, hipMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) EXPECT(turned[x * height + y] == picture[y * width + x]);
    CHECK(hipUnbindTexture(plane));
    CHECK(hipFreeArray(array));

    std::vector<unsigned char> grey(width * height);
    for (int i = 0; i < width * height; i++) grey[i] = i * 31;
    unsigned char *pitched;
    size_t pitch;
    CHECK(hipMallocPitch(reinterpret_cast<void **>(&pitched), &pitch, width, height));
    CHECK(hipMemcpy2D(pitched, pitch, grey.data(), width, width, height, hipMemcpyHostToDevice));
    bytes.addressMode[0] = bytes.addressMode[1] = hipAddressModeClamp;
    bytes.filterMode = hipFilterModePoint;
    CHECK(hipBindTexture2D(&offset, bytes, pitched, hipCreateChannelDesc<unsigned char>(), width, height, pitch));
    blur<<<grid, block>>>(out, width, height);
    CHECK(hipMemcpy(turned.data(), out, width * height * 4, hipMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float sum = 0;
            for (int d = -1; d <= 1; d++) {
                int at = std::min(std::max(x + d, 0), width - 1);
                sum += grey[y * width + at] / 255.0f;
            }
            EXPECT(std::fabs(turned[y * width + x] - sum) < 1e-6f);
        }
    std::puts("ok");
}
