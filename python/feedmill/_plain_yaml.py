"""Definitions of pipelines as YAML text, and back.

A definition is made of dicts, lists, strings, numbers, bools and None, as YAML
has them. :class:`PlainScalar` is a scalar whose spelling must stay as it is.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, TypeAlias

from feedmill import _feedmill
from feedmill.errors import InvalidArgumentError

Value: TypeAlias = "bool | int | float | str | list[Any] | dict[str, Any] | None"

# Words that YAML reads as texts without quotes.
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*\Z")
_RESERVED = {"null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"}


class PlainScalar(str):
    """A scalar that is written without quotes: ``007``, ``0x10``, ``True``."""

    __slots__ = ()


def _quoted(text: str) -> str:
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise InvalidArgumentError(
            f"{text!r} is not text: YAML holds Unicode only; rename the file, or name it by a glob"
        )
    if _WORD.match(text) and text.lower() not in _RESERVED:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() or c == " " else f"\\U{ord(c):08x}" for c in quoted)


def inline(value: Value) -> str:
    """Returns ``value`` as YAML on one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, PlainScalar):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return repr(value)
        return {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    return "{" + ", ".join(f"{_quoted(k)}: {inline(v)}" for k, v in value.items()) + "}"


def step_line(step: dict[str, Value]) -> str:
    """Returns a step as YAML; one without options is its name alone."""
    ((name, options),) = step.items()
    if options is None:
        return name
    return f"{name}: {inline(options)}"


def dump(definition: dict[str, Any]) -> str:
    """Returns a definition as YAML, a line for the source and for each step."""
    ((source, options),) = definition["source"].items()
    lines = [f"source: {{{source}: {inline(options)}}}"]
    if definition.get("steps"):
        lines.append("steps:")
        for step in definition["steps"]:
            text = step_line(step)
            lines.append(f"  - {text}")
    if definition.get("options"):
        lines.append(f"options: {inline(definition['options'])}")
    return "\n".join(lines) + "\n"


def _plain(found: dict[str, Any]) -> Any:
    if found.keys() == {"$plain"}:
        return PlainScalar(found["$plain"])
    if "source" in found and isinstance(found.get("steps"), list):
        found["steps"] = [{one: None} if isinstance(one, str) else one for one in found["steps"]]
    return found


def load(text: str) -> dict[str, Any]:
    """Returns the definition in YAML that the reader of pipelines took."""
    definition: dict[str, Any] = json.loads(_feedmill.yaml_to_json(text), object_hook=_plain)
    return definition
