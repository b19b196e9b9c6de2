"""Token ids of `tokenize`, beside other packages' ids (tokenizers/make_tokenizers.py)."""

import base64
import json
import pathlib
import resource
import shutil

import feedmill as fm
import pytest
from conftest import ROOT
from page_runner import run_page

FOLDER = pathlib.Path(__file__).parent / "tokenizers"
CASES = json.loads((FOLDER / "cases.json").read_text())
CHATS = json.loads((FOLDER / "chats.json").read_text())
OFFSETS = json.loads((FOLDER / "offsets.json").read_text())
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def lines(path, field, values):
    path.write_text("".join(json.dumps({field: value}) + "\n" for value in values))
    return fm.Dataset.jsonl(str(path), fields={field: "bytes"})


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    return lines(tmp_path_factory.mktemp("texts") / "texts.jsonl", "text", CASES["texts"])


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


@pytest.mark.parametrize("file", OFFSETS["files"])
def test_offsets_and_truncation(tmp_path, file):
    cases, path = OFFSETS["files"][file], FOLDER / file
    texts = lines(tmp_path / "texts.jsonl", "text", OFFSETS["texts"])
    whole = texts.map(at=f"token_offsets(text, '{path}')")
    if file != "wordpiece.json":  # the file itself truncates
        assert [e["at"].tolist() for e in whole.read()] == cases["whole"]
    cut = texts.map(
        at=f"token_offsets(text, '{path}', True, 7)", ids=f"tokenize(text, '{path}', True, 7)"
    )
    found = list(cut.read())
    assert [e["at"].tolist() for e in found] == cases["cut"]
    assert [e["ids"].tolist() for e in found] == cases["cut_ids"]


def test_the_texts_of_offsets(tmp_path):
    texts = lines(tmp_path / "texts.jsonl", "text", OFFSETS["texts"])
    found = texts.map(
        at=f"token_offsets(text, '{FOLDER / 'odd.json'}', False)",
        ids=f"tokenize(text, '{FOLDER / 'odd.json'}', False)",
    )
    for element, text in zip(found.read(), OFFSETS["texts"], strict=True):
        assert len(element["at"]) == len(element["ids"])
        assert {k for begin, end in element["at"] for k in range(begin, end)} == set(
            range(len(text))
        )


@pytest.mark.parametrize("pattern", ["cl100k_base", CL100K])
def test_a_pattern_of_ranks(tmp_path, texts, pattern):
    shutil.copy(FOLDER / "cl100k_base_small.tiktoken", tmp_path / "own.tiktoken")
    path, cases = tmp_path / "own.tiktoken", CASES["files"]["cl100k_base_small.tiktoken"]
    ids = texts.map(lambda e: {"ids": fm.functions.tokenize(e["text"], str(path), pattern)})
    assert ids_of(ids) == [case["ids"] for case in cases]
    again = ids.map(lambda e: {"text": fm.functions.detokenize(e["ids"], str(path), pattern)})
    assert [e["text"].decode() for e in again.read()] == [case["text"] for case in cases]


def test_two_patterns_of_a_file(texts):
    path = FOLDER / "cl100k_base_small.tiktoken"
    both = texts.map(
        ids=f"tokenize(text, '{path}')", other=f"tokenize(text, '{path}', 'r50k_base')"
    )
    cases = CASES["files"]["r50k_base_small.tiktoken"]
    assert ids_of(both) == [case["ids"] for case in CASES["files"][path.name]]
    assert [e["other"].tolist() for e in both.read()] == [case["ids"] for case in cases]


@pytest.mark.parametrize("key", CHATS["made"])
def test_chats(tmp_path, key):
    file, template = key.split()
    wanted = [
        (chat, case, k % 3 == 0)
        for k, (chat, case) in enumerate(zip(CHATS["chats"], CHATS["made"][key], strict=True))
        if case
    ]
    assert len(wanted) > 10
    for prompt in (False, True):
        part = [(chat, case) for chat, case, has in wanted if has is prompt]
        messages = lines(tmp_path / "chats.jsonl", "messages", [chat for chat, _ in part])
        made = messages.map(
            text=f"format_chat(messages, '{template}', {prompt})",
            chat=f"tokenize_chat(messages, '{FOLDER / file}', '{template}', {prompt})",
        ).map({"text": "text", "ids": "chat[0]", "mask": "chat[1]"})
        for element, (_, case) in zip(made.read(), part, strict=True):
            assert element["text"].decode() == case["text"]
            assert element["ids"].tolist() == case["ids"]
            assert element["mask"].tolist() == case["mask"]


@pytest.mark.parametrize("key", [key for key in CHATS["made"] if key.startswith("chat.json")])
def test_chats_that_a_template_refuses(tmp_path, key):
    template = key.split()[1]
    for k, (chat, case) in enumerate(zip(CHATS["chats"], CHATS["made"][key], strict=True)):
        if case is None:
            one = lines(tmp_path / f"{k}.jsonl", "messages", [chat])
            with pytest.raises(fm.DataLossError, match=template):
                list(one.map(f"format_chat(messages, '{template}')").read())


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ("7", "a JSON list of objects with a role and a content"),
        ("[]", "a JSON list"),
        ('[{"role": "user"}]', "message 0 lacks a role or a content"),
        ('[{"role": "user", "content": ["a"]}]', "message 0 lacks"),
    ],
)
def test_messages_that_are_none(tmp_path, messages, reason):
    (tmp_path / "a.txt").write_text(messages + "\n")
    with pytest.raises(fm.DataLossError, match=reason):
        list(fm.Dataset.text(str(tmp_path / "a.txt")).map("format_chat(x, 'chatml')").read())


def bpe(**changes):
    return json.dumps({**json.loads((FOLDER / "bpe.json").read_text()), **changes})


def split(pattern):
    return bpe(
        pre_tokenizer={
            "type": "Split",
            "pattern": {"Regex": pattern},
            "behavior": "Isolated",
            "invert": False,
        }
    )


def replaces(count):
    one = {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaa"}
    return bpe(normalizer={"type": "Sequence", "normalizers": [one] * count})


BOMBS = {
    "nested": ('{"a":' + "[" * 100_000, "recursion limit"),
    "id": ('{"model": {"type": "WordLevel", "vocab": {"a": 16777215}, "unk_token": "a"}}', "id "),
    "padding": (
        bpe(
            padding={
                "strategy": {"Fixed": 10_000_000},
                "direction": "Right",
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "a",
            }
        ),
        "pads to 10000000",
    ),
    "repeats": (split(r"(\p{L}{1000}){1000}"), "repeats 1000000 times"),
    "groups": (split("(" * 2000 + "a" + ")" * 2000), "nested deeper"),
    "pattern": (split("a|" * 20_000), "a pattern of 40000 bytes"),
    "replaces": (replaces(60), "times as long"),
    "many": (replaces(1000), "has 1000 parts"),
    "words": (
        '{"model": {"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "a", '
        '"max_input_chars_per_word": 1000000}}',
        "words of 1000000",
    ),
    "token": (
        '{"model": {"type": "Unigram", "vocab": [["' + "a" * 1_000_000 + '", 0]]}}',
        "a token has 1000000 bytes",
    ),
    "dropout": (bpe(model={"type": "BPE", "dropout": 0.5, "vocab": {}, "merges": []}), "dropout"),
    "ranks": (
        "".join(f"{base64.b64encode(b'a' * (k + 1)).decode()} {k}\n" for k in range(1024)),
        "too many ways",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(tmp_path, name):
    text, reason = BOMBS[name]
    (tmp_path / "texts.txt").write_text("a\n")
    (tmp_path / "cl100k_base").write_text(text)
    ids = fm.Dataset.text(str(tmp_path / "texts.txt")).map(
        f"tokenize(x, '{tmp_path / 'cl100k_base'}')"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(fm.InvalidArgumentError, match=reason):
        list(ids.read())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 50_000


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
    with pytest.raises(fm.InvalidArgumentError, match="at most 0 tokens"):
        fm.Dataset.text("a.txt").map("tokenize(x, 'a.json', True, 0)").element_spec  # noqa: B018
    with pytest.raises(fm.InvalidArgumentError, match=r"no chat template.*chatml, qwen2, llama3"):
        fm.Dataset.text("a.txt").map("format_chat(x, 'llama9')").element_spec  # noqa: B018
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
