#!/usr/bin/env python3
"""Writes pieces_unigram.model, pieces_bpe.model and pieces_cases.txt: the results of SentencePiece's Python package for
texts and these models.

  python3 -m venv /tmp/venv && /tmp/venv/bin/pip install sentencepiece
  /tmp/venv/bin/python tests/unit/ops/make_pieces.py

One case per line: model, hex of the text, ids; separated by tabs, ids by spaces.
"""
import io
import os

import sentencepiece

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = ["the quick brown fox jumps over the lazy dog", "pack my box with five dozen liquor jugs",
        "how vexingly quick daft zebras jump", "the five boxing wizards jump quickly",
        "sphinx of black quartz judge my vow", "waltz bad nymph for quick jigs vex"] * 20
CASES = ["", " ", "the quick brown fox", "the  quick   brown", "THE QUICK", "jumping zebras", "a", "quartz\n", "über 東京",
         "tab\tand\0nul", "five " * 50, " leading and trailing ", "▁", "\ufeffbom"]


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
    with open(os.path.join(HERE, "pieces_cases.txt"), "w", encoding="ascii") as file:
        file.writelines(lines)


main()
