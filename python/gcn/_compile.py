"""Compiling OpenCL C and HIP with the clang that is installed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from . import _gcn
from ._error import Error


def find_clang(clang: str | os.PathLike[str] | None = None) -> str:
    """The clang that :func:`compile` uses: the argument, ``GCN_CLANG``, or the first of ``clang``, ``clang-19``, … on PATH."""
    return _gcn.find_clang(clang or None)


def compile(
    source: str | os.PathLike[str],
    arch: str,
    lang: str = "opencl",
    *,
    options: Iterable[str] = (),
    clang: str | os.PathLike[str] | None = None,
) -> bytes:
    """The code object that clang makes of OpenCL C (``lang="opencl"``) or HIP (``"hip"``). ``source`` is text, or a path.

    ``options`` are further options of clang; without an optimisation level, -O3 is used.

    >>> import shutil, gcn
    >>> code = gcn.compile("kernel void f(global int *x) { x[get_global_id(0)] = 1; }", "gfx900")
    >>> gcn.Gpu("gfx900").load(code).kernels
    ['f']
    """
    if lang not in ("opencl", "hip"):
        raise Error(f"`{lang}` is no language: expected opencl or hip", kind="usage")
    path = Path(source) if isinstance(source, os.PathLike) else None
    if path is not None and not path.exists():
        raise Error(f"{path}: there is no such file", kind="file", file=str(path))
    with tempfile.TemporaryDirectory(prefix="gcn-") as folder:
        if path is None:
            path = Path(folder, "kernel.cl" if lang == "opencl" else "kernel.hip")
            path.write_text(os.fspath(source))
        return _gcn.compile_file(path, arch, lang, list(options), clang or None)
