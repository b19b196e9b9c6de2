#!/usr/bin/env python3
"""Makes small data for the recipes in the working directory: images of noise, texts, a tokenizer.

    cd /tmp/data && python3 examples/recipes/make_data.py

Needs nothing but Python.
"""

import io
import json
import pathlib
import random
import struct
import tarfile
import zlib

draw = random.Random(7)


def png(height, width, boxes=()):
    """Returns an image of random colours, in a PNG file; with boxes, dark ones, and white boxes."""

    def chunk(kind, data):
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    rows = [bytearray(b"\0" + draw.randbytes(3 * width)) for _ in range(height)]
    if boxes:
        rows = [bytearray(value // 4 for value in row) for row in rows]
    for left, top, w, h in boxes:
        for row in rows[top : top + h]:
            row[1 + 3 * left : 1 + 3 * (left + w)] = b"\xff" * (3 * w)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def write(path, content):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def lines(path, rows):
    write(path, "".join(json.dumps(row) + "\n" for row in rows).encode())


def images():
    for part, count in (("train", 8), ("val", 4)):
        for name in ("cat", "dog"):
            for k in range(count):
                write(f"imagenet/{part}/{name}/{k}.png", png(60 + k, 80))
    for part in (1, 2):
        records = (bytes([draw.randrange(10)]) + draw.randbytes(3072) for _ in range(20))
        write(f"cifar/data_batch_{part}.bin", b"".join(records))
    rows = []
    for k in range(8):
        boxes = [[draw.randrange(32), draw.randrange(24), 16, 12] for _ in range(1 + k % 3)]
        write(f"coco/{k}.png", png(48, 64, boxes))
        labels = [draw.randrange(80) for _ in boxes]
        rows.append({"path": f"{k}.png", "boxes": sum(boxes, []), "labels": labels})
    lines("coco/boxes.jsonl", rows)
    for shard in range(2):
        with tarfile.open(f"pairs-{shard}.tar", "w") as tar:
            for k in range(6):
                caption = f"picture {k} of shard {shard}".encode()
                for name, content in ((f"{k:03}.png", png(40, 40)), (f"{k:03}.txt", caption)):
                    entry = tarfile.TarInfo(name)
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))


def texts():
    words = "a data the reader waits for batches that workers make of records".split()
    text = lambda least: " ".join(draw.choices(words, k=least + draw.randrange(40)))
    for name, count in (("web", 60), ("code", 20), ("books", 10)):
        rows = ({"text": text(3), "lang": draw.choice(["en", "en", "de"])} for _ in range(count))
        lines(f"{name}.jsonl", rows)
    say = lambda role: {"role": role, "content": text(2)}
    lines(
        "chats.jsonl",
        ({"messages": [say("user"), say("assistant")] * (1 + k % 2)} for k in range(20)),
    )
    pair = lambda ask: {"chosen": [ask, say("assistant")], "rejected": [ask, say("assistant")]}
    lines("preferences.jsonl", (pair(say("user")) for _ in range(20)))


def tokenizer():
    """Writes a tokenizer.json whose tokens are the bytes, and the marks of ChatML."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    letters = [chr(byte) for byte in shown] + [chr(256 + k) for k in range(len(hidden))]
    marks = [
        {
            "id": 256 + k,
            "content": mark,
            "special": True,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
        }
        for k, mark in enumerate(("<|im_start|>", "<|im_end|>", "<|endoftext|>"))
    ]
    bytes_of = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": False,
        "use_regex": True,
    }
    model = {"type": "BPE", "vocab": {letter: k for k, letter in enumerate(letters)}, "merges": []}
    made = {
        "version": "1.0",
        "added_tokens": marks,
        "pre_tokenizer": bytes_of,
        "decoder": bytes_of,
        "model": model,
    }
    write("tokenizer.json", json.dumps(made).encode())


images()
texts()
tokenizer()
