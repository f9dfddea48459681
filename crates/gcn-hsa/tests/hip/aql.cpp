// Handwritten packets, beside HIP: tests of the runtime's own interface, and of invalid packets and handles, selected by
// the first argument.
#include "common.h"
#include <atomic>
#include <cstring>
#include <hip/hiprtc.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <string>
#include <thread>

#define HSA(call)                                                                        \
    do {                                                                                 \
        hsa_status_t status_ = (call);                                                   \
        if (status_ != HSA_STATUS_SUCCESS) {                                             \
            std::printf("%s:%d: %s: %#x\n", __FILE__, __LINE__, #call, status_);         \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

static const char *SOURCE = R"(
extern "C" __global__ void fill(int *p, int v) { p[blockIdx.x * 64 + threadIdx.x] = v; }
extern "C" __global__ void add(int *p, int v) { p[blockIdx.x * 64 + threadIdx.x] += v; }
extern "C" __global__ void wait_for(volatile int *flag, int v) { while (*flag != v) {} }
)";

static hsa_agent_t gpu{}, cpu{};
static hsa_amd_memory_pool_t arguments{}, device{};
static hsa_executable_t executable{};

static hsa_status_t take_agent(hsa_agent_t agent, void *) {
    hsa_device_type_t type;
    HSA(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    (type == HSA_DEVICE_TYPE_GPU ? gpu : cpu) = agent;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t take_pool(hsa_amd_memory_pool_t pool, void *data) {
    hsa_amd_segment_t segment;
    HSA(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
    if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    uint32_t flags;
    HSA(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    if (!data) device = pool;
    else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) arguments = pool;
    return HSA_STATUS_SUCCESS;
}

struct Kernel {
    uint64_t object;
    uint32_t group, scratch, bytes;
};

static Kernel kernel(const char *name) {
    hsa_executable_symbol_t symbol;
    HSA(hsa_executable_get_symbol_by_name(executable, name, &gpu, &symbol));
    Kernel k;
    HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &k.object));
    HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &k.group));
    HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &k.scratch));
    HSA(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &k.bytes));
    return k;
}

template <typename P> static P *next(hsa_queue_t *q, P *) {
    uint64_t at = hsa_queue_add_write_index_screlease(q, 1);
    while (at - hsa_queue_load_read_index_scacquire(q) >= q->size) std::this_thread::yield();
    return static_cast<P *>(q->base_address) + at % q->size;
}

static void publish(hsa_queue_t *q, void *packet, unsigned header, unsigned setup = 0) {
    __atomic_store_n(static_cast<uint32_t *>(packet), header | setup << 16, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(q->doorbell_signal, hsa_queue_load_read_index_relaxed(q) + 1);
}

static const unsigned FENCES = HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                               HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
static const unsigned BARRIER = 1 << HSA_PACKET_HEADER_BARRIER;

static void dispatch(hsa_queue_t *q, const Kernel &k, void *p, int v, hsa_signal_t done, unsigned groups = 1, unsigned size = 64) {
    struct {
        void *p;
        int v;
    } *args;
    HSA(hsa_amd_memory_pool_allocate(arguments, k.bytes < 4096 ? 4096 : k.bytes, 0, reinterpret_cast<void **>(&args)));
    std::memset(args, 0, 4096);
    args->p = p;
    args->v = v;
    auto *d = next(q, static_cast<hsa_kernel_dispatch_packet_t *>(nullptr));
    std::memset(reinterpret_cast<char *>(d) + 4, 0, 60);
    d->workgroup_size_x = size;
    d->workgroup_size_y = d->workgroup_size_z = d->grid_size_y = d->grid_size_z = 1;
    d->grid_size_x = groups * size;
    d->private_segment_size = k.scratch;
    d->group_segment_size = k.group;
    d->kernel_object = k.object;
    d->kernarg_address = args;
    d->completion_signal = done;
    publish(q, d, HSA_PACKET_TYPE_KERNEL_DISPATCH | FENCES | BARRIER, 1);
}

static hsa_signal_t signal_of(hsa_signal_value_t v) {
    hsa_signal_t s;
    HSA(hsa_signal_create(v, 0, nullptr, &s));
    return s;
}

static void wait_zero(hsa_signal_t s) {
    EXPECT(hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_EQ, 0, 20000000000ull, HSA_WAIT_STATE_BLOCKED) == 0);
}

static hsa_queue_t *queue(unsigned size) {
    hsa_queue_t *q;
    HSA(hsa_queue_create(gpu, size, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &q));
    return q;
}

static bool handler(hsa_signal_value_t value, void *data) {
    *static_cast<std::atomic<int> *>(data) += 1 + (value != 0);
    return false;
}

static void right() {
    Kernel fill = kernel("fill.kd"), add = kernel("add.kd");
    int *p;
    HSA(hsa_amd_memory_pool_allocate(device, 4096, 0, reinterpret_cast<void **>(&p)));
    hsa_queue_t *q = queue(64), *other = queue(64);
    // Many more packets than the ring holds, one signal for all.
    hsa_signal_t all = signal_of(500);
    dispatch(q, fill, p, 0, all, 16);
    for (int i = 1; i < 500; i++) dispatch(q, add, p, i, all, 16);
    wait_zero(all);
    for (int i = 0; i < 1024; i++) EXPECT(p[i] == 499 * 500 / 2);

    // The other queue waits for two signals, one of them this program's; then for one of two.
    hsa_signal_t own = signal_of(1), first = signal_of(1), second = signal_of(1), both = signal_of(1), either = signal_of(1);
    std::atomic<int> called{0};
    HSA(hsa_amd_signal_async_handler(both, HSA_SIGNAL_CONDITION_EQ, 0, handler, &called));
    auto *b = next(other, static_cast<hsa_barrier_and_packet_t *>(nullptr));
    std::memset(reinterpret_cast<char *>(b) + 4, 0, 60);
    b->dep_signal[0] = own;
    b->dep_signal[3] = first;
    b->completion_signal = both;
    publish(other, b, HSA_PACKET_TYPE_BARRIER_AND | FENCES | BARRIER);
    auto *o = next(other, static_cast<hsa_barrier_or_packet_t *>(nullptr));
    std::memset(reinterpret_cast<char *>(o) + 4, 0, 60);
    hsa_signal_t never = signal_of(1);
    o->dep_signal[1] = never;
    o->dep_signal[2] = second;
    o->completion_signal = either;
    publish(other, o, HSA_PACKET_TYPE_BARRIER_OR | FENCES | BARRIER);
    dispatch(q, add, p, 1, first, 16);
    wait_zero(first);
    EXPECT(hsa_signal_load_relaxed(both) == 1);
    hsa_signal_store_screlease(own, 0);
    wait_zero(both);
    EXPECT(hsa_signal_load_relaxed(either) == 1);
    hsa_signal_subtract_screlease(second, 1);
    wait_zero(either);
    for (int i = 0; i < 1000 && called == 0; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT(called == 1);

    // AMD's barrier on a value.
    hsa_signal_t value = signal_of(3), reached = signal_of(1);
    auto *v = next(other, static_cast<hsa_amd_barrier_value_packet_t *>(nullptr));
    std::memset(reinterpret_cast<char *>(v) + 4, 0, 60);
    v->signal = value;
    v->value = 0x40;
    v->mask = 0xf0;
    v->cond = HSA_SIGNAL_CONDITION_EQ;
    v->completion_signal = reached;
    publish(other, v, HSA_PACKET_TYPE_VENDOR_SPECIFIC | FENCES | BARRIER, HSA_AMD_PACKET_TYPE_BARRIER_VALUE);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT(hsa_signal_load_relaxed(reached) == 1);
    hsa_signal_store_relaxed(value, 0x143);
    wait_zero(reached);

    // A copy that waits for a kernel, and times of both.
    int *copy;
    HSA(hsa_amd_memory_pool_allocate(device, 4096, 0, reinterpret_cast<void **>(&copy)));
    hsa_signal_t ran = signal_of(1), copied = signal_of(1);
    HSA(hsa_amd_profiling_set_profiler_enabled(q, 1));
    HSA(hsa_amd_profiling_async_copy_enable(true));
    HSA(hsa_amd_memory_async_copy(copy, gpu, p, gpu, 4096, 1, &ran, copied));
    dispatch(q, fill, p, 12345, ran, 16);
    wait_zero(copied);
    for (int i = 0; i < 1024; i++) EXPECT(copy[i] == 12345);
    hsa_amd_profiling_dispatch_time_t ran_at{};
    hsa_amd_profiling_async_copy_time_t copied_at{};
    HSA(hsa_amd_profiling_get_dispatch_time(gpu, ran, &ran_at));
    HSA(hsa_amd_profiling_get_async_copy_time(copied, &copied_at));
    EXPECT(ran_at.start <= ran_at.end && ran_at.end <= copied_at.start && copied_at.start <= copied_at.end);

    // Invalid handles, and handles of destroyed objects.
    hsa_signal_t gone = signal_of(1), wrong{0x123456780};
    HSA(hsa_signal_destroy(gone));
    EXPECT(hsa_signal_destroy(gone) == HSA_STATUS_ERROR_INVALID_SIGNAL);
    EXPECT(hsa_signal_destroy(wrong) == HSA_STATUS_ERROR_INVALID_SIGNAL);
    EXPECT(hsa_signal_destroy(hsa_signal_t{reinterpret_cast<uint64_t>(p)}) == HSA_STATUS_ERROR_INVALID_SIGNAL);
    EXPECT(hsa_queue_destroy(reinterpret_cast<hsa_queue_t *>(0x1230000)) == HSA_STATUS_ERROR_INVALID_QUEUE);
    EXPECT(hsa_amd_memory_pool_free(p + 1) == HSA_STATUS_ERROR_INVALID_ALLOCATION);
    EXPECT(hsa_executable_destroy(hsa_executable_t{99999}) == HSA_STATUS_ERROR_INVALID_EXECUTABLE);
    HSA(hsa_queue_destroy(other));
    HSA(hsa_queue_destroy(q));
    EXPECT(hsa_queue_destroy(q) == HSA_STATUS_ERROR_INVALID_QUEUE);
    HSA(hsa_amd_memory_pool_free(p));
    EXPECT(hsa_amd_memory_pool_free(p) == HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

static void wrong(const std::string &what) {
    Kernel fill = kernel("fill.kd");
    int *p;
    HSA(hsa_amd_memory_pool_allocate(device, 4096, 0, reinterpret_cast<void **>(&p)));
    hsa_queue_t *q = queue(64);
    hsa_signal_t done = signal_of(1);
    if (what == "type") {
        auto *d = next(q, static_cast<hsa_kernel_dispatch_packet_t *>(nullptr));
        publish(q, d, 77);
    } else if (what == "agent") {
        auto *d = next(q, static_cast<hsa_agent_dispatch_packet_t *>(nullptr));
        publish(q, d, HSA_PACKET_TYPE_AGENT_DISPATCH);
    } else if (what == "object") {
        fill.object = 0x1234567;
        dispatch(q, fill, p, 1, done);
    } else if (what == "inside") {
        fill.object += 8;
        dispatch(q, fill, p, 1, done);
    } else if (what == "group") {
        dispatch(q, fill, p, 1, done, 1, 2048);
    } else if (what == "empty") {
        dispatch(q, fill, p, 1, done, 1, 0);
    } else if (what == "lds") {
        fill.group = 1 << 20;
        dispatch(q, fill, p, 1, done);
    } else if (what == "completion") {
        dispatch(q, fill, p, 1, hsa_signal_t{0x4567890});
    } else if (what == "kernarg") {
        auto *d = next(q, static_cast<hsa_kernel_dispatch_packet_t *>(nullptr));
        std::memset(reinterpret_cast<char *>(d) + 4, 0, 60);
        d->workgroup_size_x = d->grid_size_x = 64;
        d->workgroup_size_y = d->workgroup_size_z = d->grid_size_y = d->grid_size_z = 1;
        d->kernel_object = fill.object;
        publish(q, d, HSA_PACKET_TYPE_KERNEL_DISPATCH | FENCES, 1);
    }
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 10000000000ull, HSA_WAIT_STATE_BLOCKED);
    std::puts("nothing was said");
}

// Cases that must be neither reported nor harmful: signals that are destroyed before a kernel completes them, and a ring that is
// overwritten before it is read.
static void rough() {
    Kernel fill = kernel("fill.kd"), wait = kernel("wait_for.kd");
    int *p, *flag;
    HSA(hsa_amd_memory_pool_allocate(device, 4096, 0, reinterpret_cast<void **>(&p)));
    HSA(hsa_amd_memory_pool_allocate(device, 4096, 0, reinterpret_cast<void **>(&flag)));
    __atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
    hsa_queue_t *q = queue(64);
    hsa_signal_t done = signal_of(1);
    dispatch(q, wait, flag, 1, done);
    HSA(hsa_signal_destroy(done));
    // Memory that is freed while a kernel has its address.
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    hsa_signal_t last = signal_of(1);
    for (int i = 0; i < 10; i++) dispatch(q, fill, p, i, hsa_signal_t{0});
    dispatch(q, fill, p, 99, last);
    hsa_signal_wait_scacquire(last, HSA_SIGNAL_CONDITION_LT, 1, 20000000000ull, HSA_WAIT_STATE_BLOCKED);
    for (int i = 0; i < 1000 && __atomic_load_n(p, __ATOMIC_ACQUIRE) != 99; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT(__atomic_load_n(p, __ATOMIC_ACQUIRE) == 99);
    // A queue that is destroyed with packets in it.
    hsa_queue_t *short_lived = queue(64);
    for (int i = 0; i < 30; i++) dispatch(short_lived, fill, p, i, hsa_signal_t{0}, 16);
    HSA(hsa_queue_destroy(short_lived));
    // Three times as many packets as the ring holds, without waiting.
    hsa_queue_t *full = queue(64);
    auto *ring = static_cast<hsa_barrier_and_packet_t *>(full->base_address);
    for (int i = 0; i < 192; i++) {
        uint64_t at = hsa_queue_add_write_index_screlease(full, 1);
        std::memset(reinterpret_cast<char *>(&ring[at % 64]) + 4, 0, 60);
        __atomic_store_n(reinterpret_cast<uint32_t *>(&ring[at % 64]), HSA_PACKET_TYPE_BARRIER_AND, __ATOMIC_RELEASE);
        hsa_signal_store_screlease(full->doorbell_signal, at);
    }
    HSA(hsa_queue_destroy(full));
}

int main(int argc, char **argv) {
    std::string what = argc > 1 ? argv[1] : "";
    hiprtcProgram program;
    EXPECT(hiprtcCreateProgram(&program, SOURCE, "aql.hip", 0, nullptr, nullptr) == HIPRTC_SUCCESS);
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    std::string arch = std::string("--gpu-architecture=") + properties.gcnArchName;
    const char *options[] = {arch.c_str()};
    EXPECT(hiprtcCompileProgram(program, 1, options) == HIPRTC_SUCCESS);
    size_t size;
    EXPECT(hiprtcGetCodeSize(program, &size) == HIPRTC_SUCCESS);
    std::vector<char> code(size);
    EXPECT(hiprtcGetCode(program, code.data()) == HIPRTC_SUCCESS);

    HSA(hsa_init());
    HSA(hsa_iterate_agents(take_agent, nullptr));
    HSA(hsa_amd_agent_iterate_memory_pools(cpu, take_pool, &cpu));
    HSA(hsa_amd_agent_iterate_memory_pools(gpu, take_pool, nullptr));
    hsa_code_object_reader_t reader;
    HSA(hsa_code_object_reader_create_from_memory(code.data(), size, &reader));
    HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
    HSA(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
    HSA(hsa_executable_freeze(executable, nullptr));
    if (what.empty()) {
        right();
        rough();
    } else {
        wrong(what);
    }
    std::puts("ok");
}
