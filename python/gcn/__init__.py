"""AMD GCN machine code, gfx6 to gfx9: assemble, disassemble, explain and run, without the card.

Disassembly is in the shape of capstone's module, assembly in keystone's:

>>> import gcn
>>> code, count = gcn.Ks("gfx900").asm("v_add_f32 v2, v0, v1; s_endpgm")
>>> for insn in gcn.Cs("gfx900").disasm(code, 0x1000):
...     print(f"{insn.address:#x}  {insn.mnemonic:<14} {insn.op_str}")
0x1000  v_add_f32_e32  v2, v0, v1
0x1004  s_endpgm       

Kernels run on a :class:`Gpu`, with NumPy arrays as buffers, which are changed in place:

>>> import numpy
>>> gpu = gcn.Gpu("gfx900")
>>> kernel = gpu.assemble(gcn.examples.ADD_ONE).kernel()
>>> x = numpy.zeros(100, numpy.uint32)
>>> kernel.launch(100, 64, x).waves
2
>>> int(x.sum())
100
"""

from __future__ import annotations

from . import _gcn, examples
from ._compile import compile
from ._display import Doc, Lanes, Listing, State, disasm, doc, eval
from ._error import CsError, Error, KsError
from ._gcn import *  # noqa: F403  capstone's constants
from ._gcn import (
    TARGETS,
    Buffer,
    Campaign,
    Cs,
    CsInsn,
    CsIter,
    CsOp,
    Gpu,
    Journal,
    Kernel,
    Ks,
    Local,
    Program,
    Stats,
    Uc,
    __version__,
    analyze,
    assemble,
    check,
    dis,
    info,
    merge,
    run_plan,
    run_shard,
)
from ._record import Record

_NAMES = [name for name in dir(_gcn) if name.startswith(("CS_", "UC_"))]


def asm(source: str, arch: str) -> bytes:
    """The bytes of instructions that are separated by ``;`` or line breaks.

    >>> gcn.asm("s_endpgm", "gfx900").hex()
    '000081bf'
    """
    return Ks(arch).asm(source)[0]


def cs_disasm_quick(arch, mode, code, offset, count=0):
    """As capstone's function of this name."""
    return Cs(arch, mode).disasm(code, offset, count)


def cs_disasm_lite(arch, mode, code, offset, count=0):
    """As capstone's function of this name."""
    return Cs(arch, mode).disasm_lite(code, offset, count)


def cs_version() -> tuple[int, int, int]:
    """The version: major, minor, patch."""
    major, minor, patch = __version__.split("-")[0].split(".")
    return int(major), int(minor), int(patch)


def version_bind() -> tuple[int, int, int]:
    """The version of the Python package, which is the library's."""
    return cs_version()


def cs_support(query: str) -> bool:
    """Whether a target is known.

    >>> gcn.cs_support("gfx803"), gcn.cs_support("gfx1030")
    (True, False)
    """
    try:
        return bool(Cs(query))
    except CsError:
        return False


def CS_SKIPDATA_CALLBACK(call):  # noqa: N802  capstone's name
    """The function itself: what capstone wraps for C is called as it is."""
    return call


def debug() -> str:
    """A line about the version and the targets, as capstone's function of this name gives."""
    return f"gcn-{__version__}: {', '.join(TARGETS)}"


def __getattr__(name: str):
    # Ray takes long to import, and is an optional extra.
    if name == "ray":
        import importlib

        return importlib.import_module("gcn.ray")
    raise AttributeError(f"module 'gcn' has no attribute {name!r}")


__all__ = [
    "TARGETS", "Buffer", "Campaign", "Cs", "CsError", "CsInsn", "CsIter", "CsOp", "Doc", "Error", "Gpu", "Journal", "Kernel", "Ks", "KsError", "Lanes",
    "Listing", "Local", "Program", "Record", "State", "Stats", "Uc", "__version__", "analyze", "asm", "assemble", "check", "compile",
    "cs_disasm_lite", "cs_disasm_quick", "cs_support", "cs_version", "debug", "version_bind", "CS_SKIPDATA_CALLBACK", "dis", "disasm", "doc", "eval", "examples", "info", "merge", "run_plan", "run_shard", *_NAMES,
]
