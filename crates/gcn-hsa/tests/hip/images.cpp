// Textures and surfaces of every shape: linear memory, rows, arrays of one, two and three dimensions, layers.
#include "common.h"

__global__ void fetch1d(hipTextureObject_t t, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<float>(t, i);
}

__global__ void read1d(hipTextureObject_t t, const float *at, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1D<float>(t, at[i]);
}

__global__ void read2d(hipTextureObject_t t, const float2 *at, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float>(t, at[i].x, at[i].y);
}

__global__ void read3d(hipTextureObject_t t, const float4 *at, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex3D<float>(t, at[i].x, at[i].y, at[i].z);
}

__global__ void read_layers(hipTextureObject_t t, float *out, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x, layer = blockIdx.y;
    if (x < width) out[(layer * height + y) * width + x] = tex2DLayered<float>(t, x + 0.5f, y + 0.5f, layer);
}

__global__ void read_shorts(hipTextureObject_t t, short2 *out, int width) {
    int i = threadIdx.x;
    out[i] = tex2D<short2>(t, i % width + 0.5f, i / width + 0.5f);
}

__global__ void surface1d(hipSurfaceObject_t s, int n) {
    int i = threadIdx.x;
    if (i < n) {
        float v;
        surf1Dread(&v, s, i * 4);
        surf1Dwrite(3 * v + 1, s, i * 4);
    }
}

__global__ void surface2d(hipSurfaceObject_t from, hipSurfaceObject_t to, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width && y < height) {
        float4 v;
        surf2Dread(&v, from, x * 16, y);
        surf2Dwrite(make_float4(v.w, v.z + 1, v.y, v.x), to, (width - 1 - x) * 16, y);
    }
}

__global__ void surface3d(hipSurfaceObject_t s, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    if (x < width && y < height) {
        float v;
        surf3Dread(&v, s, x * 4, y, z);
        surf3Dwrite(v - 1000, s, x * 4, y, z);
    }
}

static int clamped(int x, int n) { return x < 0 ? 0 : x >= n ? n - 1 : x; }
static int wrapped(int x, int n) { return ((x % n) + n) % n; }
static int mirrored(int x, int n) {
    x = wrapped(x, 2 * n);
    return x < n ? x : 2 * n - 1 - x;
}

static hipTextureObject_t texture_of(const hipResourceDesc &resource, hipTextureAddressMode mode, bool linear,
                                     bool normalized, hipTextureReadMode read = hipReadModeElementType) {
    hipTextureDesc d{};
    for (auto &m : d.addressMode) m = mode;
    d.filterMode = linear ? hipFilterModeLinear : hipFilterModePoint;
    d.readMode = read;
    d.normalizedCoords = normalized;
    hipTextureObject_t t;
    CHECK(hipCreateTextureObject(&t, &resource, &d, nullptr));
    return t;
}

static hipResourceDesc of_array(hipArray_t array) {
    hipResourceDesc r{};
    r.resType = hipResourceTypeArray;
    r.res.array.array = array;
    return r;
}

template <typename T> static std::vector<T> back(const void *from, size_t n) {
    std::vector<T> out(n);
    CHECK(hipMemcpy(out.data(), from, n * sizeof(T), hipMemcpyDeviceToHost));
    return out;
}

static void *room() {
    static void *p = nullptr;
    if (!p) CHECK(hipMalloc(&p, 1 << 20));
    return p;
}

template <typename T> static T *on_device(const std::vector<T> &v) {
    T *p;
    CHECK(hipMalloc(&p, v.size() * sizeof(T)));
    CHECK(hipMemcpy(p, v.data(), v.size() * sizeof(T), hipMemcpyHostToDevice));
    return p;
}

static std::vector<float> numbers(int n) {
    std::vector<float> v(n);
    for (int i = 0; i < n; i++) v[i] = (i * 53 % 211) * 0.5f;
    return v;
}

static void linear_memory() {
    const int n = 1000;
    auto v = numbers(n);
    float *p = on_device(v), *out = static_cast<float *>(room());
    hipResourceDesc r{};
    r.resType = hipResourceTypeLinear;
    r.res.linear.devPtr = p;
    r.res.linear.desc = hipCreateChannelDesc<float>();
    r.res.linear.sizeInBytes = n * 4;
    auto t = texture_of(r, hipAddressModeClamp, false, false);
    fetch1d<<<(n + 63) / 64, 64>>>(t, out, n);
    auto got = back<float>(out, n);
    for (int i = 0; i < n; i++) EXPECT(got[i] == v[i]);
    CHECK(hipDestroyTextureObject(t));
    CHECK(hipFree(p));
}

static void rows() {
    const int w = 33, h = 9;
    auto v = numbers(w * h);
    float *p, *out = static_cast<float *>(room());
    size_t pitch;
    CHECK(hipMallocPitch(reinterpret_cast<void **>(&p), &pitch, w * 4, h));
    CHECK(hipMemcpy2D(p, pitch, v.data(), w * 4, w * 4, h, hipMemcpyHostToDevice));
    hipResourceDesc r{};
    r.resType = hipResourceTypePitch2D;
    r.res.pitch2D.devPtr = p;
    r.res.pitch2D.desc = hipCreateChannelDesc<float>();
    r.res.pitch2D.width = w;
    r.res.pitch2D.height = h;
    r.res.pitch2D.pitchInBytes = pitch;
    auto t = texture_of(r, hipAddressModeClamp, false, false);
    std::vector<float2> at;
    for (int i = 0; i < 400; i++) at.push_back({i * 11 % 400 / 10.0f - 3, i * 17 % 130 / 10.0f - 2});
    float2 *places = on_device(at);
    read2d<<<7, 64>>>(t, places, out, at.size());
    auto got = back<float>(out, at.size());
    for (size_t i = 0; i < at.size(); i++)
        EXPECT(got[i] == v[clamped(std::floor(at[i].y), h) * w + clamped(std::floor(at[i].x), w)]);
    CHECK(hipDestroyTextureObject(t));
    CHECK(hipFree(places));
    CHECK(hipFree(p));
}

static void one_dimension() {
    const int w = 61;
    auto v = numbers(w);
    hipArray_t array;
    auto format = hipCreateChannelDesc<float>();
    CHECK(hipMallocArray(&array, &format, w));
    CHECK(hipMemcpyToArray(array, 0, 0, v.data(), w * 4, hipMemcpyHostToDevice));
    std::vector<float> at;
    // Except where rounding selects one of two elements.
    for (int i = 0; i < 300; i++) at.push_back((i - 100) / 61.0f + 0.004f);
    float *places = on_device(at), *out = static_cast<float *>(room());
    struct {
        hipTextureAddressMode mode;
        int (*index)(int, int);
    } modes[] = {{hipAddressModeClamp, clamped}, {hipAddressModeWrap, wrapped}, {hipAddressModeMirror, mirrored}};
    for (auto &m : modes) {
        auto t = texture_of(of_array(array), m.mode, false, true);
        read1d<<<5, 64>>>(t, places, out, at.size());
        auto got = back<float>(out, at.size());
        for (size_t i = 0; i < at.size(); i++) EXPECT(got[i] == v[m.index(std::floor(at[i] * w), w)]);
        CHECK(hipDestroyTextureObject(t));
    }
    // The border is 0.
    auto t = texture_of(of_array(array), hipAddressModeBorder, false, true);
    read1d<<<5, 64>>>(t, places, out, at.size());
    auto got = back<float>(out, at.size());
    for (size_t i = 0; i < at.size(); i++) {
        int x = std::floor(at[i] * w);
        EXPECT(got[i] == (x < 0 || x >= w ? 0 : v[x]));
    }
    CHECK(hipDestroyTextureObject(t));
    CHECK(hipFree(places));
    CHECK(hipFreeArray(array));
}

static hipArray_t array3d(const void *from, hipChannelFormatDesc format, int w, int h, int d, unsigned flags) {
    hipArray_t array;
    CHECK(hipMalloc3DArray(&array, &format, make_hipExtent(w, h, d), flags));
    hipMemcpy3DParms copy{};
    copy.srcPtr = make_hipPitchedPtr(const_cast<void *>(from), w * 4, w, h);
    copy.dstArray = array;
    copy.extent = make_hipExtent(w, h, d);
    copy.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&copy));
    return array;
}

static void three_dimensions() {
    const int w = 13, h = 7, d = 5;
    auto v = numbers(w * h * d);
    hipArray_t array = array3d(v.data(), hipCreateChannelDesc<float>(), w, h, d, hipArrayDefault);
    std::vector<float4> at;
    for (int i = 0; i < 500; i++)
        at.push_back({i * 7 % 170 / 10.0f - 2, i * 13 % 110 / 10.0f - 2, i * 19 % 90 / 10.0f - 2, 0});
    float4 *places = on_device(at);
    float *out = static_cast<float *>(room());
    auto element = [&](int x, int y, int z) {
        return v[(clamped(z, d) * h + clamped(y, h)) * w + clamped(x, w)];
    };
    for (int linear = 0; linear < 2; linear++) {
        auto t = texture_of(of_array(array), hipAddressModeClamp, linear, false);
        read3d<<<8, 64>>>(t, places, out, at.size());
        auto got = back<float>(out, at.size());
        for (size_t i = 0; i < at.size(); i++) {
            if (!linear) {
                EXPECT(got[i] == element(std::floor(at[i].x), std::floor(at[i].y), std::floor(at[i].z)));
                continue;
            }
            float u[3] = {at[i].x - 0.5f, at[i].y - 0.5f, at[i].z - 0.5f}, want = 0;
            for (int corner = 0; corner < 8; corner++) {
                float weight = 1;
                int p[3];
                for (int k = 0; k < 3; k++) {
                    float low = std::floor(u[k]), part = u[k] - low;
                    int up = corner >> k & 1;
                    p[k] = low + up;
                    weight *= up ? part : 1 - part;
                }
                want += weight * element(p[0], p[1], p[2]);
            }
            // Weights have eight bits.
            EXPECT(std::fabs(got[i] - want) < 1.5f);
        }
        CHECK(hipDestroyTextureObject(t));
    }
    CHECK(hipFree(places));
    CHECK(hipFreeArray(array));
}

static void layers() {
    const int w = 20, h = 6, n = 4;
    auto v = numbers(w * h * n);
    hipArray_t array = array3d(v.data(), hipCreateChannelDesc<float>(), w, h, n, hipArrayLayered);
    auto t = texture_of(of_array(array), hipAddressModeClamp, false, false);
    float *out = static_cast<float *>(room());
    read_layers<<<dim3(h, n), 64>>>(t, out, w, h);
    auto got = back<float>(out, w * h * n);
    for (int i = 0; i < w * h * n; i++) EXPECT(got[i] == v[i]);
    CHECK(hipDestroyTextureObject(t));
    CHECK(hipFreeArray(array));
}

static void shorts() {
    const int w = 16, h = 4;
    std::vector<short2> v(w * h);
    for (int i = 0; i < w * h; i++) v[i] = make_short2(i * 300 - 9000, -i);
    hipArray_t array;
    auto format = hipCreateChannelDesc<short2>();
    CHECK(hipMallocArray(&array, &format, w, h));
    CHECK(hipMemcpy2DToArray(array, 0, 0, v.data(), w * 4, w * 4, h, hipMemcpyHostToDevice));
    auto t = texture_of(of_array(array), hipAddressModeClamp, false, false);
    short2 *out = static_cast<short2 *>(room());
    read_shorts<<<1, w * h>>>(t, out, w);
    auto got = back<short2>(out, w * h);
    for (int i = 0; i < w * h; i++) EXPECT(got[i].x == v[i].x && got[i].y == v[i].y);
    std::vector<short2> again(w * h);
    CHECK(hipMemcpy2DFromArray(again.data(), w * 4, array, 0, 0, w * 4, h, hipMemcpyDeviceToHost));
    for (int i = 0; i < w * h; i++) EXPECT(again[i].x == v[i].x && again[i].y == v[i].y);
    CHECK(hipDestroyTextureObject(t));
    CHECK(hipFreeArray(array));
}

static hipSurfaceObject_t surface_of(hipArray_t array) {
    auto r = of_array(array);
    hipSurfaceObject_t s;
    CHECK(hipCreateSurfaceObject(&s, &r));
    return s;
}

static void surfaces() {
    const int n = 50;
    // HIP 5.2 converts integers to floats here: surfaces of them hold other values.
    std::vector<float> squares(n);
    for (int i = 0; i < n; i++) squares[i] = i * i;
    hipArray_t a, b;
    auto format = hipCreateChannelDesc<float>();
    CHECK(hipMallocArray(&a, &format, n, 0));
    CHECK(hipMemcpyToArray(a, 0, 0, squares.data(), n * 4, hipMemcpyHostToDevice));
    auto s = surface_of(a);
    surface1d<<<1, 64>>>(s, n);
    CHECK(hipDeviceSynchronize());
    std::vector<float> got(n);
    CHECK(hipMemcpyFromArray(got.data(), a, 0, 0, n * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) EXPECT(got[i] == 3 * i * i + 1);
    CHECK(hipDestroySurfaceObject(s));
    CHECK(hipFreeArray(a));

    const int w = 24, h = 10;
    auto v = numbers(w * h * 4);
    auto format4 = hipCreateChannelDesc<float4>();
    CHECK(hipMallocArray(&a, &format4, w, h));
    CHECK(hipMallocArray(&b, &format4, w, h));
    CHECK(hipMemcpy2DToArray(a, 0, 0, v.data(), w * 16, w * 16, h, hipMemcpyHostToDevice));
    auto from = surface_of(a), to = surface_of(b);
    surface2d<<<h, 64>>>(from, to, w, h);
    CHECK(hipDeviceSynchronize());
    std::vector<float> out(w * h * 4);
    CHECK(hipMemcpy2DFromArray(out.data(), w * 16, b, 0, 0, w * 16, h, hipMemcpyDeviceToHost));
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const float *in = &v[(y * w + x) * 4], *now = &out[(y * w + w - 1 - x) * 4];
            EXPECT(now[0] == in[3] && now[1] == in[2] + 1 && now[2] == in[1] && now[3] == in[0]);
        }
    CHECK(hipDestroySurfaceObject(from));
    CHECK(hipDestroySurfaceObject(to));
    CHECK(hipFreeArray(a));
    CHECK(hipFreeArray(b));

    const int d = 3;
    std::vector<float> cube(w * h * d);
    for (int i = 0; i < w * h * d; i++) cube[i] = 7 * i;
    a = array3d(cube.data(), format, w, h, d, hipArrayDefault);
    s = surface_of(a);
    surface3d<<<dim3(h, d), 64>>>(s, w, h);
    CHECK(hipDeviceSynchronize());
    std::vector<float> now(w * h * d);
    hipMemcpy3DParms copy{};
    copy.srcArray = a;
    copy.dstPtr = make_hipPitchedPtr(now.data(), w * 4, w, h);
    copy.extent = make_hipExtent(w, h, d);
    copy.kind = hipMemcpyDeviceToHost;
    CHECK(hipMemcpy3D(&copy));
    for (int i = 0; i < w * h * d; i++) EXPECT(now[i] == 7 * i - 1000);
    CHECK(hipDestroySurfaceObject(s));
    CHECK(hipFreeArray(a));
}

int main() {
    linear_memory();
    rows();
    one_dimension();
    three_dimensions();
    layers();
    shorts();
    surfaces();
    std::puts("ok");
}
