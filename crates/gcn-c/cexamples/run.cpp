// Assembles a kernel, runs it on an array, and steps a wave:
//     c++ run.cpp $(pkg-config --cflags --libs gcn) && ./a.out
#include <gcn.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace {

const char *const add_one = R"(
.amdgcn_target "amdgcn-amd-amdhsa--gfx900"
.text
.globl add_one
.p2align 8
.type add_one,@function
add_one:
  s_load_dwordx2 s[0:1], s[4:5], 0x0
  s_lshl_b32 s2, s6, 6
  v_add_u32_e32 v0, s2, v0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[0:1]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v1, 1, v1
  global_store_dword v0, v1, s[0:1]
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel add_one
  .amdhsa_user_sgpr_private_segment_buffer 1
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_next_free_vgpr 2
  .amdhsa_next_free_sgpr 7
  .amdhsa_kernarg_size 8
.end_amdhsa_kernel
)";

void check(gcn_err err) {
  if (err == GCN_ERR_OK) return;
  std::fprintf(stderr, "error %d: %s\n", err, gcn_error());
  std::exit(1);
}

template <typename T> using handle = std::unique_ptr<T, void (*)(T *)>;

}  // namespace

int main() {
  std::uint8_t *file = nullptr;
  std::size_t size = 0;
  check(gcn_assemble(nullptr, add_one, &file, &size));

  gcn_gpu *raw_gpu = nullptr;
  check(gcn_gpu_new("gfx900", &raw_gpu));
  handle<gcn_gpu> gpu(raw_gpu, gcn_gpu_free);
  gcn_program *raw_program = nullptr;
  check(gcn_load(gpu.get(), file, size, &raw_program));
  handle<gcn_program> program(raw_program, gcn_program_free);
  gcn_free_bytes(file, size);

  std::vector<std::uint32_t> numbers(256);
  for (std::size_t n = 0; n < numbers.size(); n++) numbers[n] = static_cast<std::uint32_t>(n * n);
  auto *bytes = reinterpret_cast<std::uint8_t *>(numbers.data());
  const std::size_t length = numbers.size() * sizeof numbers[0];
  std::uint64_t buffer = 0;
  check(gcn_alloc(gpu.get(), length, &buffer));
  check(gcn_write(gpu.get(), buffer, bytes, length));

  gcn_arg arg = {};
  arg.kind = GCN_ARG_KIND_POINTER;
  arg.address = buffer;
  const std::uint32_t grid[3] = {256, 1, 1}, group[3] = {64, 1, 1};
  gcn_stats stats = {};
  check(gcn_launch(program.get(), "add_one", grid, group, &arg, 1, &stats));
  check(gcn_read(gpu.get(), buffer, bytes, length));
  for (std::size_t n = 0; n < numbers.size(); n++)
    if (numbers[n] != n * n + 1) return 1;
  check(gcn_dealloc(gpu.get(), buffer));
  std::printf("%llu waves\n", static_cast<unsigned long long>(stats.waves));

  // Past the end of memory: the report says where.
  arg.address = 16;
  if (gcn_launch(program.get(), nullptr, grid, group, &arg, 1, nullptr) != GCN_ERR_RUN || !std::strstr(gcn_error(), "global_load_dword")) return 1;

  // A wave, an instruction at a time.
  check(gcn_asm("gfx900", "s_add_u32 s2, s0, s1; v_mov_b32 v0, s2; s_endpgm", &file, &size));
  gcn_wave *raw_wave = nullptr;
  check(gcn_wave_new("gfx900", file, size, &raw_wave));
  handle<gcn_wave> wave(raw_wave, gcn_wave_free);
  gcn_free_bytes(file, size);
  check(gcn_wave_set(wave.get(), "s0", 0, 40));
  check(gcn_wave_set(wave.get(), "s1", 0, 2));
  gcn_end end = GCN_END_STEPS;
  std::uint64_t value = 0, pc = 0;
  while (end == GCN_END_STEPS) {
    check(gcn_wave_get(wave.get(), "pc", 0, &pc));
    check(gcn_wave_get(wave.get(), "v0", 63, &value));
    std::printf("pc %llu: v0 of lane 63 is %llu\n", static_cast<unsigned long long>(pc), static_cast<unsigned long long>(value));
    check(gcn_wave_step(wave.get(), 1, &end));
  }
  return end == GCN_END_ENDPGM && value == 42 ? 0 : 1;
}
