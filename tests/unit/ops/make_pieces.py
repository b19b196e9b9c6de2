#!/usr/bin/env python3
"""Writes pieces_unigram.model, pieces_bpe.model and pieces_cases.txt: the results of SentencePiece's Python package for
texts and these models.

  python3 -m venv /tmp/venv && /tmp/venv/bin/pip install sentencepiece
  /tmp/venv/bin/python tests/unit/ops/make_pieces.py

One case per line: model, hex of the text, ids; separated by tabs, ids by spaces.
"""
import io
import os
import random

import sentencepiece

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = ["the quick brown fox jumps over the lazy dog", "pack my box with five dozen liquor jugs",
        "how vexingly quick daft zebras jump", "the five boxing wizards jump quickly",
        "sphinx of black quartz judge my vow", "waltz bad nymph for quick jigs vex"] * 20
CASES = ["", " ", "the quick brown fox", "the  quick   brown", "THE QUICK", "jumping zebras", "a", "quartz\n", "über 東京",
         "tab\tand\0nul", "five " * 50, " leading and trailing ", "▁", "\ufeffbom"]
# BPE models whose texts are cut into words, by what they do with spaces.
SPACES = {
    "kept": {"normalization_rule_name": "identity", "byte_fallback": True, "remove_extra_whitespaces": False,
             "allow_whitespace_only_pieces": True},
    "bare": {"normalization_rule_name": "identity", "byte_fallback": True, "remove_extra_whitespaces": False,
             "add_dummy_prefix": False},
    "nmt": {"user_defined_symbols": ["<sep>", "fox jumps"]},
    "crossing": {"normalization_rule_name": "identity", "split_by_whitespace": False},
}
ALPHABET = [*"abcdegh  \t\n\r.,", "the", "quick", " fox jumps", "é", "東", "\u0301", "▁", "\u3000", "ﬁ", "\0", "\u200b",
            "😀", "<sep>", "  the"]


def texts_with_spaces():
    choose = random.Random(4)
    return ["".join(choose.choice(ALPHABET) for _ in range(choose.randint(1, 30))) for _ in range(150)]


def main():
    lines = []
    for name, kind in (("unigram", "unigram"), ("bpe", "bpe")):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXT), model_writer=model, vocab_size=60, model_type=kind,
            normalization_rule_name="identity", minloglevel=2, num_threads=1)
        path = os.path.join(HERE, f"pieces_{name}.model")
        with open(path, "wb") as file:
            file.write(model.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_file=path)
        for text in CASES:
            ids = " ".join(map(str, processor.encode(text)))
            lines.append(f"{name}\t{text.encode().hex()}\t{ids}\n")
    for name, options in SPACES.items():
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([*TEXT, "  the  quick", "the the"]), model_writer=model, vocab_size=400, model_type="bpe",
            hard_vocab_limit=False, minloglevel=2, num_threads=1, **options)
        with open(os.path.join(HERE, f"pieces_{name}.model"), "wb") as file:
            file.write(model.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        lines += [f"{name}\t{text.encode().hex()}\t{' '.join(map(str, processor.encode(text)))}\n"
                  for text in texts_with_spaces()]
    with open(os.path.join(HERE, "pieces_cases.txt"), "w", encoding="ascii") as file:
        file.writelines(lines)


main()
