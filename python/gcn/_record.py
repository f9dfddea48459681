"""Results that were JSON: dictionaries whose entries are attributes, too."""

from __future__ import annotations

from typing import Any


class Record(dict):
    """A dictionary whose entries can be read as attributes.

    >>> Record(name="vadd", peak=3).peak
    3
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no field {name!r}; there are: {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]
