"""The package's exception."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """What went wrong, with the place as fields; a field that does not apply is ``None``.

    >>> import gcn
    >>> try:
    ...     gcn.Ks("gfx900").asm("s_nop 0; v_ad_f32 v0, v1, v2")
    ... except gcn.Error as error:
    ...     print(error.kind, error.line, error.column)
    assembly 1 10
    """

    #: ``assembly``, ``object``, ``file``, ``kernel``, ``argument``, ``memory``, ``fault``, ``trap``, ``deadlock``,
    #: ``limit``, ``run``, ``compile``, ``usage``
    kind: str
    #: The text of the message.
    message: str
    #: The source file or the input file, and the place in it, from 1.
    file: str | None
    line: int | None
    column: int | None
    #: The address of the instruction, as the disassembly shows it, and the PC in memory.
    address: int | None
    pc: int | None
    #: The address that an instruction could not access.
    fault_address: int | None
    kernel: str | None
    workgroup: list[int] | None
    wave: int | None
    lane: int | None
    #: The instruction's text, and its operands' values.
    instruction: str | None
    operands: list[Any] | None
    #: The number of the argument that does not fit.
    argument: int | None
    #: The number of s_trap.
    trap: int | None
    #: The kernels that there are, where one was not found.
    kernels: list[str] | None
    #: All errors and warnings of the assembler.
    diagnostics: list[Any] | None

    _FIELDS = (
        "file", "line", "column", "address", "pc", "fault_address", "kernel", "workgroup", "wave", "lane",
        "instruction", "operands", "argument", "trap", "kernels", "diagnostics",
    )

    def __init__(self, message: str, *, kind: str = "usage", **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        for name in self._FIELDS:
            setattr(self, name, fields.pop(name, None))
        if fields:
            raise TypeError(f"no such fields: {', '.join(fields)}")

    def __reduce__(self) -> Any:
        fields = {name: getattr(self, name) for name in self._FIELDS}
        return _make, (type(self), self.message, self.kind, fields)


def _make(cls: type[Error], message: str, kind: str, fields: dict[str, Any]) -> Error:
    return cls(message, kind=kind, **fields)


class CsError(Error):
    """An error of :class:`gcn.Cs`, with capstone's number in ``errno``."""

    def __init__(self, errno: int | str, **fields: Any) -> None:
        names = {4: "the mode is not 0", 6: "the option does not exist", 7: "detail is off: set Cs.detail = True",
                 2: "the architecture is none of gfx6 to gfx9", 10: "skipped data has no details"}
        message = errno if isinstance(errno, str) else names.get(errno, f"error {errno}")
        super().__init__(message, **fields)
        self.errno = errno if isinstance(errno, int) else 0

    def __reduce__(self) -> Any:
        return CsError, (self.errno or self.message,)


class KsError(Error):
    """An error of :class:`gcn.Ks`, in keystone's shape."""

    #: The number of statements that were assembled: none.
    stat_count: int = 0

    def get_asm_count(self) -> int:
        """The number of statements that were assembled: none."""
        return self.stat_count
