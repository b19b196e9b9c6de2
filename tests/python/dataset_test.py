"""Dataset: a definition as data, the same as in YAML."""

import copy
import html
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

import feedmill as fm
import numpy as np
import pytest

KINDS = json.loads(subprocess.check_output([os.environ["FEEDMILL"], "steps", "--json"]))
STEP_OPTIONS = {one["name"]: one["options"] for one in KINDS["steps"]}
SOURCE_OPTIONS = {one["name"]: one["options"] for one in KINDS["sources"]}


def words_of(annotation):
    return re.findall(r"['\"]([\w-]+)['\"]", annotation)


def canonical(dataset):
    return dataset._pipeline().__getstate__()[0]


# ---- components that stay


def test_a_map_may_keep_the_other_components():
    numbers = fm.Dataset.range(2).map(a="x", b="x + 1")
    added = numbers.with_columns(c="a + b")
    assert numbers.map(lambda e: {**e, "c": e.a + e.b}) == added
    assert numbers.with_columns(lambda e: {**e, "c": e.a + e.b}) == added
    assert [list(e) for e in added.read()] == [["a", "b", "c"]] * 2
    assert [int(e["a"]) for e in numbers.with_columns(a="a * 10").read()] == [0, 10]
    for wrong in (
        lambda: numbers.map(lambda e: {"a": e.b, **e}),
        lambda: numbers.flat_map(lambda e: {**e, "c": e.a}),
    ):
        with pytest.raises(fm.TraceError, match="only map and with_columns take it"):
            wrong()


def test_components_are_chosen_and_renamed():
    numbers = fm.Dataset.range(2).map(a="x", b="x + 1", c="x + 2")
    assert list(next(numbers.select("c", "a").read())) == ["c", "a"]
    assert list(next(numbers.drop("c", "a").read())) == ["b"]
    renamed = numbers.rename({"a": "is a"}, b="in")
    assert list(next(renamed.read())) == ["is a", "in", "c"]
    assert list(next(renamed.drop("is a", "in").read())) == ["c"]
    with pytest.raises(fm.InvalidArgumentError, match='there is no component "d"'):
        numbers.select("d").read()
    with pytest.raises(fm.InvalidArgumentError, match="name at least one"):
        numbers.select().read()


# ---- all sources and steps are there


# map and filter make it with python=True.
STEPS = [name for name in STEP_OPTIONS if name != "python"]
# Options of filter for a Python function.
PYTHON_OPTIONS = {"python", "packages", "timeout", "memory_bytes", "deterministic", "version"}


@pytest.mark.parametrize("name", STEPS)
def test_every_step_is_a_method_with_its_options(name):
    method = getattr(fm.Dataset, name)
    parameters = inspect.signature(method).parameters
    fields = STEP_OPTIONS[name]
    if fields and fields[0]["type"] == "expressions":  # one, or several by name
        first = "names" if name == "rename" else "outputs_"
        assert list(parameters) == ["self", first, "named"]
    else:
        extra = PYTHON_OPTIONS if name == "filter" else set()
        assert set(parameters) == {"self", *extra, *(field["name"] for field in fields)}
        for field in fields:
            required = parameters[field["name"]].default is inspect.Parameter.empty
            assert required == field["required"] or field["type"] == "types by name", field
    assert len(inspect.getdoc(method)) > 20


@pytest.mark.parametrize("name", STEPS)
def test_the_choices_of_an_option_are_in_its_type(name):
    annotations = getattr(fm.Dataset, name).__annotations__
    for field in STEP_OPTIONS[name]:
        if "words" in field:
            assert words_of(annotations[field["name"]]) == field["words"]


# from_generator, from_numpy and the like make these, of objects of Python.
SOURCES = [name for name in SOURCE_OPTIONS if name not in ("generator", "memory")]


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_a_class_method_with_its_options(name):
    method = getattr(fm.Dataset, name)
    parameters = inspect.signature(method).parameters
    fields = SOURCE_OPTIONS[name]
    assert set(parameters) == {field["name"] for field in fields}
    for field in fields:
        if "words" in field:
            assert words_of(method.__annotations__[field["name"]]) == field["words"]
    assert len(inspect.getdoc(method)) > 20


# ---- text


BUILT = [
    (fm.Dataset.range(2, 10, 3), "source: {range: {start: 2, stop: 10, step: 3}}\n"),
    (fm.Dataset.text("a b.txt"), 'source: {text: {files: "a b.txt"}}\n'),
    (
        fm.Dataset.csv(
            ["a.csv", "b.csv"], fields={"age": "int64"}, header=False, missing=["", "NA"]
        )
        .shuffle(block=128, window=8)
        .cache()
        .padded_batch(4, shapes={"age": [None, 3]}, values={"age": -1})
        .repeat()
        .with_options(seed=7, order="any", job="j"),
        "source: {csv: {files: [a.csv, b.csv], fields: {age: int64}, header: false, "
        'missing: ["", NA]}}\n'
        "steps:\n"
        "  - shuffle: {window: 8, block: 128}\n"
        "  - cache\n"
        '  - padded_batch: {size: 4, shapes: {age: ["?", 3]}, values: {age: -1}}\n'
        "  - repeat\n"
        "options: {seed: 7, order: any, job: j}\n",
    ),
    (
        fm.Dataset.mixture(
            [fm.Dataset.range(3).take(2), fm.Dataset.range(9).map("x + 1")],
            [0.7, 0.3],
            stop="repeat",
        ).on_error("skip", cap=3),
        "source: {mixture: {inputs: [{source: {range: 3}, steps: [{take: 2}]}, "
        '{source: {range: 9}, steps: [{map: "x + 1"}]}], weights: [0.7, 0.3], stop: repeat}}\n'
        "steps:\n"
        "  - on_error: {policy: skip, cap: 3}\n",
    ),
]


@pytest.mark.parametrize(("dataset", "text"), BUILT, ids=lambda one: type(one).__name__)
def test_a_dataset_is_this_yaml(dataset, text):
    assert dataset.to_yaml() == text
    assert fm.Dataset.from_yaml(text) == dataset
    assert canonical(fm.Dataset.from_yaml(text)) == canonical(dataset)


def test_spellings_of_yaml_stay():
    text = (
        "source: {csv: {files: 007, missing: [1.50, True, 'true', ~x, 0x1F], delimiter: '\\t'}}\n"
        "steps: [shuffle, {take: 0x10}, {map: {a: 1.50, 'b c': component('b c')}}]\n"
    )
    dataset = fm.Dataset.from_yaml(text)
    assert canonical(fm.Dataset.from_yaml(dataset.to_yaml())) == canonical(dataset)
    assert "007" in dataset.to_yaml()
    assert canonical(dataset) != canonical(dataset.take(3))


def test_a_file_has_paths_relative_to_its_folder(tmp_path, monkeypatch):
    folder = tmp_path / "odd [folder]*"
    folder.mkdir()
    (folder / "words.txt").write_text("b\na\n")
    (folder / "7").write_text("a\nb\n")
    (folder / "p.yaml").write_text(
        "source: {concatenate: [{source: {text: 7}}, {source: {text: [./words.txt]}}]}\n"
        "steps: [{map: \"vocabulary(x, 'words.txt')\"}, {cache: kept/}]\n"
    )
    monkeypatch.chdir(tmp_path)
    dataset = fm.Dataset.from_yaml(folder / "p.yaml")
    monkeypatch.chdir("/")
    assert [int(x) for x in dataset.read()] == [1, 0, 0, 1]
    assert (folder / "kept").is_dir()
    again = fm.Dataset.from_yaml(dataset.to_yaml())
    assert [int(x) for x in again.read()] == [1, 0, 0, 1]


def test_relative_names_are_of_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("one\n")
    monkeypatch.chdir(tmp_path)
    assert list(fm.Dataset.text("a.txt").read()) == [b"one"]


def test_the_time_of_a_pipeline_of_50_steps_is_printed():
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        dataset = fm.Dataset.range(100)
        for _ in range(25):
            dataset = dataset.map(x=lambda x: x + 1).map("x")
        times.append(time.perf_counter() - begin)
    print(f"50 steps: {1000 * min(times):.2f} ms")
    assert dataset.to_yaml().count("map") == 50


# ---- a value


def test_a_list_of_files_is_relative_to_its_folder(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "list.jsonl").write_text('{"url": "a.txt"}\n')
    monkeypatch.chdir(tmp_path)
    for dataset in (
        fm.Dataset.text("manifest:list.jsonl"),
        fm.Dataset.from_yaml("source: {text: {files: {manifest: list.jsonl}}}"),
    ):
        with dataset.read() as reader:
            assert list(reader) == [b"one"]


def test_a_dataset_does_not_change():
    dataset = fm.Dataset.range(3)
    longer = dataset.batch(2)
    assert repr(dataset) == "<feedmill.Dataset range(3): int64>"
    assert dataset != longer
    with pytest.raises(AttributeError, match="does not change"):
        dataset.seed = 3
    with pytest.raises(TypeError, match="source"):
        fm.Dataset()


def test_datasets_are_compared_copied_and_pickled():
    dataset = fm.Dataset.range(3).map("x * 2").with_options(seed=4)
    for other in (copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))):
        assert other == dataset
        assert hash(other) == hash(dataset)
    assert repr(dataset) == "<feedmill.Dataset range(3) → map(x * 2): int64>"


def test_element_spec():
    dataset = fm.Dataset.range(9).map(a="[x, x]", b="to_string(x)").batch(3, drop_remainder=True)
    assert dataset.element_spec == {
        "a": fm.ComponentSpec("int64", (3, 2)),
        "b": fm.ComponentSpec("str", (3,)),
    }
    assert fm.Dataset.range(9).batch(3).element_spec == fm.ComponentSpec("int64", (None,))


def test_explain_equals_the_commands(tmp_path, command):
    dataset = fm.Dataset.range(100).shuffle().map("x * x").filter("x > 3").batch(8)
    (tmp_path / "p.yaml").write_text(dataset.to_yaml())
    assert dataset.explain() == command("read", tmp_path / "p.yaml", "--explain").decode()


# ---- errors


def shown(dataset):
    """The text of a dataset's HTML, which must be well-formed."""
    text = dataset._repr_html_()
    ElementTree.fromstring(f"<div>{text}</div>")
    return html.unescape(text)


def test_html_has_the_steps_and_the_plan_and_needs_no_files():
    photos = fm.Dataset.images("/nowhere/*.jpg").decode_image().resize(height=2, width=2)
    text = shown(photos.map(lambda e: {"small": e.image < 3}).batch(3).with_options(seed=7))
    for part in (
        '<td>source</td><td>images</td><td>{files: "/nowhere/*.jpg"}</td>',
        "<td>steps[1]</td><td>resize</td><td>{height: 2, width: 2}</td>",
        '<td>{small: "image < 3"}</td>',
        "<td>options</td><td>seed</td><td>7</td>",
        "worker  steps[2] map",
    ):
        assert part in text
    assert '<td>"a < 3"</td>' in shown(fm.Dataset.csv("/nowhere.csv").filter("a < 3"))
    assert "which explain() reads" in shown(fm.Dataset.csv("/nowhere.csv").filter("a < 3"))


def test_html_is_short_and_never_raises():
    assert "no component" in shown(fm.Dataset.range(3).map(y="nothing + 1"))
    assert len(shown(fm.Dataset.range(3).map(lambda x: x, python=True))) < 3000
    assert len(shown(fm.Dataset.text([f"{k}.txt" for k in range(1000)]))) < 3000
    broken = object.__new__(fm.Dataset)
    assert broken._repr_html_().startswith("<pre>Dataset: ")


def test_html_and_plan_show_no_secrets_of_urls():
    urls = [f"HTTP://me:k{{ey@h{k}/a b.txt?sig=key" for k in range(2)]
    for dataset in (
        fm.Dataset.text(urls[0]),
        fm.Dataset.text(urls).on_error("skip", quarantine="s3://me:key@b/q"),
    ):
        text = shown(dataset) + dataset.explain()
        assert "h0/a%20b.txt?..." in text
        assert "me:" not in text and "key" not in text


def test_wrong_options_are_refused_at_once():
    for build, part in [
        (lambda: fm.Dataset.range(3).batch(0), "size must be"),
        (lambda: fm.Dataset.range(3).batch("many"), "steps[0] batch"),
        (lambda: fm.Dataset.range(3).resize(height=2, width=2, method="best"), "bilinear"),
        (lambda: fm.Dataset.range(3).map("x +"), "x +"),
        (lambda: fm.Dataset.range(3).map(), "no expression"),
        (lambda: fm.Dataset.range(3).map({"a": "x"}, a="x + 1"), '"a" is given twice'),
        (
            lambda: fm.Dataset.range(3).map(lambda x: {"a": x}, num_parallel_calls=4),
            '"num_parallel_calls" is not an option here',
        ),
        (lambda: fm.Dataset.range(3).flat_map({"a": "x"}, deterministic=False), '"deterministic"'),
        (lambda: fm.Dataset.range(3).map({"a": "x"}, python=False), '"python" is not an option'),
        (lambda: fm.Dataset.text([]), "empty"),
        (lambda: fm.Dataset.text(3.5j), "3.5j"),
        (lambda: fm.Dataset.text(None), "files: expected a path, a glob, a folder, or a list"),
        (lambda: fm.Dataset.csv(["a.csv", 3]), "or a list of them, found 3"),
        (lambda: fm.Dataset.range(None), "range: expected a value, found None"),
        (lambda: fm.Dataset.range(3).batch(None), "size: expected a value, found None"),
        (lambda: fm.Dataset.range(3).take(None), "count: expected a value, found None"),
        (lambda: fm.Dataset.range(3).pack(None), "length: expected a value, found None"),
        (lambda: fm.Dataset.range(3).filter(3), "expected an expression: a text, fm.col"),
        (lambda: fm.Dataset.concatenate(fm.Dataset.range(3)), "inputs: expected a list of dat"),
        (
            lambda: fm.Dataset.zip([fm.Dataset.range(3), 3]),
            "inputs[1]: expected a dataset, found 3",
        ),
        (lambda: fm.Dataset.mixture([], []), "inputs: expected at least one dataset"),
        (lambda: fm.Dataset.range(3).map(fm.col(3)), "name: expected a text, found 3"),
        (lambda: fm.Loader("p.yaml"), "dataset: expected a feedmill.Dataset, found 'p.yaml'"),
        (lambda: fm.Dataset.range(3).with_options(order="odd"), "order"),
    ]:
        with pytest.raises(fm.InvalidArgumentError) as raised:
            build().element_spec  # noqa: B018
        assert part in str(raised.value)
        assert "line 1" not in str(raised.value)
        assert isinstance(raised.value, ValueError)
    with pytest.raises(TypeError):
        fm.Dataset.range(3).batch(size=2, drop_rest=True)


@pytest.mark.parametrize(
    ("method", "module", "package"),
    [
        ("to_torch", "torch", "torch"),
        ("to_jax", "jax", "jax"),
        ("to_tf", "tensorflow", "tensorflow"),
        ("to_hf", "huggingface", "datasets"),
    ],
)
def test_a_framework_that_is_missing_is_named(method, module, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)  # importing it raises ModuleNotFoundError
    monkeypatch.delitem(sys.modules, f"feedmill.{module}", raising=False)
    arguments = ["folder"] if method == "to_hf" else []
    with pytest.raises(
        ImportError, match=f"{method} needs the package {package}: pip install {package}"
    ):
        getattr(fm.Dataset.range(3), method)(*arguments)


def test_errors_of_a_file_name_the_line(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("source: {range: 3}\nsteps:\n  - bacth: 3\n")
    with pytest.raises(fm.InvalidArgumentError, match=r"p\.yaml:3:5: .*did you mean .batch"):
        fm.Dataset.from_yaml(path)
    with pytest.raises(fm.NotFoundError, match="no such file") as raised:
        fm.Dataset.from_yaml(tmp_path / "q.yaml")
    assert isinstance(raised.value, FileNotFoundError)
    with pytest.raises(fm.InvalidArgumentError, match="folder"):
        fm.Dataset.from_yaml(tmp_path)
    path.write_bytes(b"source: \xff\n")
    with pytest.raises(fm.InvalidArgumentError, match="UTF-8"):
        fm.Dataset.from_yaml(path)


def test_types_of_python_and_numpy_stand_for_their_names():
    fields = {"a": int, "b": str, "c": np.float32, "d": np.dtype("uint8"), "e": bool}
    names = {"a": "int64", "b": "bytes", "c": "float32", "d": "uint8", "e": "bool"}
    assert fm.Dataset.csv("x.csv", fields=fields) == fm.Dataset.csv("x.csv", fields=names)
    with pytest.raises(fm.InvalidArgumentError, match='there is no type "object"'):
        fm.Dataset.csv("x.csv", fields={"a": fm.Dataset})


def test_names_and_types_are_errors_that_name_the_step():
    with pytest.raises(fm.InvalidArgumentError, match=r"steps\[1\] map.*lable.*label"):
        fm.Dataset.range(3).map(label="x").map("lable").element_spec  # noqa: B018
    with pytest.raises(fm.InvalidArgumentError, match=r"steps\[1\] map.*lable.*label"):
        fm.Dataset.range(3).map(label="x").map("lable").read()
    with pytest.raises(fm.NotFoundError, match="nowhere"):
        fm.Dataset.text("/nowhere/*.txt").read()


def test_a_loop_over_a_dataset_says_how_to_read_it():
    with pytest.raises(TypeError, match=r"read them: for element in dataset\.read\(\)"):
        list(fm.Dataset.range(3))


def test_a_dict_is_no_yaml():
    with pytest.raises(fm.InvalidArgumentError, match="the text of a pipeline, found a dict"):
        fm.Dataset.from_yaml({"source": {"range": 3}})


# ---- classes of images


def test_names_of_classes_are_fixed(tmp_path):
    for name in ("dog/1.jpg", "fox/2.jpg"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "classes.txt").write_text("cat\ndog\nfox\n")
    (tmp_path / "list.txt").write_text("fox/2.jpg\ndog/1.jpg\n")
    images = fm.Dataset.images(tmp_path / "*" / "*.jpg")
    assert images.class_names == ["dog", "fox"]
    assert [int(e["label"]) for e in images.read()] == [0, 1]
    fixed = fm.Dataset.images(tmp_path / "*" / "*.jpg", classes=["cat", "dog", "fox"])
    assert fixed.class_names == ["cat", "dog", "fox"]
    by_file = fm.Dataset.images(
        f"manifest:{tmp_path}/list.txt", classes_file=tmp_path / "classes.txt"
    )
    assert by_file.class_names == ["cat", "dog", "fox"]
    assert [int(e["label"]) for e in fixed.read()] == [1, 2]
    assert [int(e["label"]) for e in by_file.read()] == [2, 1]
    other = fm.Dataset.images(tmp_path / "*" / "*.jpg", classes=["cat", "dog"])
    with pytest.raises(fm.DataLossError, match='its label "fox" is none of the 2 `classes`'):
        list(other.read())
    assert [int(e["label"]) for e in other.on_error("skip").read()] == [1]
    with pytest.raises(fm.InvalidArgumentError, match='has "cat" twice'):
        fm.Dataset.images(tmp_path, classes=["cat", "cat"]).read()
    with pytest.raises(fm.InvalidArgumentError, match="only labels of images"):
        _ = fm.Dataset.range(3).class_names
