"""Names of other libraries, and misspelt names, are answered as in YAML, in Python's words."""

import ast
import inspect
import re

import feedmill as fm
import pytest
from feedmill import _feedmill
from feedmill._foreign_names import in_python

numbers = fm.Dataset.range(3)
ANSWERS = {name: _feedmill.name_hint(name, "", []) for name in _feedmill.foreign_names()}
PLACES = ["", "batch", "shuffle", "shard", "cache", "map", "read", "functions"]
PLACES += ["csv", "parquet", "resize", "the pipeline"]
# Words of one step or of functions only.
ELSEWHERE = sorted(name for name, answer in ANSWERS.items() if not answer)


def message(kind, build):
    with pytest.raises(kind) as raised:
        build()
    return str(raised.value)


@pytest.mark.parametrize("name", sorted(ANSWERS.keys() - ELSEWHERE))
def test_every_name_is_answered_the_same_in_yaml_and_python(name):
    yaml = message(
        fm.InvalidArgumentError,
        lambda: fm.Dataset.from_yaml(f"source: {{range: 3}}\nsteps: [{{{name}: 2}}]"),
    )
    assert yaml.endswith(f"there is no step {name!r}{ANSWERS[name]}".replace("'", '"', 2))
    if not hasattr(fm.Dataset, name):
        for owner in (numbers, fm.Dataset):
            error = message(AttributeError, lambda owner=owner: getattr(owner, name))
            assert error == f"a Dataset has no {name}{in_python(ANSWERS[name])}"


def codes():
    """The codes of answers, and what they are in Python."""
    for name in _feedmill.foreign_names():
        for where in PLACES:
            for code in re.findall(r"`([^`]*)`", _feedmill.name_hint(name, where, [])):
                yield code, in_python(f"`{code}`").strip("`")


def test_codes_of_answers_are_calls_that_their_methods_take():
    calls = {python for yaml, python in codes() if yaml != python}
    assert "batch(size=32, drop_remainder=True)" in calls
    assert "Dataset.mixture(inputs=[…], weights=[…])" in calls
    assert 'padded_batch(size=32, values={"tokens": -1})' in calls
    assert len(calls) > 40
    for call in calls:
        node = ast.parse(call.replace("…", "0").replace("FOLDER/", "FOLDER"), mode="eval").body
        assert isinstance(node, ast.Call), call
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        signature = inspect.signature(getattr(numbers, name))
        signature.bind(*node.args, **{one.arg: one.value for one in node.keywords})
    for yaml, python in codes():
        if yaml == python:
            assert not re.match(r"\w+:(?!:)", yaml), yaml


@pytest.mark.parametrize(
    ("build", "kind", "text"),
    [
        (lambda: numbers.prefetch(2), AttributeError, "feedmill reads ahead by itself"),
        (lambda: numbers.shuffel(), AttributeError, 'did you mean "shuffle"?'),
        (lambda: fm.Dataset.from_cvs, AttributeError, "has no from_cvs"),
        (lambda: fm.Dataset.read_csv("a"), AttributeError, "write `Dataset.csv(…)`"),
        (lambda: numbers.batch(2, drop_last=True), TypeError, "drop_remainder=True"),
        (lambda: numbers.batch(2, drop_remaindr=True), TypeError, 'did you mean "drop_remainder"'),
        (lambda: numbers.batch(), TypeError, "missing a required argument: 'size'"),
        (lambda: numbers.split([0.5, 0.5]), TypeError, "for example split([0.5, 0.5], 1)"),
        (lambda: len(numbers), TypeError, "dataset.count() is the number"),
        (lambda: numbers[0], TypeError, "dataset.head(3)"),
        (lambda: numbers.dropna(), AttributeError, 'filter("not is_null(name)")'),
        (lambda: fm.Dataset.csv("a", sep=";"), TypeError, "here it is `delimiter`"),
        (lambda: fm.Dataset.parquet("a", filters=[]), TypeError, "skips row groups"),
        (lambda: numbers.rename("a"), fm.InvalidArgumentError, 'rename({"old": "new"})'),
        (lambda: fm.Dataset.from_pandas([1]), fm.InvalidArgumentError, "not list"),
        (lambda: numbers.take(3, whole=1), TypeError, "no option whole; it has count"),
        (lambda: numbers.shuffle(1000), TypeError, "`shuffle(window=N)` shuffles N elements"),
        (lambda: numbers.shuffle(buffer_size=9), TypeError, "`shuffle(window=N)` shuffles N"),
        (
            lambda: fm.Dataset.interleave([numbers], num_parallel_calls=4),
            TypeError,
            "all threads are used by default",
        ),
        (lambda: numbers.read(batch_size=3), TypeError, "write the step `batch(N)`"),
        (lambda: numbers.read(shuffle=True), TypeError, "write the step `shuffle()`"),
        (lambda: fm.Loader(numbers, num_workers=4), TypeError, "all threads are used"),
        (lambda: fm.Loader(numbers, workers=4), TypeError, "workers: no such option; there are"),
        (lambda: numbers.tokenize, AttributeError, "`tokenize(text, 'tokenizer.json')`"),
        (lambda: numbers.normalize, AttributeError, "`image.normalize(x, [mean, …], [std, …])`"),
        (lambda: fm.functions.normalize, AttributeError, "`image.normalize(x, [mean, …]"),
        (lambda: fm.functions.reduce_mean, AttributeError, "write `mean(x)`"),
        (lambda: numbers.map("expand_dims(x)").schema, ValueError, "`reshape(x, [n, -1])`"),
        (lambda: fm.TFRecordDataset, AttributeError, "write `Dataset.tfrecord(…)`"),
        (lambda: fm.Datasets, AttributeError, 'did you mean "Dataset"?'),
        (
            lambda: numbers.map(lambda x: x, python=True, num_proc=4),
            fm.InvalidArgumentError,
            "num_proc: a Python function has no such option; all threads",
        ),
        (
            lambda: numbers.map(lambda x: {"a": x}, remove_columns=0).schema,
            fm.InvalidArgumentError,
            "`map` makes exactly the components that it names",
        ),
    ],
)
def test_words_that_users_bring(build, kind, text):
    assert text in message(kind, build)


def test_private_names_are_plain_attribute_errors():
    assert message(AttributeError, lambda: numbers._prefetch) == "a Dataset has no _prefetch"
    assert message(AttributeError, lambda: fm.__prefetch) == (
        "module 'feedmill' has no attribute '__prefetch'"
    )


def test_methods_keep_their_signatures():
    assert list(inspect.signature(fm.Dataset.batch).parameters) == [
        "self",
        "size",
        "drop_remainder",
    ]
    assert "Stacks elements" in fm.Dataset.batch.__doc__
    assert list(inspect.signature(fm.Dataset.csv).parameters)[:2] == ["files", "compression"]
