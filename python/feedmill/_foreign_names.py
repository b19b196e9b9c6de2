"""Answers to names of other libraries, and to misspelt names, in Python's words.

The extension has the answers, which YAML gets, too. Their code is YAML.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from feedmill import _feedmill

_CODE = re.compile(r"`([^`]*)`")
# A step or a source, as `batch: {size: 32}` and `source: {csv: …}` have it.
_PART = re.compile(r"(\w+):(?: (.*))?", re.DOTALL)
# Numbers, and words that stand for a value.
_AS_IT_IS = re.compile(r"…|-?[\d.]+|[A-Z]+|\[.*\]|\".*\"")

_Class = TypeVar("_Class", bound=type)


def hint(name: str, where: str, known: Iterable[str]) -> str:
    """Returns the end of a message: ``"; did you mean …?"``, an answer, or nothing.

    ``where``: the step that would have the option, or ``functions``.
    """
    return in_python(_feedmill.name_hint(name, where, list(known)))


def in_python(answer: str) -> str:
    """Returns an answer with its code in Python."""
    return _CODE.sub(lambda code: f"`{_code(code[1])}`", answer)


def _code(yaml: str) -> str:
    part = _PART.fullmatch(yaml)
    if part is None:
        return yaml
    name, value = part[1], part[2] or ""
    if name == "options":
        return f"with_options({_arguments(value)})"
    if name == "source":
        return f"Dataset.{_code(value[1:-1])}"
    if name in ("select", "drop"):
        value = value.strip("[]")
        return f"{name}({', '.join(_value(one) for one in _items(value))})"
    if name == "parse_example":
        return f"{name}({_value(value)})"
    return f"{name}({_arguments(value)})"


def _arguments(value: str) -> str:
    if not value.startswith("{"):
        return _value(value) if value else ""
    return ", ".join(
        f"{key}={_value(one)}" if one else key for key, one in map(_pair, _items(value[1:-1]))
    )


def _value(text: str) -> str:
    if text.startswith("{"):
        pairs = map(_pair, _items(text[1:-1]))
        return "{" + ", ".join(f'"{key}": {_value(one)}' for key, one in pairs) + "}"
    if text in ("true", "false"):
        return text.capitalize()
    return text if _AS_IT_IS.fullmatch(text) else f'"{text}"'


def _pair(item: str) -> tuple[str, str]:
    key, _, value = item.partition(": ")
    return key, value


def _items(text: str) -> list[str]:
    """Returns the items between commas that are in no brackets."""
    items, depth = [""], 0
    for char in text:
        depth += (char in "[{(") - (char in ")}]")
        if char == "," and depth == 0:
            items.append("")
        else:
            items[-1] += char
    return [item.strip() for item in items if item.strip()]


# ---- methods


def answering(kind: _Class) -> _Class:
    """Has the public methods of a class answer arguments that they do not take."""
    for name in dir(kind):
        method = inspect.getattr_static(kind, name)
        function = method.__func__ if isinstance(method, classmethod) else method
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        if not hasattr(function, "__wrapped__"):
            answers = _answering(function)
            setattr(kind, name, classmethod(answers) if function is not method else answers)
    return kind


def _answering(method: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(method)
    known = [
        name for name, one in signature.parameters.items() if one.kind is not one.POSITIONAL_ONLY
    ][1:]

    @functools.wraps(method)
    def called(*given: Any, **options: Any) -> Any:
        try:
            signature.bind(*given, **options)
        except TypeError as error:
            raise TypeError(_refused(method, known, given, options, error)) from None
        return method(*given, **options)

    return called


def _refused(
    method: Callable[..., Any],
    known: list[str],
    given: tuple[Any, ...],
    options: dict[str, Any],
    error: TypeError,
) -> str:
    name = method.__name__
    unknown = [option for option in options if option not in known]
    if unknown:
        end = hint(unknown[0], name, known) or f"; it has {', '.join(known) or 'no options'}"
        return f"{name}: there is no option {unknown[0]}{end}"
    if len(given) > 1:
        short = in_python(_feedmill.short_form_hint(name))
        if short:
            return f"{name}: its options have names{short}"
    return f"{name}: {error}{_example(method)}; see help(feedmill.Dataset.{name})"


def _example(method: Callable[..., Any]) -> str:
    """Returns a call of a method, of the example in its docstring."""
    call = re.compile(rf"\.({method.__name__}\([^()]*\))")
    lines = [line for line in (method.__doc__ or "").splitlines() if ">>>" in line]
    found = next(filter(None, map(call.search, lines)), None)
    return f"; for example {found[1]}" if found else ""


class AnsweringType(type):
    """The type of datasets. It answers names of other libraries: ``Dataset.list_files``."""

    if not TYPE_CHECKING:  # a type checker reports unknown names

        def __getattr__(cls, name):
            raise no_attribute(cls, name)


def no_attribute(kind: type, name: str) -> AttributeError:
    """Returns the error of a name that datasets do not have."""
    end = "" if name.startswith("_") else hint(name, "", [n for n in dir(kind) if n[0] != "_"])
    return AttributeError(f"a {kind.__name__} has no {name}{end}")
