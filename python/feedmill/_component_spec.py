"""Types of components."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, repr=False)
class ComponentSpec:
    """The dtype and shape of a component; None is a dimension that may differ.

    ``nullable``: its values may be null (docs/steps.md).
    """

    dtype: str
    shape: tuple[int | None, ...]
    nullable: bool = False

    def __repr__(self) -> str:
        nullable = ", nullable=True" if self.nullable else ""
        return f"ComponentSpec(dtype={self.dtype!r}, shape={self.shape!r}{nullable})"

    def _text(self) -> str:
        """Returns the spec as feedmill writes it: ``float32[?, 3]``, ``int64?``."""
        dims = ", ".join("?" if dim is None else str(dim) for dim in self.shape)
        text = f"{self.dtype}[{dims}]" if self.shape else self.dtype
        return f"{text}?" if self.nullable else text


class Schema(dict[str, ComponentSpec]):
    """The components of an element by name, a line each.

    A single component without a name has the name ``""``.
    """

    def __repr__(self) -> str:
        return "\n".join(self._texts())

    def _texts(self) -> list[str]:
        return [f"{name}: {spec._text()}" if name else spec._text() for name, spec in self.items()]

    def _line(self) -> str:
        """Returns all components on one line: ``{image: uint8[?, ?, 3], label: int64}``."""
        line = ", ".join(self._texts())
        return line if "" in self else f"{{{line}}}"
