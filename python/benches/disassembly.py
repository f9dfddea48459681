"""Processor time of disassembling from Python: this package, and llvm-objdump or llvm-mc through a pipe.

    python python/benches/disassembly.py [--objdump llvm-objdump] [--count N]

The code is random instructions of gfx900, wrapped in an object by `gcn asm`. Each reader gives Python the address, mnemonic and
operands of every instruction. The time is this process's and its children's, user and system.
"""

import argparse
import os
import random
import subprocess
import tempfile

import gcn

LINES = [
    "v_add_f32 v{a}, v{b}, v{c}", "v_fma_f32 v{a}, v{b}, v{c}, v{d}", "s_add_u32 s{a}, s{b}, s{c}", "v_mov_b32 v{a}, 0x{x:x}",
    "global_load_dword v{a}, v[{b}:{b1}], off offset:{o}", "ds_read_b32 v{a}, v{b} offset:{o}", "s_waitcnt vmcnt(0)",
    "v_cmp_gt_u32 vcc, s{b}, v{c}", "s_load_dwordx2 s[{e}:{e1}], s[4:5], 0x{o:x}", "v_lshlrev_b32 v{a}, 2, v{b}",
]


def code(count: int) -> bytes:
    """Some thousand random instructions, repeated."""
    random.seed(1)
    lines = []
    for _ in range(4096):
        a, b, c, d = (random.randrange(90) for _ in range(4))
        e = random.randrange(40) * 2
        numbers = {"a": a, "b": b, "b1": b + 1, "c": c, "d": d, "e": e, "e1": e + 1, "o": random.randrange(1000) * 4, "x": random.getrandbits(32)}
        lines.append(random.choice(LINES).format(**numbers))
    part = gcn.asm("\n".join(lines), "gfx900")
    return part * (count // 4096)


def spent(work) -> float:
    """Seconds of processor time."""
    before = os.times()
    work()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--objdump", default="llvm-objdump")
    args.add_argument("--count", type=int, default=400_000)
    given = args.parse_args()
    bytes_ = code(given.count)
    cs = gcn.Cs("gfx900")
    sink = [0]

    def full() -> None:
        sink[0] = sum(1 for i in cs.disasm(bytes_, 0) if (i.address, i.mnemonic, i.op_str))

    def lite() -> None:
        sink[0] = sum(1 for _ in cs.disasm_lite(bytes_, 0))

    def text() -> None:
        sink[0] = cs.text(bytes_).count("\n")

    with tempfile.TemporaryDirectory() as folder:
        raw, file = os.path.join(folder, "raw"), os.path.join(folder, "code.o")
        with open(raw, "wb") as out:
            out.write(bytes_)
        source = f'.amdgcn_target "amdgcn-amd-amdhsa--gfx900"\n.text\n.globl f\nf:\n.incbin "{raw}"\n'
        path = os.path.join(folder, "code.s")
        with open(path, "w") as out:
            out.write(source)
        subprocess.run(["llvm-mc" + given.objdump.removeprefix("llvm-objdump"), "--triple=amdgcn-amd-amdhsa", "--mcpu=gfx900",
                        "--filetype=obj", path, "-o", file], check=True)

        def objdump() -> None:
            command = [given.objdump, "-d", "--mcpu=gfx900", "--no-show-raw-insn", file]
            count = 0
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
                for line in run.stdout:
                    # `\tv_add_f32_e32 v1, v2, v3    // 000000000000: 02020503`
                    if line[0] == "\t":
                        shown, _, place = line.rpartition("//")
                        mnemonic, _, operands = shown.strip().partition(" ")
                        address = int(place.split(":")[0], 16)
                        count += 1 if (address, mnemonic, operands) else 0
            sink[0] = count

        for name, work in [("Cs.disasm", full), ("Cs.disasm_lite", lite), ("Cs.text", text), (given.objdump, objdump)]:
            times = sorted(spent(work) for _ in range(3))
            print(f"{name:16} {times[1] * 1e9 / sink[0]:8.0f} ns an instruction, {sink[0]} instructions")


main()
