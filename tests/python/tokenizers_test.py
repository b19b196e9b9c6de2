"""Token ids of `tokenize`, beside other packages' ids (tokenizers/make_tokenizers.py)."""

import json
import pathlib
import shutil

import feedmill as fm
import pytest
from conftest import ROOT
from page_runner import run_page

FOLDER = pathlib.Path(__file__).parent / "tokenizers"
CASES = json.loads((FOLDER / "cases.json").read_text())


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in CASES["texts"]))
    return fm.Dataset.jsonl(str(path), fields={"text": "bytes"})


def ids_of(dataset):
    return [element["ids"].tolist() for element in dataset.read()]


@pytest.mark.parametrize("file", CASES["files"])
def test_ids_and_texts(texts, file):
    cases, path = CASES["files"][file], FOLDER / file
    with_special = texts.map(ids=f"tokenize(text, '{path}')")
    assert ids_of(with_special) == [case["ids"] for case in cases]
    plain = texts.map(ids=f"tokenize(text, '{path}', False)")
    assert ids_of(plain) == [case["plain"] for case in cases]
    again = plain.map(text=f"detokenize(ids, '{path}')")
    assert [e["text"].decode() for e in again.read()] == [case["text"] for case in cases]


def test_a_traced_function(texts):
    path = str(FOLDER / "bpe.json")
    ids = texts.map(lambda e: {"ids": fm.functions.tokenize(e["text"], path)})
    assert ids_of(ids) == [case["ids"] for case in CASES["files"]["bpe.json"]]


def test_a_service_gives_the_same(texts):
    packed = texts.map(ids=f"tokenize(text, '{FOLDER / 'bpe.json'}')").pack(length=256)
    local = [element["ids"].tolist() for element in packed.read()]
    with fm.DispatchServer() as dispatcher, fm.WorkerServer(dispatcher.target):
        assert [e["ids"].tolist() for e in packed.read(service=dispatcher.target)] == local


def test_a_text_that_is_not_utf8(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"good\nbad \xff\n")
    ids = fm.Dataset.text(str(tmp_path / "a.txt")).map(f"tokenize(x, '{FOLDER / 'bpe.json'}')")
    with pytest.raises(fm.DataLossError, match=r"line 2.*not UTF-8 at byte 4"):
        list(ids.read())
    assert len(list(ids.on_error("skip").read())) == 1


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", "{}", "no tokenizer"),
        ("a.json", '{"model": {"type": "BPE", "vocab": 7}}', "no tokenizer"),
        ("a.json", '{"model": {"type": "BPE", "vocab": {"a": 4294967295}}}', "too large"),
        ("a.tiktoken", "IQ== 0\n", "tells no pattern.*cl100k_base"),
        ("cl100k_base.tiktoken", "IQ== 0\n!! 1\n", "line 2"),
        ("cl100k_base.tiktoken", "IQ== 0\nIg== 0\n", "one rank"),
    ],
)
def test_files_of_no_tokenizer(tmp_path, name, text, reason):
    (tmp_path / name).write_text(text)
    (tmp_path / "texts.txt").write_text("a\n")
    dataset = fm.Dataset.text(str(tmp_path / "texts.txt")).map(f"tokenize(x, '{tmp_path / name}')")
    with pytest.raises(fm.InvalidArgumentError, match=reason):
        list(dataset.read())


def test_arguments():
    with pytest.raises(fm.InvalidArgumentError, match="one text a row, not int64"):
        fm.Dataset.range(3).map("tokenize(x, 'a.json')").element_spec  # noqa: B018
    with pytest.raises(fm.InvalidArgumentError, match="True or False"):
        fm.Dataset.text("a.txt").map("tokenize(x, 'a.json', 3)").element_spec  # noqa: B018
    with pytest.raises(fm.InvalidArgumentError, match="token ids of a row"):
        fm.Dataset.range(3).map("detokenize(x, 'a.json')").element_spec  # noqa: B018


def test_a_tokenizer_that_changes_while_it_is_used(tmp_path):
    shutil.copy(FOLDER / "bpe.json", tmp_path / "own.json")
    (tmp_path / "texts.txt").write_text("a\n" * 10)
    texts = fm.Dataset.text(str(tmp_path / "texts.txt"))
    ids = texts.map(f"tokenize(x, '{tmp_path / 'own.json'}')")
    reader = ids.read()
    next(reader)
    state = reader.state_dict()
    shutil.copy(FOLDER / "odd.json", tmp_path / "own.json")
    with pytest.raises(fm.FailedPreconditionError):
        ids.read(state=state)


def test_the_page_of_language_models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(FOLDER / "bpe.json", tmp_path / "tokenizer.json")
    run_page((ROOT / "docs/language_models.md").read_text())
