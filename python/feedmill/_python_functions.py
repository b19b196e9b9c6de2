"""Python functions as steps: pickling them, and finding out what they return."""

from __future__ import annotations

import base64
import inspect
import json
import os
import platform
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from feedmill import _arguments as check
from feedmill import _feedmill
from feedmill._function_identity import identity
from feedmill._trace_errors import place_of
from feedmill._values import TIMES, plain, type_name
from feedmill.errors import DataLossError, FailedPreconditionError, InvalidArgumentError
from feedmill.expressions import DTYPES

if TYPE_CHECKING:
    from feedmill._component_spec import ComponentSpec

Call: TypeAlias = Literal["element", "batch", "filter"]
# The types of what a function returns: (dtype, shape) by name, or of a bare value.
OutputType: TypeAlias = "tuple[Any, Sequence[int | None]]"
OutputTypes: TypeAlias = "Mapping[str, OutputType] | OutputType"
Spec: TypeAlias = "ComponentSpec | dict[str, ComponentSpec]"

# Every function needs them; a worker must have the same versions.
_PACKAGES = ("numpy", "cloudpickle")
_MEMORY_MAX = (1 << 63) - 1
_OTHERS = ("bytes", "str", *TIMES.values())

_DECLARE = 'declare it: output={"image": ("float32", (224, 224, 3))}'


def rng() -> np.random.Generator:
    """Returns the random generator of the element that a Python function makes.

    Its seed depends on the dataset's seed, the epoch, the step and the element's place.
    An element gets the same numbers on every worker and after every crash.

    Raises FailedPreconditionError outside of a function given to ``map(…,
    python=True)`` or ``filter(…, python=True)``.
    """
    raise FailedPreconditionError(
        "fm.rng() is for a function given to map(…, python=True) or filter(…, python=True): "
        "it is called while an element is made"
    )


# The process of the function has a module of that name with this one function.
rng.__module__ = "feedmill"


def local_interpreter() -> tuple[str, str]:
    """Returns the interpreter of this process, and its PYTHONPATH."""
    if not sys.executable or not os.access(sys.executable, os.X_OK):
        return "", ""
    # "" is the working folder, in notebooks and with python -c.
    return sys.executable, os.pathsep.join(path or os.curdir for path in sys.path)


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
        "timeout_seconds": _timeout(timeout),
    }
    if memory_bytes:
        step["memory_bytes"] = check.count("memory_bytes", memory_bytes, _MEMORY_MAX)
    name = _identity(function) if version is None else version
    if name is not None:
        step["version"] = name
    if call != "element":
        step["call"] = call
    if call != "filter":
        step["output"] = (
            _declared(output)
            if output is not None
            else _found_out(function, step, {"of": call, "input": _inputs(spec())})
        )
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
        "python": platform.python_version(),
        "packages": _versions(packages),
        "shards": plain(shards),
        "timeout_seconds": _timeout(timeout),
    }
    if memory_bytes:
        source["memory_bytes"] = check.count("memory_bytes", memory_bytes, _MEMORY_MAX)
    source["output"] = (
        _declared(output)
        if output is not None
        else _found_out(function, source, {"of": "generator", "shards": plain(shards)})
    )
    name = _identity(called) if version is None else version
    if name is not None:
        source["version"] = name
    if length is not None:
        source["length"] = _lengths(length, shards)
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


def _timeout(timeout: float) -> Any:
    check.seconds("timeout", timeout)
    return plain(timeout)


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
        name = dtype if isinstance(dtype, str) and dtype in _OTHERS else type_name(dtype)
    except TypeError:
        raise InvalidArgumentError(f"output: {dtype!r} is no dtype") from None
    if name not in _OTHERS and name not in DTYPES:
        raise InvalidArgumentError(
            f"output: there are no components of {name}; there are "
            + ", ".join([*_OTHERS, *sorted(DTYPES)])
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


def _inputs(spec: Spec) -> list[dict[str, Any]]:
    """Returns the components that a function gets, for feedmill_process."""
    named = spec if isinstance(spec, dict) else {"": spec}
    return [
        {
            "name": name,
            "dtype": one.dtype,
            "shape": [-1 if dim is None else dim for dim in one.shape],
            "nullable": one.nullable,
        }
        for name, one in named.items()
    ]


def _found_out(
    function: Callable[..., Any], code: Mapping[str, Any], more: Mapping[str, Any]
) -> dict[str, str]:
    """Returns the types of what a function makes: a process calls it with examples.

    Raises InvalidArgumentError if the function fails or ends its process, and
    FailedPreconditionError if the process cannot load it.
    """
    path, modules = local_interpreter()
    if not path:
        raise InvalidArgumentError(
            f"{place_of(function)}sys.executable is {sys.executable!r}, which cannot be started to "
            f"find out what the function makes; {_DECLARE}"
        )
    setup = {
        "parent": os.getpid(),
        "python": code["python"],
        "packages": code["packages"],
        "memory_bytes": code.get("memory_bytes", 0),
        "call": "example",
        **more,
    }
    limits = {"timeout": code["timeout_seconds"], "memory_bytes": setup["memory_bytes"]}
    try:
        text = _feedmill.call_with_examples(
            path, modules, code["function"], json.dumps(setup), **limits
        )
    except DataLossError as error:  # it has ended its process, or hangs
        what, _, trace = str(error).partition("\n")
        raise InvalidArgumentError(
            f"{place_of(function)}{what}, when it was called to find out what it makes; {_DECLARE}"
            f"\n{trace}".rstrip("\n")
        ) from None
    except FailedPreconditionError as error:
        raise FailedPreconditionError(place_of(function) + str(error)) from None
    answer = json.loads(text)
    if "error" in answer:
        raise InvalidArgumentError(place_of(function) + answer["error"])
    return {
        one["name"]: _type_text(one["dtype"], [None if dim < 0 else dim for dim in one["shape"]])
        for one in answer["types"]
    }
