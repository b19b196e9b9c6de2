"""The definition of a dataset, and reading it."""

from __future__ import annotations

import html
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from feedmill import _arguments as check
from feedmill import _feedmill
from feedmill._arguments import Even, Nulls
from feedmill._component_spec import ComponentSpec, Schema
from feedmill._dataset_html import dataset_html
from feedmill._foreign_names import AnsweringType, answering, no_attribute
from feedmill._look import Elements, cut, table_of
from feedmill._python_functions import Spec, local_interpreter
from feedmill._sources import Sources
from feedmill._steps import Steps
from feedmill._values import TIMES, options
from feedmill.errors import InvalidArgumentError, NotFoundError, UnknownLengthError
from feedmill.reader import Reader

if TYPE_CHECKING:
    from typing_extensions import Self

# Options of DatasetBase.read by name, and the checks of their values.
READ_OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "service": check.text,
    "job": check.text,
    "consumer": check.text,
    "rank": check.count,
    "ranks": check.count,
    "even": check.even,
    "agree": lambda _, function: function,
    "epoch": check.optional_count,
    "seed": check.optional_count,
    "skip_batches": check.ranges,
    "take_over": check.flag,
    "first_timeout": check.optional_seconds,
    "timeout": check.seconds,
    "budget_bytes": check.count,
    "threads": partial(check.count, most=4096),
    "transport": check.text,
    "compression": check.text,
    "weight": partial(check.count, most=10_000),
    "cluster_id": check.text,
    "keys": check.path,
    "server_key": check.text,
    "on_wait": lambda _, function: function,
    "nulls": check.nulls,
}

# The types of what text and times are made of.
_PLAIN = {"str": "bytes", **dict.fromkeys(TIMES.values(), "int64")}
_PLACE_IN_FILE = re.compile(r"\Aline (\d+)(?:, column (\d+))?: ")


@answering
class DatasetBase(Sources, Steps, metaclass=AnsweringType):
    """The definition of a dataset, and reading it.

    The class for users is :class:`feedmill.Dataset`, which knows the frameworks, too.
    Readers, loaders and adapters use this one.
    """

    __slots__ = ("_native",)
    _native: _feedmill.Pipeline
    # Elements have text as str and times as datetime64; else bytes and int64.
    _logical = True

    def __init__(self) -> None:
        raise TypeError("a dataset begins with a source, fm.Dataset.images(…), or from_yaml(…)")

    @classmethod
    def _of(cls, native: _feedmill.Pipeline) -> Self:
        dataset = object.__new__(cls)
        object.__setattr__(dataset, "_native", native)
        return dataset

    @classmethod
    def _of_source(cls, name: str, value: Any) -> Self:
        return cls._of(_feedmill.Pipeline.from_source(name, value))

    def _with_step(self, name: str, value: Any) -> Self:
        return self._of(self._native.apply(name, None if value == {} else value))

    def _spec_before(self) -> Spec:
        return self.element_spec

    def _values_of(self, value: str) -> Any:
        with self._with_step("map", {"v": value}).read() as reader:
            return np.concatenate([np.asarray(chunk["v"]) for chunk in reader.chunks()])

    def _input(self) -> _feedmill.Pipeline:
        """The definition as an input of another dataset."""
        return self._native

    def _even(self, even: Even | None, default: Even = "exact") -> Even:
        """The value that is given, or the option of the dataset, or the default.

        Without an order of the elements the default is ``exact``, as ranks need an order.
        """
        if even is not None:
            return check.even("even", even)
        chosen: Any = self._native.even or ("exact" if self._native.unordered else default)
        return check.even("even", chosen)

    def _completed(self, options: dict[str, Any]) -> dict[str, Any]:
        """Returns options of :meth:`read` with those that the dataset adds."""
        return options

    def _native_options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the options of :meth:`read` but for the state, checked."""
        options = {**(inspect.unwrap(DatasetBase.read).__kwdefaults__ or {}), **given}
        for name, default in (("service", ""), ("job", self._native.job)):
            options[name] = default if options[name] is None else options[name]
        options["even"] = self._even(options["even"])
        python, python_path = local_interpreter()
        checked = {name: check_one(name, options[name]) for name, check_one in READ_OPTIONS.items()}
        return {"allow_python": python, "python_path": python_path, **checked}

    def _pipeline(self) -> _feedmill.Pipeline:
        return self._native.in_directory(os.getcwd())

    # ---- text

    @classmethod
    def from_yaml(cls, source: str | os.PathLike[str]) -> Self:
        """Returns the dataset of a YAML file, or of YAML text.

        A str with a line break or with ``": "`` is text, every other is a file's
        name. Relative paths in a file are relative to its folder, as for the
        ``feedmill`` command. Paths in a text are relative to the working directory
        when the dataset is read.

        Raises NotFoundError if there is no such file, and InvalidArgumentError, with
        the line, for a text that is no pipeline.
        """
        if isinstance(source, str) and ("\n" in source or ": " in source):
            return cls._of(_feedmill.Pipeline.from_yaml(source, ""))
        if not isinstance(source, (str, bytes, os.PathLike)):
            raise InvalidArgumentError(
                "from_yaml: expected the path of a file, or the text of a pipeline, found a "
                f"{type(source).__qualname__}"
            )
        path = os.path.abspath(source)
        text = _text_of(path)
        try:
            return cls._of(_feedmill.Pipeline.from_yaml(text, os.path.dirname(path)))
        except InvalidArgumentError as error:
            raise InvalidArgumentError(_with_file(os.fspath(source), str(error))) from None

    def to_yaml(self) -> str:
        """Returns the dataset as YAML, which ``feedmill read`` takes, too.

        >>> import feedmill as fm
        >>> print(fm.Dataset.range(6).filter("x > 2").batch(2).to_yaml(), end="")
        source: {range: 6}
        steps:
          - filter: "x > 2"
          - batch: 2
        """
        return self._native.to_yaml()

    def explain(self) -> str:
        """Returns the plan, as ``feedmill read --explain`` prints it.

        It says where each step runs, which steps run as one pass, and what memory
        reading takes. Counts records where the files are here; makes no element.
        """
        return self._pipeline().explain()

    @property
    def element_spec(self) -> ComponentSpec | dict[str, ComponentSpec]:
        """The components of an element with their dtypes and shapes.

        A dict by name, or the spec alone of a single unnamed component. Looks into
        files where fields have to be found out.

        >>> import feedmill as fm
        >>> fm.Dataset.range(6).batch(2).element_spec
        ComponentSpec(dtype='int64', shape=(None,))
        """
        specs = dict(self.schema)
        return specs.get("", specs)

    @property
    def schema(self) -> Schema:
        """The components of an element by name, with their dtypes and shapes.

        A dict that prints a line for each component; a single one without a name has
        the name ``""``. Looks into files where fields have to be found out.

        Raises NotFoundError for a missing file, and InvalidArgumentError for a wrong step.

        >>> import feedmill as fm
        >>> fm.Dataset.range(6).map(n="x", half="x / 2").batch(2).schema
        n: int64[?]
        half: float64[?]
        """
        return _specs(self._pipeline().element_spec(), self._logical)

    @property
    def class_names(self) -> list[str]:
        """The names of the labels of :meth:`images`, in the order of their numbers.

        Lists the files, unless ``classes`` are given. An empty list means that the labels
        are integers in the names of the files.

        Raises InvalidArgumentError for another source.

        >>> import feedmill as fm
        >>> fm.Dataset.images("photos/*/*.jpg").class_names
        ['cat', 'dog']
        """
        return self._pipeline().class_names()

    # ---- a look at the elements

    def head(self, count: int = 5) -> Elements:
        """Reads the first elements, in this process, as a list.

        A notebook shows the list as a table with small pictures of images. Nulls are None,
        or masked in arrays.

        Raises as :meth:`read` does.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(9).filter("x % 4 == 1").head(3)]
        [1, 5]
        """
        with self._with_step("take", check.count("count", count)).read(nulls="masked") as reader:
            return Elements(reader)

    def show(self, count: int = 5) -> None:
        """Prints the first elements as a table.

        Large arrays are shown by dtype and shape, and images by kind and size.

        Raises as :meth:`read` does.

        >>> import feedmill as fm
        >>> fm.Dataset.range(3).map(n="x", half="x / 2", name="to_string(x)").show(2)
        n  half  name
        -  ----  ----
        0   0.0  0
        1   0.5  1
        """
        print(table_of(self.head(count)))

    def count(self) -> int:
        """Returns the number of elements.

        Reads them all, unless the number follows from the files' indexes and the steps.
        Does not make components on which the number does not depend.

        Raises InvalidArgumentError for a ``repeat`` without end, and as :meth:`read` does.

        >>> import feedmill as fm
        >>> fm.Dataset.range(100).filter("x % 3 == 0").batch(10).count()
        4
        """
        if self._is_endless():
            raise InvalidArgumentError(
                "count: the dataset repeats without end; count it before repeat(), or take(n) first"
            )
        # A cache keeps all components, and errors of any of them leave elements out.
        whole = any(name in ("cache", "on_error") for name in self._names())
        counted = self if whole else self._with_step("map", {"n": 0})
        with counted.read(nulls="fill") as reader:
            try:
                return len(reader)
            except UnknownLengthError:
                return sum(map(_rows_of, reader.chunks()))

    def _names(self) -> list[str]:
        """The names of the source and the steps."""
        return [name for place, name, _ in self._native.parts() if place != "options"]

    def _is_endless(self) -> bool:
        parts = [part[1:] for part in self._native.parts() if part[0] != "options"]
        endless = [k for k, (name, value) in enumerate(parts) if name == "repeat" and not value]
        return bool(endless) and not any(name == "take" for name, _ in parts[endless[-1] :])

    # ---- options

    def with_options(
        self,
        *,
        seed: int | None = None,
        order: Literal["deterministic", "any"] | None = None,
        processing_mode: Literal["dynamic", "off"] | None = None,
        job: str | None = None,
        even: Even | None = None,
    ) -> Self:
        """Returns the dataset with other options; those that are None stay.

        ``seed``: of all random choices; drawn for each reading if there is none. Several
        ranks that read without a service need one.
        ``order``: ``any`` gives each element to one of the readers that share a job.
        ``processing_mode``: ``off`` reads the whole dataset once for each worker.
        ``job``: the job that a read through a service is of.
        ``even``: how ranks are evened out, see :meth:`read`.
        """
        given = options(seed=seed, order=order, processing_mode=processing_mode, job=job, even=even)
        return self._of(self._native.with_options(given))

    # ---- reading

    def read(
        self,
        service: str | None = None,
        job: str | None = None,
        *,
        rank: int = 0,
        ranks: int = 1,
        even: Even | None = None,
        agree: Callable[[bool], tuple[bool, bool]] | None = None,
        state: Mapping[str, Any] | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        skip_batches: Sequence[tuple[int, int]] = (),
        consumer: str = "",
        take_over: bool = False,
        first_timeout: float | None = None,
        timeout: float = 60,
        budget_bytes: int = 64 << 20,
        threads: int = 0,
        transport: Literal["auto", "tcp", "dispatcher"] = "auto",
        compression: Literal["none", "lz4", "zstd", "auto"] = "none",
        weight: int = 100,
        cluster_id: str = "",
        keys: str | os.PathLike[str] = "",
        server_key: str = "",
        on_wait: Callable[[str, float], object] | None = None,
        nulls: Nulls = "error",
    ) -> Reader:
        """Begins to read and returns a :class:`Reader` of the elements.

        Without ``service`` in this process, by ``threads`` threads (0: as many as it
        may use); else through the dispatcher at ``service``, ``"tcp://host:5050"``.
        Both give the same elements in the same order.

        Args:
          job: Readers of one name share a job; default: a job of this reader's own.
          rank, ranks: The reader takes the elements n with n mod ranks = rank.
          even: Number of elements of each rank, if the ranks do not divide the elements
            of an epoch. Default: the dataset's option, or ``exact``.

            - ``exact``: every element once. Some ranks get one element more.
            - ``drop``: every rank gets as many. The last elements of the epoch, fewer
              than ``ranks``, are left out.
            - ``pad``: every rank gets as many. A rank without one of the last elements
              gets the element before once more.

            Without a known length, ``drop`` gives an element when the next one of that
            rank is there.
          agree: Function that tells all ranks together, before each element of a dataset
            without a known length, whether all and whether any of them have another
            element: ``agree(have: bool) -> (all_have, any_have)``. A collective of the
            framework, in which every rank takes part.
          state: Go on after the element at which ``state_dict()`` was called. The
            dataset must be the same; its seed and epoch are the state's.
          epoch: Each epoch has another order. Default: the state's, or 0, or of a
            job with a name the first one that this reader has not finished.
          seed: Replaces the seed of the dataset; drawn if neither is given. Several ranks
            without a service are then refused, if the dataset uses random numbers.
          skip_batches: Elements [first, second) by number that are left out.
          consumer: This reader's name within the job.
          take_over: Take the place of a reader whose lease is still valid.
          first_timeout, timeout: Seconds to wait for the first element, and for each
            later one. Without a first_timeout, the first element has 20 s until a
            dispatcher and workers answer, and `timeout` until they have made it.
          budget_bytes: Bytes of elements in flight to this reader.
          transport: ``auto`` uses shared memory on one host; ``tcp`` never does;
            ``dispatcher`` is for a reader that reaches no worker.
          compression: Packs what travels over a network.
          weight: Share of the workers among jobs, 1 to 10,000.
          cluster_id: The dispatcher must be of this cluster.
          keys, server_key: The folder of this reader's keys (docs/security.md).
          on_wait: Called with what the reader waits for, and for how many seconds so far,
            by the thread that waits: after 2 s, then every 10 s. The same line goes to
            stderr.
          nulls: How nulls of components such as ``int64?`` come. Arrow streams of the
            reader have nulls of their own, and do not need it.

            - ``error``: a null raises InvalidArgumentError.
            - ``masked``: a null of a single value is None. An array is a
              ``numpy.ma.MaskedArray``.
            - ``fill``: a null is the value that stands for it: 0 or empty, unless steps
              computed with it.

        Raises InvalidArgumentError for a wrong pipeline, option or state;
        NotFoundError for a missing file; DeadlineExceededError if no dispatcher or
        worker answers in time; FailedPreconditionError if another reader reads the
        job.
        """
        options = self._native_options({**locals()})
        return Reader(self._pipeline(), {**options, "logical": self._logical}, state)

    # ---- a value

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a dataset does not change; its methods return new ones ({name})")

    def _state(self) -> Any:
        """Equal for datasets that mean the same by construction."""
        return self._native.identity()

    if not TYPE_CHECKING:  # a type checker reports unknown names

        def __getattr__(self, name):
            raise no_attribute(type(self), name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DatasetBase) and self._state() == other._state()

    def __hash__(self) -> int:
        return hash(self._state())

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            "a Dataset describes elements and has none; read them: for element in dataset.read()"
        )

    def __len__(self) -> int:
        raise TypeError(
            "a Dataset has no length before it is read; dataset.count() is the number of elements"
        )

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, place: object) -> Any:
        raise TypeError(
            "a Dataset has no elements by place; dataset.head(3) shows the first ones, and "
            "dataset.skip(10).take(5) or dataset.subset([0, 3]) reads some"
        )

    def __repr__(self) -> str:
        """Returns the source, the steps and the components of an element.

        Reads no files. Where only files tell the components, :attr:`schema` does.
        """
        steps = (
            f"{name}({_shortened(value)})" if value else name
            for place, name, value in self._native.parts()
            if place != "options"
        )
        spec = self._native.known_spec()
        known = "schema not known yet" if spec is None else _specs(spec, self._logical)._line()
        return f"<feedmill.Dataset {' → '.join(steps)}: {known}>"

    def _repr_html_(self) -> str:
        """Returns the dataset for notebooks: its steps, where each runs, and its first rows.

        Rows are there if they are made within a second, of files of this machine, and if
        no step writes files. Never raises.
        """
        try:
            return dataset_html(self._pipeline())
        except Exception as error:
            return f"<pre>{html.escape(f'{type(self).__name__}: {error}')}</pre>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self)._of, (self._native,))


def _rows_of(chunk: Any) -> int:
    return len(next(iter(chunk.values())) if isinstance(chunk, dict) else chunk)


def _specs(entries: Sequence[tuple[str, str, Sequence[int], bool]], logical: bool) -> Schema:
    return Schema(
        (
            name,
            ComponentSpec(
                dtype if logical else _PLAIN.get(dtype, dtype),
                tuple(None if dim < 0 else dim for dim in shape),
                nullable,
            ),
        )
        for name, dtype, shape, nullable in entries
    )


def _shortened(value: str) -> str:
    """Returns the value of a part without the braces and quotes around it, cut."""
    if value[0] + value[-1] in ("{}", '""'):
        value = value[1:-1]
    return cut(value.removeprefix("files: "))


def _text_of(path: str) -> str:
    if os.path.isdir(path):
        raise InvalidArgumentError(f"{path}: is a folder; name a pipeline's file")
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        raise NotFoundError(f"{path}: there is no such file") from None
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"{path}: not UTF-8 text: {error}") from None


def _with_file(path: str, message: str) -> str:
    place = _PLACE_IN_FILE.match(message)
    if place is None:
        return f"{path}: {message}"
    numbers = ":".join(number for number in place.groups() if number)
    return f"{path}:{numbers}: {message[place.end() :]}"
