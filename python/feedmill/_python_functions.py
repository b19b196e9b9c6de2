"""Python functions as steps: pickling them, and finding out what they return."""

from __future__ import annotations

import base64
import inspect
import itertools
import os
import pickle
import platform
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from feedmill import _arguments as check
from feedmill._flat_names import flat_names
from feedmill._function_identity import identity
from feedmill._trace_errors import place_of
from feedmill._values import plain
from feedmill.errors import FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    from feedmill.dataset import ComponentSpec

Call: TypeAlias = Literal["element", "batch", "filter"]
# The types of what a function returns: (dtype, shape) by name, or of a bare value.
OutputType: TypeAlias = "tuple[Any, Sequence[int | None]]"
OutputTypes: TypeAlias = "Mapping[str, OutputType] | OutputType"
Spec: TypeAlias = "ComponentSpec | dict[str, ComponentSpec]"

# Every function needs them; a worker must have the same versions.
_PACKAGES = ("numpy", "cloudpickle")
_DTYPES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()
)

_generator: np.random.Generator | None = None


def rng() -> np.random.Generator:
    """Returns the random generator of the element that a Python function makes.

    Its seed depends on the dataset's seed, the epoch, the step and the element's place.
    An element gets the same numbers on every worker and after every crash.

    Raises FailedPreconditionError outside of a function given to ``map(…,
    python=True)`` or ``filter(…, python=True)``.
    """
    if _generator is None:
        raise FailedPreconditionError(
            "fm.rng() is for a function given to map(…, python=True) or filter(…, python=True): "
            "it is called while an element is made"
        )
    return _generator


# The process of the function has a module of that name with this one function.
rng.__module__ = "feedmill"


class Element(dict[str, Any]):
    """The components of an element by name; ``e.image`` is ``e["image"]``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def local_interpreter() -> tuple[str, str]:
    """Returns the interpreter of this process, and its PYTHONPATH."""
    if not sys.executable or not os.access(sys.executable, os.X_OK):
        return "", ""
    return sys.executable, os.pathsep.join(path for path in sys.path if path)


def interpreter(allow: str | os.PathLike[str] | bool | None) -> tuple[str, str]:
    """Returns the interpreter of a worker's ``allow_python``, and its PYTHONPATH."""
    if allow is True:
        return local_interpreter()
    return ("" if not allow else os.fspath(allow)), ""


def python_step(
    function: Any,
    spec: Callable[[], Spec],
    *,
    call: Call,
    output: OutputTypes | None,
    packages: Sequence[str],
    timeout: float,
    memory_bytes: int,
    deterministic: bool,
    version: str | None,
) -> dict[str, Any]:
    """Returns the options of a step that calls ``function``."""
    if not callable(function):
        raise InvalidArgumentError(
            f"python=True needs a function, and {function!r} is a {type(function).__name__}"
        )
    step: dict[str, Any] = {
        "function": base64.b64encode(_pickled(function)).decode(),
        "python": platform.python_version(),
        "packages": _versions(packages),
        "timeout_seconds": plain(timeout),
    }
    name = _identity(function) if version is None else version
    if name is not None:
        step["version"] = name
    if call != "element":
        step["call"] = call
    if call != "filter":
        step["output"] = (
            _declared(output) if output is not None else _inferred(function, spec(), call)
        )
    if memory_bytes:
        step["memory_bytes"] = plain(memory_bytes)
    if deterministic:
        step["deterministic"] = True
    return step


def generator_source(
    function: Any,
    shards: int,
    *,
    length: int | Sequence[int] | None,
    output: OutputTypes | None,
    packages: Sequence[str],
    timeout: float,
    memory_bytes: int,
    version: str | None,
) -> dict[str, Any]:
    """Returns the options of a source of the elements that ``function`` yields."""
    if not callable(function):
        raise InvalidArgumentError(
            f"from_generator needs a function, and {function!r} is a {type(function).__name__}; "
            "give it the function that makes the elements, and do not call that function"
        )
    called = _of_shards(function, check.count("shards", shards))
    source: dict[str, Any] = {
        "function": base64.b64encode(_pickled(called)).decode(),
        "output": _declared(output) if output is not None else _yielded(function, called, shards),
        "python": platform.python_version(),
        "packages": _versions(packages),
        "shards": plain(shards),
        "timeout_seconds": plain(timeout),
    }
    name = _identity(called) if version is None else version
    if name is not None:
        source["version"] = name
    if length is not None:
        source["length"] = _lengths(length, shards)
    if memory_bytes:
        source["memory_bytes"] = plain(memory_bytes)
    return source


def _lengths(length: int | Sequence[int], shards: int) -> list[Any]:
    """Returns one number of elements for all shards, or one for each."""
    if not isinstance(length, Sequence):
        return [plain(length)]
    if len(length) != shards:
        raise InvalidArgumentError(
            f"length has {len(length)} numbers, and there are {shards} shards; it is the number "
            "of elements of all shards, or a list with the number of each"
        )
    return [plain(one) for one in length]


def _of_shards(function: Callable[..., Any], shards: int) -> Callable[[int, int], Any]:
    """Returns a function of (shard, shards)."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return function
    try:
        signature.bind(0, 1)
        return function
    except TypeError:
        pass
    try:
        signature.bind()
    except TypeError:
        raise InvalidArgumentError(
            f"the generator takes {signature}; it is called with (shard, shards), or without "
            "arguments if there is one shard"
        ) from None
    if shards != 1:
        raise InvalidArgumentError(
            f"the generator takes no arguments, and so would make each of {shards} shards the "
            "same; let it take (shard, shards)"
        )

    def called(shard: int, shards: int) -> Any:
        return function()

    called.__wrapped__ = function  # type: ignore[attr-defined]  # for messages
    return called


def _yielded(
    function: Callable[..., Any], called: Callable[[int, int], Any], shards: int
) -> dict[str, str]:
    """Returns the types of the first two elements of the first shard."""
    try:
        source = called(0, shards)
        if not hasattr(source, "__iter__") and not hasattr(source, "__getitem__"):
            raise InvalidArgumentError(
                f"{place_of(function)}the generator returned a {type(source).__name__}; it must "
                "yield the elements of its shard, or return an iterable of them"
            )
        iterator = iter(source)
        first = [
            _components(element, place_of(function), "the generator yielded")
            for element in itertools.islice(iterator, 2)
        ]
    except InvalidArgumentError:
        raise
    except (Exception, SystemExit) as error:
        raise InvalidArgumentError(
            f"{place_of(function)}the generator raised {_text_of(error)}, when it was called to "
            "find out what it yields; declare it: "
            'output={"image": ("float32", (224, 224, 3))}'
        ) from error
    if not first:
        raise InvalidArgumentError(
            "the first shard has no element, so that the types are not known; declare them: "
            'output={"image": ("float32", (224, 224, 3))}'
        )
    _check_state(function, iterator, source)
    return _types_of(first[0], first[-1], None, place_of(function))


_STATE_METHODS = ("state_dict", "load_state_dict")


def _check_state(function: Callable[..., Any], iterator: Any, source: Any) -> None:
    """Raises if the state of a generator's iterator cannot go to another process."""
    found = [
        (holder, [name for name in _STATE_METHODS if callable(getattr(holder, name, None))])
        for holder in (iterator, source)
    ]
    holder = next((holder for holder, methods in found if len(methods) == 2), None)
    if holder is None:
        for half, methods in found:
            if methods:
                (missing,) = set(_STATE_METHODS) - set(methods)
                raise InvalidArgumentError(
                    f"{place_of(function)}the generator makes a {type(half).__qualname__} that has "
                    f"{methods[0]}(), and no {missing}(): a shard that continues elsewhere needs "
                    "both. Add the other one, or remove this one: then the shard is made again "
                    "from its beginning"
                )
        return
    try:
        pickle.dumps(holder.state_dict())
    except Exception as error:
        raise InvalidArgumentError(
            f"{place_of(function)}the generator makes a {type(holder).__qualname__}, whose state "
            f"cannot be kept: {_text_of(error)}; state_dict() must return numbers, texts, lists "
            "and dicts; open files and connections again in load_state_dict()"
        ) from error


def _text_of(error: BaseException) -> str:
    """Returns the type and the text of an exception, whose ``str()`` may fail."""
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def _pickled(function: Callable[..., Any]) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        raise ImportError(
            "python=True needs the package cloudpickle: pip install cloudpickle"
        ) from None
    try:
        return bytes(cloudpickle.dumps(function))
    except Exception as error:
        raise InvalidArgumentError(
            f"{place_of(function)}the function cannot be pickled: {_text_of(error)}"
            f"{_unpicklable(function)}; make the files, locks or connections that it uses inside "
            "the function"
        ) from error


def _unpicklable(function: Callable[..., Any]) -> str:
    """Returns the variables of the function that cannot be pickled, for a message."""
    import cloudpickle

    try:
        used = inspect.getclosurevars(inspect.unwrap(function))
    except (TypeError, ValueError):
        return ""
    names = []
    for name, value in {**used.globals, **used.nonlocals}.items():
        try:
            cloudpickle.dumps(value)
        except Exception:
            names.append(f"'{name}' is a {type(value).__qualname__}")
    return "".join(f"; {name}" for name in names[:4])


def _identity(function: Callable[..., Any]) -> str | None:
    import cloudpickle

    return identity(function, cloudpickle.list_registry_pickle_by_value())


def _versions(packages: Sequence[str]) -> list[str]:
    if isinstance(packages, str):
        raise InvalidArgumentError(f'packages: expected names like ["{packages}"]')
    names = [*_PACKAGES, *(name for name in packages if name not in _PACKAGES)]
    try:
        return [f"{name}=={metadata.version(name)}" for name in names]
    except metadata.PackageNotFoundError as error:
        raise InvalidArgumentError(f"packages: {error.name} is not installed here") from None


# ---- types


def _type_text(dtype: Any, shape: Sequence[int | None]) -> str:
    try:
        name = "bytes" if dtype in (bytes, "bytes") else np.dtype(dtype).name
    except TypeError:
        raise InvalidArgumentError(f"output: {dtype!r} is no dtype") from None
    if name != "bytes" and name not in _DTYPES:
        raise InvalidArgumentError(
            f"output: there are no components of {name}; there are bytes, "
            + ", ".join(sorted(_DTYPES))
        )
    dims = ", ".join("?" if dim is None else str(int(dim)) for dim in shape)
    return f"{name}[{dims}]" if dims else name


def _declared(output: OutputTypes) -> dict[str, str]:
    types: Mapping[str, Any] = output if isinstance(output, Mapping) else {"": output}
    texts = {}
    for name, one in types.items():
        if not isinstance(one, tuple) or len(one) != 2:
            raise InvalidArgumentError(
                f"output: expected (dtype, shape) such as ('float32', (224, 224, 3)), found {one!r}"
            )
        dtype, shape = one
        texts[str(name)] = _type_text(dtype, (shape,) if isinstance(shape, int) else shape)
    if not texts:
        raise InvalidArgumentError("output: an element needs a component")
    return texts


def _example(spec: ComponentSpec, unknown: int, rows: int | None) -> Any:
    """Returns an example of a component; ``unknown`` stands for unknown dimensions."""
    shape = tuple(unknown if dim is None else dim for dim in spec.shape)
    if rows is not None:
        shape = (rows, *shape)
    if spec.dtype == "bytes":
        if not shape:
            return b""
        return np.full(shape, b"", dtype=object)
    example: Any = np.ones(shape, spec.dtype)
    example.flags.writeable = False
    return example if shape else example[()]


def _trial(function: Callable[..., Any], spec: Spec, unknown: int, call: Call) -> dict[str, Any]:
    """Calls the function with an example, and returns the components of its result."""
    global _generator
    rows = unknown if call == "batch" else None
    argument = (
        Element({name: _example(one, unknown, rows) for name, one in spec.items()})
        if isinstance(spec, dict)
        else _example(spec, unknown, rows)
    )
    _generator = np.random.default_rng(0) if call == "element" else None
    try:
        result = function(argument)
    except (Exception, SystemExit) as error:
        raise InvalidArgumentError(
            f"{place_of(function)}the function raised {_text_of(error)}, when it was called with "
            "an example element of ones to infer its output; declare it: "
            'output={"image": ("float32", (224, 224, 3))}'
        ) from error
    finally:
        _generator = None
    if result is None:
        raise InvalidArgumentError(
            f"{place_of(function)}the function returned None: does it lack a return?"
        )
    return _components(result, place_of(function), "the function returned")


def _components(result: Any, place: str, made_by: str) -> dict[str, Any]:
    nested = flat_names(result, lambda value: "…")
    if nested is not None:
        raise InvalidArgumentError(f"{place}{made_by} {nested}")
    made = result if isinstance(result, Mapping) else {"": result}
    for name in made:
        if not isinstance(name, str):
            raise InvalidArgumentError(
                f"{place}{made_by} a dict with the key {name!r}, which is a "
                f"{type(name).__qualname__}; names of components are texts"
            )
    return {name: _as_array(name, value, place) for name, value in made.items()}


def _as_array(name: str, value: Any, place: str) -> Any:
    if isinstance(value, (bytes, bytearray, str)):
        return np.empty((), object)
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidArgumentError(
            place
            + (f"component '{name}'" if name else "the result")
            + " is a masked array, whose mask would be lost: return value.filled(…), and the mask "
            "as another component if it is needed"
        )
    try:
        return np.asarray(value)
    except ValueError as error:
        raise InvalidArgumentError(
            f"{place}{f'component {name!r}' if name else 'the result'} is no array: {error}"
        ) from None


def _inferred(function: Callable[..., Any], spec: Spec, call: Call) -> dict[str, str]:
    """Returns the types of what the function returns for two examples.

    Dimensions that differ between them are unknown.
    """
    first, second = _trial(function, spec, 2, call), _trial(function, spec, 3, call)
    return _types_of(first, second, call, place_of(function))


def _types_of(
    first: Mapping[str, Any], second: Mapping[str, Any], call: Call | None, place: str
) -> dict[str, str]:
    if first.keys() != second.keys():
        raise InvalidArgumentError(
            f"{place}the function does not always return the same components"
        )
    if not first:
        raise InvalidArgumentError(f"{place}the function returned an empty dict")
    texts = {}
    for name, array in first.items():
        other = second[name]
        what = place + (f"component '{name}'" if name else "the result")
        if array.ndim != other.ndim or array.dtype != other.dtype:
            raise InvalidArgumentError(f"{what} has not always the same dtype and rank")
        if array.dtype.kind not in "biufOSU" or array.dtype.name == "float16":
            raise InvalidArgumentError(f"{what} has the dtype {array.dtype}; return numbers")
        if array.dtype.kind == "O" and not _holds_bytes(array):
            raise InvalidArgumentError(
                f"{what} is a {type(array.flat[0]).__name__}; return numbers, arrays or bytes"
            )
        shape = [a if a == b else None for a, b in zip(array.shape, other.shape, strict=True)]
        if call == "batch":
            if not array.ndim or array.shape[0] != 2 or other.shape[0] != 3:
                raise InvalidArgumentError(
                    f"{what} of a batch of 2 elements has the shape {array.shape}; a batched "
                    "function returns a row for each element"
                )
            shape = shape[1:]
        kind = "bytes" if array.dtype.kind in "OSU" else array.dtype
        texts[name] = _type_text(kind, shape)
    return texts


def _holds_bytes(array: Any) -> bool:
    return all(item is None or isinstance(item, (bytes, str)) for item in array.flat)
