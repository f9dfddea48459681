"""A wave that is stepped, with hooks."""

import gcn
import pytest

BASE = 0x10000


@pytest.fixture
def uc():
    uc = gcn.Uc("gfx900")
    uc.mem_map(BASE, 0x1000)
    uc.mem_map(0x20000, 0x1000, 3)
    return uc


def start(uc, source, **options):
    code = gcn.asm(source, "gfx900")
    uc.mem_write(BASE, code)
    uc.emu_start(BASE, BASE + len(code), **options)


def test_registers_and_memory(uc):
    uc.reg_write("v0", range(64))
    uc.reg_write("s[2:3]", 0x20000)
    start(uc, "v_lshlrev_b32 v1, 2, v0; global_store_dword v1, v0, s[2:3]; s_mov_b32 s0, 7; v_mov_b32 v2, s0")
    assert uc.reg_read("v1")[63] == 252 and uc.reg_read("s0") == 7 and list(uc.reg_read("v2")) == [7] * 64
    assert uc.mem_read(0x20000 + 4 * 63, 4) == b"\x3f\0\0\0"
    assert uc.reg_read("exec") == (1 << 64) - 1
    with pytest.raises(gcn.Error, match="is no register"):
        uc.reg_read("eax")
    with pytest.raises(gcn.Error):
        uc.mem_read(0x90000, 4)
    with pytest.raises(gcn.Error, match="multiples of 4096"):
        uc.mem_map(5, 5)


def test_count_until_and_timeout(uc):
    loop = "again: s_add_u32 s0, s0, 1; s_branch again"
    start(uc, loop, count=10)
    assert uc.reg_read("s0") == 5 and uc.reg_read("pc") == BASE
    start(uc, loop, timeout=20_000)
    assert uc.reg_read("s0") > 5


def test_code_hooks_are_exact_whenever_they_are_added(uc):
    seen = []

    def late(uc, address, size, data):
        seen.append(("late", address - BASE))

    def early(uc, address, size, data):
        seen.append((data, address - BASE, size))
        if address == BASE + 4:
            uc.hook_add(gcn.UC_HOOK_CODE, late, begin=BASE + 8, end=BASE + 15)
        if address == BASE + 8:
            uc.hook_del(number)
            uc.reg_write("s1", 9)

    number = uc.hook_add(gcn.UC_HOOK_CODE, early, "early")
    start(uc, "s_nop 0; s_nop 1; s_mov_b32 s0, s1; s_mov_b32 s2, 0x12345; s_nop 2")
    assert seen == [("early", 0, 4), ("early", 4, 4), ("early", 8, 4), ("late", 8), ("late", 12)]
    assert uc.reg_read("s0") == 9
    with pytest.raises(gcn.Error, match="no hook"):
        uc.hook_del(number)


def test_memory_hooks(uc):
    seen = []
    uc.hook_add(gcn.UC_HOOK_MEM_READ | gcn.UC_HOOK_MEM_WRITE, lambda uc, *access: seen.append(access[:4]), begin=0x20000, end=0x20fff)
    uc.reg_write("s[2:3]", 0x20000)
    uc.reg_write("v0", 8)
    uc.reg_write("v3", 0xabc)
    uc.reg_write("exec", 1)
    start(uc, "global_store_dword v0, v3, s[2:3]; global_load_dword v4, v0, s[2:3]; s_load_dword s5, s[2:3], 0x8")
    assert seen == [(gcn.UC_MEM_WRITE, 0x20008, 4, 0xabc), (gcn.UC_MEM_READ, 0x20008, 4, 0xabc), (gcn.UC_MEM_READ, 0x20008, 4, 0xabc)]


def test_stops_faults_and_exceptions_of_hooks(uc):
    hook = uc.hook_add(gcn.UC_HOOK_CODE, lambda uc, address, size, data: uc.emu_stop() if address == BASE + 4 else None)
    start(uc, "s_mov_b32 s0, 1; s_mov_b32 s0, 2")
    assert uc.reg_read("s0") == 1
    uc.hook_del(hook)
    with pytest.raises(gcn.Error) as raised:
        start(uc, "v_mov_b32 v0, 0; v_mov_b32 v1, 0; s_nop 0; flat_load_dword v2, v[0:1]")
    assert raised.value.kind == "fault" and raised.value.pc == BASE + 12 and raised.value.fault_address == 0
    with pytest.raises(gcn.Error, match="s_trap 5"):
        start(uc, "s_trap 5")
    uc.hook_add(gcn.UC_HOOK_CODE, lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        start(uc, "s_nop 0")
