"""Expressions over the components of an element, built with Python's operators.

``fm.col("image") / 255`` is the expression ``image / 255`` of docs/expressions.md.
An expression is text that the workers compile. No Python code runs there.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from feedmill import _arguments as check
from feedmill._flat_names import flat_names
from feedmill._trace_errors import trace_error, trace_error_of

Scalar: TypeAlias = "bool | int | float | str | bytes | np.generic"
Operand: TypeAlias = "Expr | Scalar | Sequence[Any] | np.ndarray[Any, Any]"

# Precedence of a text, as in Python's grammar.
_ANY, _OR, _AND, _COMPARE, _BIT_OR, _BIT_XOR, _BIT_AND, _SHIFT = range(8)
_SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(8, 13)

_LEVELS = {
    "or": _OR, "and": _AND,
    "<": _COMPARE, "<=": _COMPARE, ">": _COMPARE, ">=": _COMPARE, "==": _COMPARE, "!=": _COMPARE,
    "|": _BIT_OR, "^": _BIT_XOR, "&": _BIT_AND, "<<": _SHIFT, ">>": _SHIFT,
    "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT,
    "@": _PRODUCT,
}  # fmt: skip

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# The dtypes of numbers and bools.
DTYPES = frozenset(
    ["bool", "float16", "bfloat16", "float32", "float64"]
    + [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
)

_NO_TRUTH = (
    "an expression has no truth value here: it stands for all elements. Write\n"
    "  fm.functions.where(c, a, b)   for  a if c else b\n"
    "  a & b, a | b, ~a              for  a and b, a or b, not a\n"
    "  (a < b) & (b < c)             for  a < b < c\n"
    "and Dataset.filter(condition) to leave elements out"
)


def literal(value: Operand) -> Expr:
    """Returns ``value`` as an expression; an expression is returned as it is."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, Element):
        return value._whole()
    if isinstance(value, np.generic):
        return _numpy_scalar(value)
    if isinstance(value, bool):
        return Expr(str(value), _ATOM)
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, str):
        return Expr(_bytes_text(value.encode()), _ATOM)
    if isinstance(value, bytes):
        return Expr(_bytes_text(value), _ATOM)
    if isinstance(value, np.ndarray):
        dtype = dtype_name(value.dtype)
        return Expr(f"cast({literal(value.tolist())._text}, {dtype})", _ATOM)
    if isinstance(value, Sequence):  # the arguments of functions may be tuples
        items = ", ".join(literal(item)._text for item in value)
        return Expr(f"[{items}]", _ATOM)
    return _refuse_operand(value)


def _refuse_operand(value: object) -> NoReturn:
    raise trace_error(
        f"a {type(value).__name__} cannot be part of an expression; use numbers, bools, texts, "
        "bytes, NumPy scalars and arrays, lists of these, and fm.functions"
    )


def _number(value: int | float) -> Expr:
    if isinstance(value, float) and value != value:
        return Expr("(1e999 - 1e999)", _ATOM)
    text = repr(value).replace("inf", "1e999")
    return Expr(text, _SIGN if text.startswith("-") else _ATOM)


def _numpy_scalar(value: np.generic) -> Expr:
    item = value.item()
    if isinstance(value, (np.bool_, np.str_, np.bytes_)):
        return literal(item)
    return Expr(f"cast({literal(item)._text}, {dtype_name(value.dtype)})", _ATOM)


def _bytes_text(value: bytes) -> str:
    return repr(value)[1:]


def dtype_name(dtype: Any) -> str:
    """Returns the name that expressions have for a dtype of NumPy or Python."""
    if dtype in (str, bytes, "str", "bytes"):
        return dtype if isinstance(dtype, str) else str(dtype.__name__)
    if isinstance(dtype, str) and dtype == "bfloat16":  # NumPy has it with ml_dtypes alone
        return dtype
    name = str(np.dtype(dtype).name)
    if name not in DTYPES:
        raise trace_error(
            f"expressions have no dtype {name}; they have {', '.join(sorted(DTYPES))}"
        )
    return name


def component_text(name: str) -> str:
    """Returns a component's name as expressions write it."""
    if _IDENTIFIER.match(name) and not keyword.iskeyword(name):
        return name
    return f"component({_bytes_text(name.encode('utf-8', 'surrogateescape'))})"


class Expr:
    """An expression over the components of an element. Immutable.

    Operators, NumPy's functions that docs/expressions.md lists and
    :mod:`feedmill.functions` make larger expressions of it. Code that needs a
    value now (``if``, ``int()``, a chained comparison) raises
    :class:`~feedmill.TraceError`.

    >>> import feedmill as fm
    >>> fm.col("image") / 255
    Expr('image / 255')
    """

    __slots__ = ("_level", "_text")
    _text: str
    _level: int

    def __init__(self, text: str, level: int = _ANY) -> None:
        object.__setattr__(self, "_text", text)
        object.__setattr__(self, "_level", level)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an expression does not change; cannot set {name}")

    @property
    def text(self) -> str:
        """The expression as docs/expressions.md writes it."""
        return self._text

    def __repr__(self) -> str:
        return f"Expr({self._text!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Expr, (self._text, self._level))

    # ---- parts of texts

    def _at(self, level: int) -> str:
        return self._text if self._level >= level else f"({self._text})"

    def _then(self, symbol: str, other: Operand) -> Expr:
        level = _LEVELS[symbol]
        right = literal(other)
        # Comparisons would chain.
        left = self._at(level + 1 if level == _COMPARE else level)
        return Expr(f"{left} {symbol} {right._at(level + 1)}", level)

    # ---- operators

    def __add__(self, other: Operand) -> Expr:
        return self._then("+", other)

    def __radd__(self, other: Operand) -> Expr:
        return literal(other)._then("+", self)

    def __sub__(self, other: Operand) -> Expr:
        return self._then("-", other)

    def __rsub__(self, other: Operand) -> Expr:
        return literal(other)._then("-", self)

    def __mul__(self, other: Operand) -> Expr:
        return self._then("*", other)

    def __rmul__(self, other: Operand) -> Expr:
        return literal(other)._then("*", self)

    def __truediv__(self, other: Operand) -> Expr:
        return self._then("/", other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return literal(other)._then("/", self)

    def __floordiv__(self, other: Operand) -> Expr:
        return self._then("//", other)

    def __rfloordiv__(self, other: Operand) -> Expr:
        return literal(other)._then("//", self)

    def __mod__(self, other: Operand) -> Expr:
        return self._then("%", other)

    def __rmod__(self, other: Operand) -> Expr:
        return literal(other)._then("%", self)

    def __matmul__(self, other: Operand) -> Expr:
        return self._then("@", other)

    def __rmatmul__(self, other: Operand) -> Expr:
        return literal(other)._then("@", self)

    def __pow__(self, other: Operand) -> Expr:
        return Expr(f"{self._at(_ATOM)} ** {literal(other)._at(_SIGN)}", _POWER)

    def __rpow__(self, other: Operand) -> Expr:
        return literal(other) ** self

    def __and__(self, other: Operand) -> Expr:
        return self._then("&", other)

    def __rand__(self, other: Operand) -> Expr:
        return literal(other)._then("&", self)

    def __or__(self, other: Operand) -> Expr:
        return self._then("|", other)

    def __ror__(self, other: Operand) -> Expr:
        return literal(other)._then("|", self)

    def __xor__(self, other: Operand) -> Expr:
        return self._then("^", other)

    def __rxor__(self, other: Operand) -> Expr:
        return literal(other)._then("^", self)

    def __lshift__(self, other: Operand) -> Expr:
        return self._then("<<", other)

    def __rlshift__(self, other: Operand) -> Expr:
        return literal(other)._then("<<", self)

    def __rshift__(self, other: Operand) -> Expr:
        return self._then(">>", other)

    def __rrshift__(self, other: Operand) -> Expr:
        return literal(other)._then(">>", self)

    def __lt__(self, other: Operand) -> Expr:
        return self._then("<", other)

    def __le__(self, other: Operand) -> Expr:
        return self._then("<=", other)

    def __gt__(self, other: Operand) -> Expr:
        return self._then(">", other)

    def __ge__(self, other: Operand) -> Expr:
        return self._then(">=", other)

    def __eq__(self, other: Operand) -> Expr:  # type: ignore[override]
        return self._then("==", other)

    def __ne__(self, other: Operand) -> Expr:  # type: ignore[override]
        return self._then("!=", other)

    # A dict or set would compare keys, and an expression has no truth value.
    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Expr:
        return Expr(f"-{self._at(_SIGN)}", _SIGN)

    def __pos__(self) -> Expr:
        return Expr(f"+{self._at(_SIGN)}", _SIGN)

    def __invert__(self) -> Expr:
        return Expr(f"~{self._at(_SIGN)}", _SIGN)

    def __abs__(self) -> Expr:
        return call("abs", self)

    def __round__(self, digits: int | None = None) -> Expr:
        if digits:
            raise trace_error(
                f"round(x, {digits}) is no expression; write round(x * 10**n) / 10**n"
            )
        return call("round", self)

    def __getitem__(self, index: Any) -> Expr:
        indexes = index if isinstance(index, tuple) else (index,)
        return Expr(f"{self._at(_ATOM)}[{', '.join(map(_index_text, indexes))}]", _ATOM)

    # ---- methods of NumPy's arrays

    def astype(self, dtype: Any) -> Expr:
        """``cast(x, dtype)``: NumPy's ``astype``."""
        return Expr(f"cast({self._text}, {dtype_name(dtype)})", _ATOM)

    def sum(self, axis: int | None = None) -> Expr:
        """The sum of all items, or along one axis."""
        return _along("sum", self, axis)

    def prod(self, axis: int | None = None) -> Expr:
        """The product of all items, or along one axis."""
        return _along("prod", self, axis)

    def mean(self, axis: int | None = None) -> Expr:
        """The mean of all items, or along one axis."""
        return _along("mean", self, axis)

    def min(self, axis: int | None = None) -> Expr:
        """The least of all items, or along one axis."""
        return _along("min", self, axis)

    def max(self, axis: int | None = None) -> Expr:
        """The greatest of all items, or along one axis."""
        return _along("max", self, axis)

    def any(self, axis: int | None = None) -> Expr:
        """True if any item is true, of all or along one axis."""
        return _along("any", self, axis)

    def all(self, axis: int | None = None) -> Expr:
        """True if all items are true, of all or along one axis."""
        return _along("all", self, axis)

    def argmin(self, axis: int | None = None) -> Expr:
        """The place of the least item, of all or along one axis."""
        return _along("argmin", self, axis)

    def argmax(self, axis: int | None = None) -> Expr:
        """The place of the greatest item, of all or along one axis."""
        return _along("argmax", self, axis)

    def clip(self, low: Operand, high: Operand) -> Expr:
        """``clip(x, low, high)``."""
        return call("clip", self, low, high)

    def reshape(self, *shape: Any) -> Expr:
        """``reshape(x, [n, …])`` in C order; one dimension may be -1."""
        dims = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return call("reshape", self, list(dims))

    def transpose(self, *axes: Any) -> Expr:
        """``transpose(x)`` reverses the axes, or puts them in the order given."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        return call("transpose", self, list(order)) if order else call("transpose", self)

    @property
    def shape(self) -> Expr:
        """``shape(x)``: an array of the dimensions."""
        return call("shape", self)

    @property
    def T(self) -> Expr:  # noqa: N802
        """``transpose(x)``."""
        return call("transpose", self)

    # ---- NumPy's functions

    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Expr:
        from feedmill import _numpy_functions

        return _numpy_functions.ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self, function: Any, types: Any, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Expr:
        from feedmill import _numpy_functions

        return _numpy_functions.function(function, arguments, options)

    # ---- what needs a value now

    def __bool__(self) -> NoReturn:
        raise trace_error(_NO_TRUTH)

    def __int__(self) -> NoReturn:
        raise trace_error("int(x) needs a value now; write x.astype(np.int64)")

    def __index__(self) -> NoReturn:
        raise trace_error(
            "an expression is no index or count: it has no value here; fm.functions.gather(a, i) "
            "is a[i]"
        )

    def __float__(self) -> NoReturn:
        raise trace_error(
            "float(x) and math.f(x) need a value now; write x.astype(np.float64), np.f(x) or "
            "fm.functions.f(x)"
        )

    def __complex__(self) -> NoReturn:
        raise trace_error("expressions have no complex numbers")

    def __len__(self) -> NoReturn:
        raise trace_error(
            "len(x) needs a value now, because Python's len is an int; fm.functions.len(x) is the "
            "number of items of an array, fm.functions.length(x) the bytes of each text"
        )

    def __iter__(self) -> NoReturn:
        raise trace_error(
            "a loop over an expression needs its value now; NumPy's functions act on all items at "
            "once, and Dataset.flat_map makes an element of each"
        )

    def __contains__(self, item: object) -> NoReturn:
        raise trace_error(
            "`a in x` needs a value now; write (x == a).any(), fm.functions.isin(a, [b, c]) for "
            "a in [b, c], or fm.functions.contains(text, part)"
        )

    def __format__(self, spec: str) -> NoReturn:
        raise trace_error(
            "a formatted text needs a value now; write fm.functions.to_string(x) for an integer"
        )

    def __array__(self, *arguments: Any, **options: Any) -> NoReturn:
        raise trace_error("np.asarray(x) needs a value now; NumPy's functions take x itself")

    def __divmod__(self, other: object) -> NoReturn:
        raise trace_error("divmod(a, b) is two values; write a // b and a % b")

    def __call__(self, *arguments: Any, **options: Any) -> NoReturn:
        """Raises TraceError: an expression is no function."""
        raise trace_error(
            f"{self._text} is a component and no function; write np.f(e) or fm.functions.f(e) for "
            "a function of the single unnamed component"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise trace_error(
            f"an expression has no .{name}; fm.functions has the functions that there are"
        )


def _index_text(index: Any) -> str:
    """Returns one of the indexes in brackets, as expressions write it."""
    if index is Ellipsis:
        return "..."
    if isinstance(index, slice):
        text = f"{_bound_text(index.start)}:{_bound_text(index.stop)}"
        if index.step is None:
            return text
        if isinstance(index.step, (Expr, Element)):
            raise trace_error("the step of a slice is an integer, and not computed")
        return f"{text}:{_bound_text(index.step)}"
    if index is None or isinstance(index, (bool, np.bool_, list, np.ndarray)):
        raise trace_error(
            "an index is an integer, a slice or ...; fm.functions.gather(x, indices) is "
            "x[indices], and x.reshape(…) is x[None]"
        )
    return _bound_text(index)


def _bound_text(bound: Any) -> str:
    if bound is None:
        return ""
    if isinstance(bound, Element):
        bound = bound._whole()
    if isinstance(bound, Expr):
        return bound._text
    if isinstance(bound, (bool, np.bool_)) or not isinstance(bound, (int, np.integer)):
        raise trace_error(
            f"an index or a bound of a slice is an integer, not a {type(bound).__name__}"
        )
    return str(int(bound))


def call(function: str, *arguments: Operand) -> Expr:
    """Returns the expression ``function(arguments…)``."""
    texts = ", ".join(literal(argument)._text for argument in arguments)
    return Expr(f"{function}({texts})", _ATOM)


def _along(function: str, value: Operand, axis: int | None) -> Expr:
    return call(function, value) if axis is None else call(function, value, axis)


def join(symbol: str, left: Operand, right: Operand) -> Expr:
    """Returns ``left symbol right``."""
    return literal(left) ** right if symbol == "**" else literal(left)._then(symbol, right)


def col(name: str) -> Expr:
    """Returns the component ``name``; ``"x"`` is the single unnamed one.

    >>> import feedmill as fm
    >>> fm.col("area") / 100 > 1
    Expr('area / 100 > 1')
    """
    return Expr(component_text(check.text("name", name)), _ATOM)


def expr(text: str) -> Expr:
    """Returns the expression of a text of docs/expressions.md.

    >>> import feedmill as fm
    >>> fm.expr("a + b") * 2
    Expr('(a + b) * 2')
    """
    return Expr(check.text("text", text))


class _ComponentOrMethod(Expr):
    """``e.sum`` is a component; ``e.sum()`` is the method of the unnamed one."""

    __slots__ = ()

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return getattr(Expr("x", _ATOM), self._text)(*arguments, **options)


# The key of **e in the dict that a traced function returns.
OTHERS = "**"


class Element:
    """The element in a function that ``map`` and ``filter`` trace.

    ``e.image`` and ``e["image"]`` are components. Operators, functions and methods
    that are called act on the single unnamed component. ``{**e, "area": e.w * e.h}``
    keeps all components and adds one, or replaces one.
    """

    __slots__ = ()

    def _whole(self) -> Expr:
        return Expr("x", _ATOM)

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("__"):
            raise AttributeError(name)
        method = callable(getattr(Expr, name, None)) and not name.startswith("_")
        return _ComponentOrMethod(name, _ATOM) if method else col(name)

    def __getitem__(self, index: Any) -> Expr:
        return col(index) if isinstance(index, str) else self._whole()[index]

    def keys(self) -> tuple[str]:
        """Stands for the names of all components, for ``{**e}``."""
        return (OTHERS,)

    def __repr__(self) -> str:
        return "Element()"

    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000


def _forward(name: str) -> Callable[..., Any]:
    def method(self: Element, *arguments: Any, **options: Any) -> Any:
        return getattr(Expr, name)(self._whole(), *arguments, **options)

    method.__name__ = name
    return method


_OWN = {*vars(Element), "__init__", "__setattr__", "__reduce__", "__call__"} - {"__eq__"}
for _name in vars(Expr):
    if _name.startswith("__") and _name not in _OWN and callable(getattr(Expr, _name)):
        setattr(Element, _name, _forward(_name))


def trace(function: Callable[[Any], Any]) -> Any:
    """Calls ``function`` with an :class:`Element`, twice.

    Raises TraceError if the two results differ: a random number would be the same for
    all elements. Raises it, too, if the result is a tuple or has inner names, and if
    the function does not take one argument.
    """
    _check_signature(function)
    first, second = function(Element()), function(Element())
    if repr(first) != repr(second):
        raise trace_error_of(
            function,
            f"the function gives another expression each time it is called, {first!r} and "
            f"{second!r}: its random number or counter would be one constant for all elements; "
            "write fm.functions.random.uniform() for a random number of each element",
        )
    nested = nesting(first)
    if nested is not None:
        raise trace_error_of(function, f"the function returned {nested}")
    return first


def _check_signature(function: Callable[[Any], Any]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # some functions in C have none
    try:
        signature.bind(None)
    except TypeError:
        raise trace_error_of(
            function,
            f"the function takes {signature}, and it is called with one element; write, for "
            "example, lambda e: e.image / 255",
        ) from None


def nesting(made: Any) -> str | None:
    """Returns what is wrong with a result that is a tuple or has inner names; else None."""

    def text(value: Any) -> str:
        if isinstance(value, Element):
            value = value._whole()
        return value.text if isinstance(value, Expr) else repr(value)

    return flat_names(made, text)
