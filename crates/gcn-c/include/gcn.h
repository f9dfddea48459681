/* gcn: AMD GCN machine code, gfx6 to gfx9: decode, print, assemble, run. docs/c.md describes it.
 * Generated from crates/gcn-c/src by cbindgen; a test compares it. */

#ifndef GCN_H
#define GCN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// The version of this interface: the upper 16 bits change when programs must be recompiled, the lower ones when something is added.
#define GCN_API_VERSION 65536

// The result of a function.
typedef enum gcn_err {
  // The function succeeded.
  GCN_ERR_OK = 0,
  // An argument is NULL, is not UTF-8, or has an invalid value.
  GCN_ERR_ARGUMENT = 1,
  // The architecture is none of gfx6 to gfx9.
  GCN_ERR_ARCH = 2,
  // Text does not assemble.
  GCN_ERR_ASSEMBLY = 3,
  // A file or its code object cannot be read or loaded.
  GCN_ERR_OBJECT = 4,
  // There is no such kernel.
  GCN_ERR_KERNEL = 5,
  // Guest memory is exhausted, or an address is not mapped.
  GCN_ERR_MEMORY = 6,
  // The kernel failed: a fault, a trap, a deadlock, a limit.
  GCN_ERR_RUN = 7,
  // An error in this library.
  GCN_ERR_INTERNAL = 8,
} gcn_err;

// The kind of an operand.
typedef enum gcn_kind {
  // Scalar registers: the code of the first, as encoded (0 to 127, or a source such as SCC, 253).
  GCN_KIND_SCALAR = 0,
  // VGPRs: the number of the first.
  GCN_KIND_VECTOR = 1,
  // An inline constant, an immediate or a literal: its value; for floats the bits as f32.
  GCN_KIND_CONSTANT = 2,
} gcn_kind;

// The file of a register.
typedef enum gcn_file {
  // SGPRs, VCC, M0, EXEC and others, by their codes.
  GCN_FILE_SCALAR = 0,
  // VGPRs.
  GCN_FILE_VECTOR = 1,
  // SCC, register 0.
  GCN_FILE_SCC = 2,
  // Hardware registers of s_getreg: 1 is MODE, 2 STATUS.
  GCN_FILE_HWREG = 3,
} gcn_file;

// The reason why stepping stopped.
typedef enum gcn_end {
  // All steps were executed.
  GCN_END_STEPS = 0,
  // The PC left the code.
  GCN_END_FELL_OFF = 1,
  // s_endpgm.
  GCN_END_ENDPGM = 2,
  // s_trap.
  GCN_END_TRAP = 3,
  // The wave halted, or waits for other waves.
  GCN_END_WAITS = 4,
  // An instruction failed: gcn_error has the report.
  GCN_END_FAULT = 5,
} gcn_end;

// The kind of an argument.
typedef enum gcn_arg_kind {
  // A value of `size` bytes at `data`: a number or a structure.
  GCN_ARG_KIND_VALUE = 0,
  // The guest address `address`.
  GCN_ARG_KIND_POINTER = 1,
  // A pointer to `size` bytes of LDS.
  GCN_ARG_KIND_LOCAL = 2,
} gcn_arg_kind;

// The options of a disassembler.
typedef enum gcn_opt {
  // 0: LLVM's syntax; 1: the documents', which is CLRX's.
  GCN_OPT_SYNTAX = 0,
  // 1: bytes that are not an instruction are returned as `.long` and `.byte`, with id 0; 0: they end the disassembly.
  GCN_OPT_SKIPDATA = 1,
} gcn_opt;

// A disassembler.
typedef struct gcn_cs gcn_cs;

// A GPU in software. Several threads may use it at once.
typedef struct gcn_gpu gcn_gpu;

// A loaded code object.
typedef struct gcn_program gcn_program;

// A wave with its registers, LDS and memory, and the code that it runs.
typedef struct gcn_wave gcn_wave;

// An instruction.
typedef struct gcn_insn {
  // The number of its row, from 1, the same for all architectures; 0 for data.
  uint32_t id;
  // Its size in bytes: 4 or 8; for data at the end also 1 to 3.
  uint32_t size;
  // Its address.
  uint64_t address;
  // Its bytes.
  uint8_t bytes[8];
  // The address of a branch's target; UINT64_MAX if there is none.
  uint64_t target;
  // The mnemonic.
  char mnemonic[48];
  // Operands and modifiers.
  char op_str[208];
} gcn_insn;

// An operand.
typedef struct gcn_operand {
  // Its kind.
  enum gcn_kind kind;
  // True if it is read.
  bool read;
  // True if it is written.
  bool written;
  // The number of registers of 32 bits.
  uint32_t count;
  // The register, or the value.
  int64_t value;
} gcn_operand;

// Consecutive registers that an instruction reads or writes.
typedef struct gcn_access {
  // The file.
  enum gcn_file file;
  // The first register.
  uint32_t first;
  // The number of registers, of 32 bits each.
  uint32_t count;
  // True if they are written; otherwise they are read.
  bool write;
  // True if no field of the encoding names them.
  bool is_implicit;
  // True if their number is computed: it may be any of the file.
  bool anywhere;
} gcn_access;

// An argument of a kernel.
typedef struct gcn_arg {
  // Its kind: a gcn_arg_kind.
  uint32_t kind;
  // Bytes of a value, or of LDS.
  uint32_t size;
  // A value's bytes.
  const uint8_t *data;
  // The guest address of a pointer.
  uint64_t address;
} gcn_arg;

// The statistics of a launch.
typedef struct gcn_stats {
  // Instructions that waves executed.
  uint64_t instructions;
  // Waves.
  uint64_t waves;
} gcn_stats;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, such as "0.1.0".
const char *gcn_version(void);

// The version of the library's interface: compare its upper 16 bits with those of GCN_API_VERSION.
uint32_t gcn_api_version(void);

// The message of the last error of this thread. It is valid until the next one.
const char *gcn_error(void);

// Opens a disassembler for an architecture: a target, "gfx600" to "gfx90c", or a chip's name, such as "vega10".
//
// # Safety
// `arch` is a string; `out` has room for a pointer.
enum gcn_err gcn_open(const char *arch, struct gcn_cs **out);

// Closes a disassembler; NULL is ignored.
//
// # Safety
// `cs` comes from gcn_open, and is not used afterwards.
void gcn_close(struct gcn_cs *cs);

// Sets an option.
//
// # Safety
// `cs` comes from gcn_open.
enum gcn_err gcn_option(struct gcn_cs *cs, uint32_t option, uint32_t value);

// Disassembles the next instruction of `*code`, and moves `*code`, `*size` and `*address` past it. Returns false at the end, or at bytes that are no
// instruction.
//
// # Safety
// `cs` comes from gcn_open; `*code` has `*size` bytes; `insn` has room for one.
bool gcn_disasm_iter(struct gcn_cs *cs,
                     const uint8_t **code,
                     size_t *size,
                     uint64_t *address,
                     struct gcn_insn *insn);

// Disassembles at most `count` instructions (0: all). Returns their number, and in `*out` an array of them for gcn_free.
//
// # Safety
// `cs` comes from gcn_open; `code` has `size` bytes; `out` has room for a pointer.
size_t gcn_disasm(struct gcn_cs *cs,
                  const uint8_t *code,
                  size_t size,
                  uint64_t address,
                  size_t count,
                  struct gcn_insn **out);

// Frees the array of gcn_disasm; NULL is ignored.
//
// # Safety
// `insns` and `count` come from gcn_disasm, and are not used afterwards.
void gcn_free(struct gcn_insn *insns, size_t count);

// Writes up to `room` operands of an instruction, in the order of the text. Returns their number.
//
// # Safety
// `cs` comes from gcn_open, `insn` from a disassembly of it; `out` has room for `room` operands.
size_t gcn_operands(struct gcn_cs *cs, const struct gcn_insn *insn, struct gcn_operand *out, size_t room);

// Writes up to `room` accesses of an instruction: first reads, then writes, including implicit registers. Returns their number.
//
// # Safety
// `cs` comes from gcn_open, `insn` from a disassembly of it; `out` has room for `room` accesses.
size_t gcn_accesses(struct gcn_cs *cs,
                    const struct gcn_insn *insn,
                    struct gcn_access *out,
                    size_t room);

// Assembles instructions that are separated by `;` or line breaks. `*bytes` has the `*size` bytes, for gcn_free_bytes.
//
// # Safety
// `arch` and `source` are strings; `bytes` and `size` have room for their results.
enum gcn_err gcn_asm(const char *arch, const char *source, uint8_t **bytes, size_t *size);

// Frees the bytes of gcn_asm or gcn_assemble; NULL is ignored.
//
// # Safety
// `bytes` and `size` come from one of them, and are not used afterwards.
void gcn_free_bytes(uint8_t *bytes, size_t size);

// Assembles a whole source to a code object that gcn_load takes, with line numbers for reports (`source:LINE`); `arch` may be NULL if
// the source names its target.
//
// # Safety
// `source` is a string, `arch` a string or NULL; `bytes` and `size` have room for their results.
enum gcn_err gcn_assemble(const char *arch,
                          const char *source,
                          uint8_t **bytes,
                          size_t *size);

// Creates a GPU of an architecture, with 4 GiB of memory. Only pages in use take memory of the host.
//
// # Safety
// `arch` is a string; `out` has room for a pointer.
enum gcn_err gcn_gpu_new(const char *arch, struct gcn_gpu **out);

// Frees a GPU; programs that are loaded on it stay valid. NULL is ignored.
//
// # Safety
// `gpu` comes from gcn_gpu_new, and is not used afterwards.
void gcn_gpu_free(struct gcn_gpu *gpu);

// Loads a code object, or the one for the GPU from a bundle, program or library.
//
// # Safety
// `gpu` comes from gcn_gpu_new; `file` has `size` bytes; `out` has room for a pointer.
enum gcn_err gcn_load(struct gcn_gpu *gpu, const uint8_t *file, size_t size, struct gcn_program **out);

// Unloads a program; NULL is ignored.
//
// # Safety
// `program` comes from gcn_load, and is not used afterwards.
void gcn_program_free(struct gcn_program *program);

// Allocates `bytes` of guest memory, zeros, at `*address`.
//
// # Safety
// `gpu` comes from gcn_gpu_new; `address` has room for a number.
enum gcn_err gcn_alloc(struct gcn_gpu *gpu, uint64_t bytes, uint64_t *address);

// Frees memory of gcn_alloc.
//
// # Safety
// `gpu` comes from gcn_gpu_new.
enum gcn_err gcn_dealloc(struct gcn_gpu *gpu, uint64_t address);

// Copies bytes from guest memory.
//
// # Safety
// `gpu` comes from gcn_gpu_new; `out` has room for `size` bytes.
enum gcn_err gcn_read(struct gcn_gpu *gpu, uint64_t address, uint8_t *out, size_t size);

// Copies bytes to guest memory.
//
// # Safety
// `gpu` comes from gcn_gpu_new; `data` has `size` bytes.
enum gcn_err gcn_write(struct gcn_gpu *gpu, uint64_t address, const uint8_t *data, size_t size);

// Runs a kernel (NULL: the only one) over `grid` work-items in workgroups of `group`, to its end. `stats` may be NULL.
//
// # Safety
// `program` comes from gcn_load; `kernel` is a string or NULL; `grid` and `group` have three numbers, `args` has `count` arguments, and each value its bytes.
enum gcn_err gcn_launch(struct gcn_program *program,
                        const char *kernel,
                        const uint32_t *grid,
                        const uint32_t *group,
                        const struct gcn_arg *args,
                        size_t count,
                        struct gcn_stats *stats);

// Creates a wave of 64 lanes, all active, with registers of 0, that runs `code` from its first byte on.
//
// # Safety
// `arch` is a string; `code` has `size` bytes; `out` has room for a pointer.
enum gcn_err gcn_wave_new(const char *arch, const uint8_t *code, size_t size, struct gcn_wave **out);

// Frees a wave; NULL is ignored.
//
// # Safety
// `wave` comes from gcn_wave_new, and is not used afterwards.
void gcn_wave_free(struct gcn_wave *wave);

// Runs at most `steps` instructions. `*end` is the reason why they stopped, and the register "pc" the position; a wave that has ended stays there.
//
// # Safety
// `wave` comes from gcn_wave_new; `end` has room for a number.
enum gcn_err gcn_wave_step(struct gcn_wave *wave,
                           uint64_t steps,
                           enum gcn_end *end);

// Reads a register by its name: `s4`, `s[4:5]`, `vcc`, `exec`, `scc`, `m0`, `mode`, `pc` (bytes from the code's start), or one lane of "v0".
//
// # Safety
// `wave` comes from gcn_wave_new; `name` is a string; `value` has room for a number.
enum gcn_err gcn_wave_get(struct gcn_wave *wave,
                          const char *name,
                          uint32_t lane,
                          uint64_t *value);

// Sets a register by its name; for a VGPR one lane, or with `lane` 64 all of them.
//
// # Safety
// `wave` comes from gcn_wave_new; `name` is a string.
enum gcn_err gcn_wave_set(struct gcn_wave *wave, const char *name, uint32_t lane, uint64_t value);

// Copies bytes to the wave's memory; missing pages are mapped.
//
// # Safety
// `wave` comes from gcn_wave_new; `data` has `size` bytes.
enum gcn_err gcn_wave_write(struct gcn_wave *wave, uint64_t address, const uint8_t *data, size_t size);

// Copies bytes from the wave's memory.
//
// # Safety
// `wave` comes from gcn_wave_new; `out` has room for `size` bytes.
enum gcn_err gcn_wave_read(struct gcn_wave *wave, uint64_t address, uint8_t *out, size_t size);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GCN_H */
