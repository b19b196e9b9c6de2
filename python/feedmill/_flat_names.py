"""Results that an element cannot be: tuples, and dicts in dicts.

An element is one value, or values by name. A list is one array.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# The component with which an expression's text begins, and no function.
_BEGINS_WITH = re.compile(r"[A-Za-z_]\w*(?![\w.(])")


def flat_names(result: Any, text_of: Callable[[Any], str]) -> str | None:
    """Returns what ``result`` is, and the dict to write instead; None if it is an element.

    ``text_of``: the text of a value in that dict.
    """
    made = result if isinstance(result, Mapping) else {"": result}
    for name, value in made.items():
        if not isinstance(value, (tuple, Mapping)):
            continue
        kind = "a tuple" if isinstance(value, tuple) else "a dict"
        where = f" as component '{name}'" if name else ""
        advice = f"{kind}{where}, and each component needs a name of its own; return\n  "
        advice += _dict_text(result, text_of)
        if isinstance(value, tuple):
            advice += f"\nor, for one array, the list [{', '.join(map(text_of, value))}]"
        return advice
    return None


def _dict_text(result: Any, text_of: Callable[[Any], str]) -> str:
    texts: dict[str, str] = {}
    for name, text in _leaves("", result, text_of):
        free = name
        while free in texts:
            free = f"{name}_{len(texts)}"
        texts[free] = text
    return "{" + ", ".join(f'"{name}": {text}' for name, text in texts.items()) + "}"


def _leaves(name: str, value: Any, text_of: Callable[[Any], str]) -> Iterator[tuple[str, str]]:
    """Yields the names of values, joined with those around them, and the values' texts."""
    if not isinstance(value, (tuple, Mapping)):
        yield name, text_of(value)
        return
    inner = (
        value.items()
        if isinstance(value, Mapping)
        else zip(getattr(value, "_fields", range(len(value))), value, strict=False)
    )
    for key, one in inner:
        if isinstance(key, int):
            begin = _BEGINS_WITH.match(text_of(one))
            key = f"value_{key}" if begin is None else begin[0]
        yield from _leaves(f"{name}_{key}" if name else str(key), one, text_of)
