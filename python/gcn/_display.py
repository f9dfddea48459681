"""Disassembly, the manual and lanes as text and as HTML for notebooks."""

from __future__ import annotations

import html
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _gcn
from ._error import Error

_STYLE = "font-family:monospace;font-size:13px;border-collapse:collapse"


class Listing(list):
    """Instructions, which print as a listing, in notebooks as a table.

    >>> import gcn
    >>> print(gcn.disasm(bytes.fromhex("00010280000081bf"), "gfx900", 0x100))
    0x100  00010280          s_add_u32 s2, s0, s1
    0x104  000081bf          s_endpgm
    """

    def __str__(self) -> str:
        return "\n".join(f"{i.address:#x}  {i.bytes.hex():<16}  {i}".rstrip() for i in self)

    def _repr_html_(self) -> str:
        rows = []
        for i in self:
            cells = (
                f"<td style='color:#888;text-align:right'>{i.address:#x}</td>",
                f"<td style='color:#aaa;text-align:left'>{i.bytes.hex()}</td>",
                f"<td style='text-align:left'><b>{html.escape(i.mnemonic)}</b></td>",
                f"<td style='text-align:left'>{html.escape(i.op_str)}</td>",
            )
            rows.append(f"<tr>{''.join(cells)}</tr>")
        return f"<table style='{_STYLE}'>{''.join(rows)}</table>"


def disasm(code: Any, arch: str, address: int = 0, *, skipdata: bool = True, detail: bool = True) -> Listing:
    """The instructions of raw code, as a list that prints as a listing. Bytes that are no instruction are ``.long``."""
    cs = _gcn.Cs(arch)
    cs.detail, cs.skipdata = detail, skipdata
    return Listing(cs.disasm(code, address))


class Doc(str):
    """A page of the manual: Markdown, which notebooks show as such."""

    def _repr_markdown_(self) -> str:
        return str(self)


def doc(name: str | None = None) -> Doc:
    """A page of the manual: an instruction, a format, an erratum, a check or a hazard; without a name the contents.

    >>> import gcn
    >>> "S_BFE_U32" in gcn.doc("s_bfe_u32").upper()
    True
    """
    return Doc(_gcn.doc(name))


class Lanes(Sequence):
    """The 64 values of a VGPR, or any values by lane, which notebooks show as a picture.

    >>> import gcn
    >>> gcn.Lanes(range(64))[17]
    17
    >>> gcn.Lanes([0x3f800000] * 64).float[0]
    1.0
    """

    def __init__(self, values: Iterable[int], name: str = "", exec: int = (1 << 64) - 1) -> None:
        self.values = [int(v) for v in values]
        self.name = name
        self.exec = exec

    def __getitem__(self, lane: Any) -> Any:
        return self.values[lane]

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.values))

    @property
    def float(self) -> list[float]:
        """The values as f32."""
        return [struct.unpack("<f", struct.pack("<I", v & 0xFFFFFFFF))[0] for v in self.values]

    def __repr__(self) -> str:
        values = self.values
        if len(set(values)) == 1:
            return f"Lanes({self.name or 'all'} = {values[0]:#x})"
        shown = ", ".join(f"{v:#x}" for v in values[:8])
        return f"Lanes({self.name + ' = ' if self.name else ''}{shown}{', …' if len(values) > 8 else ''})"

    def _repr_html_(self) -> str:
        low, high = min(self.values, default=0), max(self.values, default=0)
        span = max(high - low, 1)
        cells = []
        for lane, value in enumerate(self.values):
            active = self.exec >> lane & 1
            shade = f"hsl(210 70% {92 - 50 * (value - low) // span}%)" if active else "#eee"
            tip = f"lane {lane}: {value:#x}" + ("" if active else " (inactive)")
            cells.append(
                f"<td title='{tip}' style='background:{shade};width:3.2em;text-align:right;border:1px solid #fff'>{value:x}</td>"
            )
        rows = "".join(f"<tr>{''.join(cells[n:n + 16])}</tr>" for n in range(0, len(cells), 16))
        caption = f"<caption>{html.escape(self.name)}</caption>" if self.name else ""
        return f"<table style='{_STYLE}'>{caption}{rows}</table>"


class State(dict):
    """What instructions changed: registers by name; VGPRs are :class:`Lanes`. ``end`` and ``pc`` say how the run ended."""

    end: str
    pc: int
    fault: Any

    def _repr_html_(self) -> str:
        rows = []
        for name, value in self.items():
            shown = value._repr_html_() if isinstance(value, Lanes) else html.escape(_show(value))
            rows.append(f"<tr><td style='vertical-align:top'><b>{html.escape(name)}</b></td><td>{shown}</td></tr>")
        return f"<table style='{_STYLE}'>{''.join(rows)}<tr><td>end</td><td>{html.escape(self.end)}</td></tr></table>"


def _show(value: Any) -> str:
    return f"{value:#x}" if isinstance(value, int) else repr(value)


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return f"{struct.unpack('<I', struct.pack('<f', value))[0]:#x}"
    return f"{value:#x}" if isinstance(value, int) else value


def eval(code: str | bytes, arch: str, *, max: int = 10_000, **state: Any) -> State:  # noqa: A001
    """Runs instructions on one wave. Registers are given by name: integers, floats (their bits as f32), or 64 of them for a VGPR.

    >>> import gcn
    >>> gcn.eval("v_add_f32 v2, v0, v1", "gfx900", v0=1.0, v1=2.0)["v2"].float[0]
    3.0
    >>> gcn.eval("s_add_u32 s2, s0, s1", "gfx900", s0=0xffffffff, s1=2)
    {'s2': 1, 'scc': 1}
    """
    given: dict[str, Any] = {}
    for name, value in state.items():
        letter, digits = name[0], name[1:]
        if isinstance(value, Mapping):
            value = {f"{key:#x}": _number(v) for key, v in value.items()}
        elif hasattr(value, "__len__") and not isinstance(value, str):
            value = [_number(v.item() if hasattr(v, "item") else v) for v in value]
        else:
            value = _number(value)
        if letter in "sv" and digits.isdigit():
            given.setdefault(letter, {})[digits] = value
        else:
            given[name] = value
    request: dict[str, Any] = {"arch": arch, "state": given, "max": max}
    if isinstance(code, str):
        request["inst"] = code
    else:
        request["bytes"] = bytes(code).hex()
    answer = json.loads(_gcn.eval_json(json.dumps(request) + "\n"))
    if "error" in answer:
        raise Error(answer["error"], kind="usage")
    changed: dict[str, Any] = answer["state"]
    number = lambda v: int(v, 16) if isinstance(v, str) else v  # noqa: E731
    out = State()
    for name, value in changed.items():
        if name in ("s", "ttmp") and isinstance(value, dict):
            out.update({f"{name}{n}": number(v) for n, v in value.items()})
        elif name == "v":
            out.update({f"v{n}": Lanes(map(number, v), f"v{n}") for n, v in value.items()})
        elif isinstance(value, dict):
            out[name] = {int(at, 16): number(v) for at, v in value.items()}
        else:
            out[name] = number(value)
    out.end, out.pc, out.fault = answer["end"], answer["pc"], answer.get("fault")
    return out
