"""Compiling OpenCL C and HIP with the clang that is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ._error import Error

#: Clangs that are looked for, after the one that is named or in GCN_CLANG.
_CLANGS = ["clang", *(f"clang-{n}" for n in (19, 22, 21, 20, 18, 17, 16, 15, 14))]

#: ROCm's device libraries, where distributions and AMD put them.
_ROCM = ["/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "/opt/rocm/amdgcn/bitcode", "/usr/lib64/amdgcn/bitcode", "/usr/amdgcn/bitcode"]

#: libclc's library.
_LIBCLC = ["/usr/lib/clc/amdgcn--amdhsa.bc", "/usr/share/clc/amdgcn--amdhsa.bc", "/usr/libexec/clc/amdgcn--amdhsa.bc"]

#: What libclc 19 gets wrong from code object v5 on (docs/programs.md).
_OFFSET = """\
__attribute__((overloadable, const)) size_t get_global_offset(uint d) {
  return d < 3 ? ((constant ulong *)__builtin_amdgcn_implicitarg_ptr())[5 + d] : 0;
}
__attribute__((overloadable, const)) size_t get_global_id(uint d) {
  return get_group_id(d) * get_local_size(d) + get_local_id(d) + get_global_offset(d);
}
"""


def find_clang(clang: str | os.PathLike[str] | None = None) -> str:
    """The clang that :func:`compile` uses: the argument, ``GCN_CLANG``, or the first of ``clang``, ``clang-19``, … on PATH."""
    named = clang or os.environ.get("GCN_CLANG")
    for name in [named] if named else _CLANGS:
        found = shutil.which(os.fspath(name))
        if found:
            return found
    if named:
        raise Error(f"there is no compiler `{named}`", kind="compile")
    raise Error(
        "there is no clang on PATH, and gcn.compile needs one with the AMDGPU target: install clang and lld "
        "(Debian: apt install clang-19 lld-19 libclc-19), or name one with clang= or GCN_CLANG",
        kind="compile",
    )


def _version(clang: str) -> int:
    told = subprocess.run([clang, "--version"], capture_output=True, text=True, check=False).stdout
    number = re.search(r"version (\d+)", told)
    return int(number.group(1)) if number else 0


def _library(version: int) -> list[str]:
    """Options for OpenCL's built-in functions."""
    for rocm in _ROCM:
        if Path(rocm, "opencl.bc").exists():
            # Debian's libraries are code object v5's at most.
            cap = ["-mcode-object-version=5"] if version > 19 else []
            return [f"--rocm-device-lib-path={rocm}", *cap]
    for libclc in _LIBCLC:
        if Path(libclc).exists():
            old = version < 19
            how = ["-mcode-object-version=4"] if old else ["-mcode-object-version=5", "-include", "gcn-offset.h"]
            return ["-nogpulib", "-Xclang", "-mlink-builtin-bitcode", "-Xclang", libclc, *how]
    return ["-nogpulib"]


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
    from ._gcn import Cs

    arch = Cs(arch).arch
    compiler = find_clang(clang)
    version = _version(compiler)
    options = list(options)
    path = Path(source) if isinstance(source, os.PathLike) else None
    with tempfile.TemporaryDirectory(prefix="gcn-") as folder:
        if path is None:
            path = Path(folder, "kernel.cl" if lang == "opencl" else "kernel.hip")
            path.write_text(os.fspath(source))
        elif not path.exists():
            raise Error(f"{path}: there is no such file", kind="file", file=str(path))
        Path(folder, "gcn-offset.h").write_text(_OFFSET)
        out = Path(folder, "kernel.co")
        if lang == "opencl":
            how = ["-x", "cl", "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", "-Xclang", "-finclude-default-header", "-I", folder]
            if not any(o.startswith("-cl-std") for o in options):
                how.append("-cl-std=CL2.0")
            how += _library(version)
        else:
            how = ["-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", f"--offload-arch={arch}"]
            how += [f"--rocm-device-lib-path={r}" for r in _ROCM if Path(r).exists()][:1]
        if not any(re.fullmatch(r"-O[0-3sz]", o) for o in options):
            how.append("-O3")
        # The linker beside the compiler, as ld.lld-19, where the plain name is missing.
        if not shutil.which("ld.lld"):
            suffix = re.search(r"-\d+$", os.path.basename(compiler))
            beside = shutil.which("ld.lld" + (suffix.group(0) if suffix else f"-{version}"))
            if beside:
                how.append(f"--ld-path={beside}")
        command = [compiler, *how, *options, str(path), "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not out.exists():
            told = done.stderr.strip() or f"{compiler} ended with status {done.returncode}"
            at = re.search(r"^(.*?):(\d+):(\d+): (?:fatal )?error: ", told, re.MULTILINE)
            fields = {"file": at.group(1), "line": int(at.group(2)), "column": int(at.group(3))} if at else {}
            raise Error(told, kind="compile", **fields)
        return out.read_bytes()
