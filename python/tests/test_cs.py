"""Disassembly and assembly in capstone's and keystone's shapes."""

import gcn
import pytest

CODE = gcn.asm(
    "s_add_u32 s2, s0, s1; v_addc_co_u32 v2, vcc, v0, v1, vcc; s_cbranch_scc1 -2; global_load_dword v1, v[2:3], off; s_endpgm", "gfx900"
)


def test_instructions_have_capstones_attributes():
    insns = list(gcn.Cs("gfx900", 0).disasm(CODE, 0x1000))
    assert [i.address for i in insns] == [0x1000, 0x1004, 0x1008, 0x100C, 0x1014]
    assert [i.size for i in insns] == [4, 4, 4, 8, 4]
    assert insns[0].mnemonic == "s_add_u32" and insns[0].op_str == "s2, s0, s1"
    assert insns[3].mnemonic == "global_load_dword" and insns[3].op_str == "v1, v[2:3], off"
    assert insns[4].op_str == "" and str(insns[4]) == "s_endpgm"
    assert isinstance(insns[0].bytes, bytearray) and b"".join(bytes(i.bytes) for i in insns) == CODE
    cs = gcn.Cs("gfx900")
    assert cs.insn_name(insns[1].id) == insns[1].insn_name() == "v_addc_co_u32"


def test_lite_count_and_text_agree():
    cs = gcn.Cs("gfx900")
    full = [(i.address, i.size, i.mnemonic, i.op_str) for i in cs.disasm(CODE, 8)]
    assert list(cs.disasm_lite(CODE, 8)) == full == list(cs.disasm_iter(CODE, 8))
    assert len(list(cs.disasm(CODE, 0, count=2))) == 2
    lines = cs.text(CODE).splitlines()
    assert lines == [f"{m} {o}".strip() for _, _, m, o in full]
    assert list(cs.disasm_lite(bytearray(CODE), 8)) == full == list(cs.disasm_lite(memoryview(CODE), 8))


def test_details_are_off_until_asked_for():
    cs = gcn.Cs("gfx900")
    insn = next(cs.disasm(CODE, 0))
    with pytest.raises(gcn.CsError) as raised:
        insn.regs_read
    assert raised.value.errno == gcn.CS_ERR_DETAIL


def test_details():
    cs = gcn.Cs("gfx900")
    cs.detail = True
    add, addc, branch, load, end = cs.disasm(CODE, 0x1000)
    names = lambda ids: [cs.reg_name(n) for n in ids]  # noqa: E731
    assert names(add.regs_write) == ["scc"] and add.reg_write(add.regs_write[0])
    read, written = addc.regs_access()
    assert names(read) == ["v0", "v1", "vcc_lo", "vcc_hi", "exec_lo", "exec_hi"]
    assert names(written) == ["v2", "vcc_lo", "vcc_hi"]
    assert gcn.CS_GRP_JUMP in branch.groups and branch.group(gcn.CS_GRP_BRANCH_RELATIVE) and branch.group(gcn.CS_GRP_CONDITIONAL)
    assert branch.target == 0x1004
    assert {cs.group_name(g) for g in load.groups} >= {"memory", "load", "global"}
    assert {cs.group_name(g) for g in end.groups} >= {"end"}
    dst, a, b = add.operands
    assert (dst.type, cs.reg_name(dst.reg), dst.access, dst.size) == (gcn.CS_OP_REG, "s2", gcn.CS_AC_WRITE, 4)
    assert a.access == gcn.CS_AC_READ and add.op_count(gcn.CS_OP_REG) == 3 and add.op_find(gcn.CS_OP_REG, 2).reg == a.reg
    assert b.text == "s1"
    pair = load.operands[1]
    assert (pair.count, pair.size, cs.reg_name(pair.reg)) == (2, 8, "v2")


def test_constants_are_immediates_and_floats():
    cs = gcn.Cs("gfx900")
    cs.detail = True
    one, ten, literal = cs.disasm(gcn.asm("v_mov_b32 v0, 1.0; s_mov_b32 s0, 10; s_mov_b32 s0, 0x12345678", "gfx900"))
    assert (one.operands[1].type, one.operands[1].fp) == (gcn.CS_OP_FP, 1.0)
    assert (ten.operands[1].type, ten.operands[1].imm) == (gcn.CS_OP_IMM, 10)
    assert literal.operands[1].imm == 0x12345678


def test_every_register_number_has_its_name():
    cs = gcn.Cs("gfx803")
    known = [cs.reg_name(n) for n in range(1024) if cs.reg_name(n)]
    assert "s0" in known and "v255" in known and "m0" in known and "exec_hi" in known and "scc" in known
    assert cs.reg_name(0) is None and len(known) == len(set(known))


def test_skipdata():
    cs = gcn.Cs("gfx900")
    code = CODE[:4] + b"\xff\xff\xff\xff" + CODE[-4:] + b"\x01\x02"
    assert len(list(cs.disasm(code))) == 1
    cs.skipdata = True
    insns = list(cs.disasm(code))
    assert [str(i) for i in insns][1:] == [".long 0xffffffff", "s_endpgm", ".byte 0x01, 0x02"]
    assert insns[1].id == 0
    cs.skipdata_setup = ("db", None, None)
    assert list(cs.disasm(code))[1].mnemonic == "db"
    cs.detail = True
    with pytest.raises(gcn.CsError):
        list(cs.disasm(code))[1].groups


def test_a_callback_says_how_much_is_skipped():
    cs = gcn.Cs("gfx900")
    code = CODE[:4] + b"\xff" * 10 + CODE[-4:] + b"\x01\x02"
    cs.skipdata = True
    asked = []

    def skip(buffer, size, offset, data):
        asked.append((bytes(buffer) == code, size, offset, data))
        return 10

    cs.skipdata_setup = (".db", gcn.CS_SKIPDATA_CALLBACK(skip), "mine")
    insns = list(cs.disasm(code, 0x100))
    assert [(i.address, i.size, i.mnemonic) for i in insns] == [(0x100, 4, "s_add_u32"), (0x104, 10, ".db"), (0x10E, 4, "s_endpgm"), (0x112, 2, ".db")]
    assert bytes(insns[1].bytes) == b"\xff" * 10
    assert asked == [(True, 20, 4, "mine"), (True, 20, 18, "mine")]
    assert cs.skipdata_setup == (".db", skip, "mine")
    cs.skipdata_callback = (lambda *_: 0, None)
    assert len(list(cs.disasm(code))) == 1
    cs.skipdata_setup = (".db", None, None)
    assert list(cs.disasm(code))[1].size == 4
    with pytest.raises(gcn.Error):
        cs.skipdata_setup = (".db", 4, None)
    cs.skipdata_callback = (lambda *_: "four", None)
    with pytest.raises(TypeError):
        list(cs.disasm(code))


def test_mnemonics_can_be_renamed():
    cs = gcn.Cs("gfx900")
    end = list(cs.disasm(CODE))[-1]
    cs.mnemonic_setup(end.id, "the_end")
    assert [i[2] for i in cs.disasm_lite(CODE)][-1] == "the_end"
    assert list(cs.disasm(CODE))[0].mnemonic == "s_add_u32" and cs.insn_name(end.id) == "s_endpgm"
    cs.mnemonic_setup(end.id, None)
    assert list(cs.disasm(CODE))[-1].mnemonic == "s_endpgm"
    with pytest.raises(gcn.CsError):
        cs.mnemonic_setup(1 << 20, "none")


def test_defaults_of_names_and_versions():
    cs = gcn.Cs("gfx900")
    assert cs.reg_name(0, "none") == cs.insn_name(0, "none") == cs.group_name(0, "none") == "none"
    assert gcn.version_bind() == gcn.cs_version()
    assert gcn.cs_support("gfx900") and gcn.cs_support("vega10") and not gcn.cs_support("x86")


def test_syntax():
    cs = gcn.Cs("gfx900")
    code = gcn.asm("v_add_f32 v0, s4, v1; s_load_dword s0, s[2:3], 0x10", "gfx900")
    llvm = cs.text(code)
    cs.syntax = gcn.CS_OPT_SYNTAX_CLRX
    assert cs.text(code) != llvm and cs.syntax == gcn.CS_OPT_SYNTAX_CLRX
    cs.syntax = "llvm"
    assert cs.text(code) == llvm
    with pytest.raises(gcn.CsError):
        cs.syntax = 7


@pytest.mark.parametrize("wrong", [("x86", 0), ("gfx900", 64)])
def test_an_unknown_target_or_mode_is_an_error(wrong):
    with pytest.raises(gcn.CsError):
        gcn.Cs(*wrong)


def test_every_target_disassembles():
    for arch in gcn.TARGETS:
        assert [str(i) for i in gcn.Cs(arch).disasm(gcn.asm("s_endpgm", arch))] == ["s_endpgm"]


def test_asm_is_keystones():
    ks = gcn.Ks("gfx900")
    encoding, count = ks.asm(b"s_nop 0; s_nop 1\ns_endpgm")
    assert count == 3 and encoding.hex() == "000080bf" "010080bf" "000081bf"
    assert [*encoding][:4] == [0, 0, 0x80, 0xBF]
    with pytest.raises(gcn.KsError) as raised:
        ks.asm("s_nop 0\n  v_add_f32 v0, v1")
    error = raised.value
    assert isinstance(error, gcn.Error) and (error.line, error.kind, error.get_asm_count()) == (2, "assembly", 0)
    assert error.diagnostics[0].column == error.column and "v_add_f32" in str(error)
    ks.permissive = True
    assert ks.asm("s_endpgm")[1] == 1


def test_clrx_syntax_assembles():
    ks = gcn.Ks("gfx701")
    ks.syntax = "clrx"
    assert ks.asm("s_load_dword s0, s[2:3], 4")[1] == 1
    with pytest.raises(gcn.KsError):
        ks.syntax = "intel"


def test_errors_can_be_pickled():
    import pickle

    with pytest.raises(gcn.KsError) as raised:
        gcn.Ks("gfx900").asm("nonsense")
    copy = pickle.loads(pickle.dumps(raised.value))
    assert type(copy) is gcn.KsError and copy.line == 1 and str(copy) == str(raised.value)


def test_capstones_functions():
    insns = list(gcn.cs_disasm_quick("gfx900", 0, CODE, 0x1000))
    assert insns[0].mnemonic == "s_add_u32"
    assert next(gcn.cs_disasm_lite("gfx900", 0, CODE, 0x1000)) == (0x1000, 4, "s_add_u32", "s2, s0, s1")
    assert len(gcn.cs_version()) == 3 and "gfx900" in gcn.debug()
