#!/usr/bin/env python3
"""Writes small tokenizers, and texts with their token ids by other packages (cases.json).

python3 -m venv /tmp/venv && /tmp/venv/bin/pip install tokenizers==0.23.3 tiktoken==0.14.0
/tmp/venv/bin/python tests/python/tokenizers/make_tokenizers.py

The word pieces and the ranks are of the same texts; `odd` splits by a pattern of its own.
"""

import base64
import json
import pathlib
import random

import tiktoken
import tiktoken_ext.openai_public as openai
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

HERE = pathlib.Path(__file__).parent
TEXTS = [
    (HERE.parents[2] / name).read_text()[:40_000]
    for name in ("README.md", "docs/design.md", "docs/semantics.md", "python/feedmill/_sources.py")
]
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
WORDS = [
    "don't",
    "I'LL",
    "  ",
    "\n\n",
    "\r\n",
    "\t",
    " the",
    "1234567",
    "½",
    "<|begin|>",
    "[CLS]",
    "##a",
    "e\u0301",
    "😀",
]


def cases():
    picker = random.Random(5)
    letters = [
        chr(c)
        for c in [*range(0x250), 0x3B1, 0x416, 0x4E2D, 0x200D, 0x3000, 0x85, 0xAC00, 0x10FFFF]
    ]
    found = ["", " ", *(text[k : k + 150] for text in TEXTS for k in range(0, 1500, 150))]
    for _ in range(120):
        parts = [
            picker.choice(letters if picker.random() < 0.5 else WORDS)
            for _ in range(picker.randrange(1, 30))
        ]
        found.append("".join(parts))
    return found


def byte_pairs(pattern):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), BYTES]
    )
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(
        TEXTS,
        trainers.BpeTrainer(
            vocab_size=600,
            special_tokens=["<|begin|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    made.post_processor = processors.TemplateProcessing(
        single="<|begin|> $A", special_tokens=[("<|begin|>", 0)]
    )
    return made


def word_pieces():
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.train_from_iterator(
        TEXTS,
        trainers.WordPieceTrainer(
            vocab_size=500, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False
        ),
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    made.enable_truncation(40)
    return made


def unigram():
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.train_from_iterator(
        TEXTS,
        trainers.UnigramTrainer(
            vocab_size=400, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
        ),
    )
    return made


def ranks_of(tokenizer):
    """Returns the bytes of the tokens of byte pairs, in order."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    byte_of = {chr(byte): byte for byte in shown} | {
        chr(256 + k): byte for k, byte in enumerate(hidden)
    }
    vocab = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    return [
        bytes(byte_of[letter] for letter in token) for token, _ in vocab if token != "<|begin|>"
    ]


def main():
    texts, found = cases(), {}
    bpe = byte_pairs(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    made = {
        "bpe": bpe,
        "odd": byte_pairs(r"[a-z]{1,5}|[^a-z]{1,3}"),
        "wordpiece": word_pieces(),
        "unigram": unigram(),
    }
    for name, tokenizer in made.items():
        tokenizer.save(str(HERE / f"{name}.json"), pretty=False)
        found[f"{name}.json"] = [
            {
                "ids": tokenizer.encode(text).ids,
                "plain": (plain := tokenizer.encode(text, add_special_tokens=False).ids),
                "text": tokenizer.decode(plain),
            }
            for text in texts
        ]
    tokens = ranks_of(bpe)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    lines = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
    openai.load_tiktoken_bpe = lambda *_, **__: ranks
    for name in ("cl100k_base", "o200k_base", "r50k_base"):
        (HERE / f"{name}_small.tiktoken").write_bytes(lines)
        pattern = getattr(openai, name)()["pat_str"]
        encoding = tiktoken.Encoding(
            name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
        )
        found[f"{name}_small.tiktoken"] = [
            {
                "ids": (ids := encoding.encode_ordinary(text)),
                "plain": ids,
                "text": encoding.decode(ids),
            }
            for text in texts
        ]
    (HERE / "cases.json").write_text(
        json.dumps({"texts": texts, "files": found}, separators=(",", ":")) + "\n"
    )


main()
