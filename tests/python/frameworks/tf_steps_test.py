"""TensorFlow's own steps, with feedmill.tf and with TensorFlow, compared."""

import warnings
from dataclasses import dataclass
from typing import Any

import pytest
import tensorflow
import tf_pipelines  # noqa: F401  (adds steps)
from conftest import ROOT
from feedmill import tf
from tf_steps import STEPS

PAGE = (ROOT / "docs/tf.md").read_text()

# TensorFlow keeps threads, and raises in __del__ of a server whose config was refused.
pytestmark = [
    pytest.mark.others_remain,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@dataclass
class Outcome:
    value: Any = None
    error: Exception | None = None

    def agrees(self, theirs):
        """True if a program that handles theirs handles this one."""
        if self.error is None or theirs.error is None:
            return self.error is theirs.error and self.value == theirs.value
        code = getattr(theirs.error, "error_code", None)
        if code is not None:
            return getattr(self.error, "error_code", None) == code
        return isinstance(self.error, type(theirs.error))


def outcome(function, module):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Outcome(value=function(module))
    except Exception as error:
        return Outcome(error=error)


@pytest.mark.parametrize("name", STEPS)
def test_step(name):
    function, row = STEPS[name]
    theirs, ours = outcome(function, tensorflow), outcome(function, tf)
    if row is None:
        assert ours.agrees(theirs), f"{ours}\nTensorFlow: {theirs}"
    else:
        assert f"\n| {row} |" in PAGE
        assert not ours.agrees(theirs), f"no difference any more: {ours}"
