"""A text that identifies a Python function in every process.

Pickled bytes do not: they depend on the order of sets, and cloudpickle gives classes of the main
script a random number. This file visits what cloudpickle pickles, in an order that depends on
the content alone.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

# Attributes of code that change with lines and paths only, or with the process.
_CODE = (
    "co_argcount co_posonlyargcount co_kwonlyargcount co_flags co_nlocals co_stacksize "
    "co_code co_names co_varnames co_freevars co_cellvars co_name co_qualname co_exceptiontable"
).split()
_GLOBAL_NAMES = frozenset(
    "LOAD_GLOBAL LOAD_NAME LOAD_FROM_DICT_OR_GLOBALS STORE_GLOBAL DELETE_GLOBAL".split()
)
# Attributes of a class that its definition does not write.
_NOT_OF_CLASS = frozenset(
    "__dict__ __weakref__ __module__ __firstlineno__ __static_attributes__ _abc_impl".split()
)


class _UnknownError(Exception):
    """The visit met an object whose content is not known."""


def identity(function: Callable[..., Any], by_value: Iterable[str] = ()) -> str | None:
    """Returns a text that is equal for functions with equal code and values.

    None if the function refers to an object whose content cannot be read. Line numbers, file
    names and comments do not count. A function of a module that can be imported is its name.

    Args:
      by_value: Names of modules whose functions travel themselves.
    """
    visit = _Visit(frozenset(by_value))
    try:
        return "sha256:" + visit.digest(function).hex()[:32]
    except Exception:  # an object may raise anything when it is looked at
        return None


class _Visit:
    def __init__(self, by_value: frozenset[str]) -> None:
        self._by_value = by_value
        self._done: dict[int, bytes] = {}
        self._under_way: dict[int, int] = {}  # depth by id
        self._kept: list[Any] = []  # so that no id is used again

    def digest(self, value: Any) -> bytes:
        key = id(value)
        if key in self._done:
            return self._done[key]
        if key in self._under_way:
            return self._hash("cycle", self._under_way[key])
        self._under_way[key] = len(self._under_way)
        self._kept.append(value)
        try:
            made = self._of(value)
        finally:
            del self._under_way[key]
        self._done[key] = made
        return made

    @staticmethod
    def _hash(kind: str, *parts: Any) -> bytes:
        made = hashlib.sha256(kind.encode())
        for part in parts:
            data = part if isinstance(part, bytes) else repr(part).encode()
            made.update(len(data).to_bytes(8, "little") + data)
        return made.digest()

    def _all(self, kind: str, values: Iterable[Any]) -> bytes:
        return self._hash(kind, *(self.digest(value) for value in values))

    def _named(self, kind: str, values: dict[str, Any]) -> bytes:
        parts: list[Any] = []
        for name in sorted(values):
            parts += [name, self.digest(values[name])]
        return self._hash(kind, *parts)

    def _of(self, value: Any) -> bytes:
        kind = type(value)
        if value is None or value is Ellipsis or value is NotImplemented:
            return self._hash("constant", value)
        if kind in (bool, int, float, complex, str, bytes, bytearray):
            return self._hash(kind.__name__, value)
        if kind in (tuple, list):
            return self._all(kind.__name__, value)
        if kind in (set, frozenset):
            return self._hash(kind.__name__, *sorted(self.digest(one) for one in value))
        if kind in (dict, types.MappingProxyType):
            return self._all("dict", [one for item in value.items() for one in item])
        if kind is types.CodeType:
            return self._code(value)
        if kind is types.FunctionType:
            return self._function(value)
        if kind is types.ModuleType:
            return self._module(value)
        if isinstance(value, type):
            return self._class(value)
        return self._instance(kind, value)

    def _instance(self, kind: type, value: Any) -> bytes:
        if kind is types.MethodType:
            return self._all("method", (value.__func__, value.__self__))
        if kind is types.BuiltinFunctionType and not isinstance(
            value.__self__, (types.ModuleType, types.NoneType)
        ):
            return self._hash("bound", value.__name__, self.digest(value.__self__))
        if kind in (staticmethod, classmethod):
            return self._all(kind.__name__, (value.__func__,))
        if kind is property:
            return self._all("property", (value.fget, value.fset, value.fdel))
        if kind is functools.partial:
            return self._all("partial", (value.func, value.args, value.keywords))
        if kind is np.ndarray:
            content = value.tolist() if value.dtype.hasobject else value.tobytes()
            return self._hash("ndarray", value.dtype.str, value.shape, self.digest(content))
        if self._is_imported(value):
            return self._hash("import", value.__module__, value.__qualname__)
        return self._reduced(value)

    # ---- code, functions, classes, modules

    def _code(self, code: types.CodeType) -> bytes:
        parts = [getattr(code, name, None) for name in _CODE]
        return self._hash("code", *parts, self.digest(code.co_consts))

    def _function(self, function: types.FunctionType) -> bytes:
        if self._is_imported(function):
            return self._hash("import", function.__module__, function.__qualname__)
        cells = []
        for cell in function.__closure__ or ():
            try:
                cells.append(self.digest(cell.cell_contents))
            except ValueError:
                cells.append(b"empty")
        names = set(_global_names(function.__code__))
        used = {name: function.__globals__[name] for name in names if name in function.__globals__}
        annotations = {name: repr(one) for name, one in function.__annotations__.items()}
        if any(" at 0x" in text for text in annotations.values()):
            raise _UnknownError
        return self._hash(
            "function",
            self.digest(function.__code__),
            self.digest(function.__defaults__),
            self._named("defaults", function.__kwdefaults__ or {}),
            *cells,
            self._named("globals", used),
            self._named("annotations", annotations),
            self._named("attributes", dict(function.__dict__)),
        )

    def _class(self, value: type) -> bytes:
        if self._is_imported(value):
            return self._hash("import", value.__module__, value.__qualname__)
        slots = value.__dict__.get("__slots__", ())
        own = {
            name: one
            for name, one in value.__dict__.items()
            if name not in _NOT_OF_CLASS and not isinstance(one, types.MemberDescriptorType)
        }
        return self._hash(
            "class",
            value.__qualname__,
            self.digest(type(value)),
            self._all("bases", value.__bases__),
            self.digest(slots),
            self._named("members", own),
        )

    def _module(self, module: types.ModuleType) -> bytes:
        if sys.modules.get(module.__name__) is not module or module.__name__ == "__main__":
            raise _UnknownError
        return self._hash("module", module.__name__)

    def _is_imported(self, value: Any) -> bool:
        """True if other processes find the value by its module and its name."""
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
            return False
        parts = module.split(".")
        if any(".".join(parts[: k + 1]) in self._by_value for k in range(len(parts))):
            return False
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        return found is value

    # ---- other objects, as pickle takes them apart

    def _reduced(self, value: Any) -> bytes:
        reduce = copyreg.dispatch_table.get(type(value))
        try:
            made = reduce(value) if reduce is not None else value.__reduce_ex__(4)
        except Exception as error:
            raise _UnknownError from error
        if isinstance(made, str):
            return self._hash("import", _module_of(value, made), made)
        parts = [made[0], made[1]]
        for extra in made[2:]:
            parts.append(extra if extra is None or not hasattr(extra, "__next__") else [*extra])
        self._kept.append(parts)
        return self._all("reduced", parts)


def _module_of(value: Any, name: str) -> str:
    module = getattr(value, "__module__", None)
    if isinstance(module, str):
        return module
    found = [
        key
        for key, one in list(sys.modules.items())
        if key != "__main__" and getattr(one, "__dict__", {}).get(name) is value
    ]
    if not found:
        raise _UnknownError
    return min(found)


def _global_names(code: types.CodeType) -> Iterable[str]:
    for one in dis.get_instructions(code):
        if one.opname in _GLOBAL_NAMES:
            yield one.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)
