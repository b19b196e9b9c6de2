"""Loads the function, and the module that it imports as feedmill."""

import sys
import types

from feedmill_process.error_text import formatted, summary
from feedmill_process.versions import Refused, check_versions

OTHER_MODULES = "a Python function runs without feedmill; only fm.rng() is there"


class Absent:
    """A name of feedmill that Python functions do not have."""

    def __init__(self, name):
        self._name = name

    def __call__(self, *_, **__):
        raise RuntimeError(f"feedmill.{self._name}: {OTHER_MODULES}")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")


class Random:
    """The generator of the element that is being made."""

    def __init__(self, call):
        self.call = call
        self.bits = None
        self.generator = None

    def next(self, bits):
        self.bits = bits
        self.generator = None

    def rng(self):
        if self.generator is None:
            if self.bits is None:
                raise RuntimeError(f"fm.rng() is for a function of one element: {self.why()}")
            import numpy as np

            self.generator = np.random.Generator(np.random.Philox(key=self.bits.view(np.uint64)))
        return self.generator

    def why(self):
        """Returns why there are no random numbers."""
        if self.call == "generator":
            return "seed a generator of random numbers by the shard"
        return "the numbers of a batched function would depend on how elements are grouped"


def stand_in(random):
    """Returns the module that functions import as feedmill."""
    module = types.ModuleType("feedmill", OTHER_MODULES)
    module.rng = random.rng

    def absent(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(name)

    module.__getattr__ = absent
    return module


def load(options, pickled):
    """Returns the function, and the random numbers of its elements."""
    check_versions(options)
    import cloudpickle

    random = Random(options.get("of", options["call"]))
    sys.modules["feedmill"] = stand_in(random)
    try:
        function = cloudpickle.loads(pickled)
    except BaseException as error:
        if isinstance(error, ImportError) and (error.name or "").startswith("feedmill."):
            raise Refused(
                f"the function refers to an object of {error.name}, and {OTHER_MODULES}; give it "
                f"numbers, texts or arrays instead\n{formatted(error, 1)}"
            ) from None
        missing = (
            f"{sys.executable} cannot import a module of the function: "
            if isinstance(error, ImportError)
            else "the function cannot be loaded: "
        )
        raise Refused(f"{missing}{summary(error)}\n{formatted(error, 1)}") from None
    if not callable(function):
        raise Refused(f"the function is a {type(function).__name__}, which cannot be called")
    return function, random
