/* Assembles a few instructions and prints them with what they read and write:
 *     cc disasm.c $(pkg-config --cflags --libs gcn) && ./a.out
 */
#include <gcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, gcn_error());
  return 1;
}

int main(void) {
  if (gcn_api_version() >> 16 != GCN_API_VERSION >> 16) return fail("another version of the library");

  uint8_t *code = NULL;
  size_t size = 0;
  if (gcn_asm("gfx900", "v_add_f32 v2, v0, v1; s_cbranch_scc1 -2; global_load_dword v1, v[2:3], off; s_endpgm", &code, &size))
    return fail("gcn_asm");

  gcn_cs *cs = NULL;
  if (gcn_open("vega10", &cs)) return fail("gcn_open");
  gcn_insn *insns = NULL;
  size_t count = gcn_disasm(cs, code, size, 0x1000, 0, &insns);
  for (size_t n = 0; n < count; n++) {
    const gcn_insn *insn = &insns[n];
    printf("0x%" PRIx64 ": %s %s\n", insn->address, insn->mnemonic, insn->op_str);
    if (insn->target != UINT64_MAX) printf("    to 0x%" PRIx64 "\n", insn->target);
    gcn_operand operands[8];
    size_t all = gcn_operands(cs, insn, operands, 8);
    for (size_t k = 0; k < all && k < 8; k++)
      printf("    operand %zu: kind %d, %u registers, value %" PRId64 "\n", k, operands[k].kind, operands[k].count, operands[k].value);
    gcn_access accesses[16];
    all = gcn_accesses(cs, insn, accesses, 16);
    for (size_t k = 0; k < all && k < 16; k++)
      printf("    %s file %d: %u from %u%s\n", accesses[k].write ? "writes" : "reads", accesses[k].file, accesses[k].count,
             accesses[k].first, accesses[k].is_implicit ? " (implicit)" : "");
  }
  gcn_free(insns, count);

  /* One at a time, until the bytes end. */
  const uint8_t *rest = code;
  size_t left = size, seen = 0;
  uint64_t address = 0;
  gcn_insn insn;
  while (gcn_disasm_iter(cs, &rest, &left, &address, &insn)) seen++;
  printf("%zu instructions, %zu bytes left\n", seen, left);

  /* Errors have a number and a message. */
  if (gcn_asm("gfx900", "v_ad_f32 v0, v1, v2", &code, &size) == GCN_ERR_ASSEMBLY && strstr(gcn_error(), "v_ad_f32")) puts("and errors");
  gcn_free_bytes(code, size);
  gcn_close(cs);
  return seen == count ? 0 : 1;
}
