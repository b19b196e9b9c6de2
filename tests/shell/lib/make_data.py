#!/usr/bin/env python3
"""make_data.py FOLDER: the files that the shell tests read.

photos/{0,1,2}/*.jpg       24 small JPEGs, label = folder
broken/{0,1}/*.jpg         the same with one cut in the middle
good.tfrecord              300 records "record 0" …
corrupt.tfrecord           the same with a flipped byte in record 123
cut.tfrecord               the same, ending within record 123
lines.txt                  1,000 lines
"""
import pathlib
import shutil
import struct
import sys


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc32c_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecord(payload):
    length = struct.pack("<Q", len(payload))
    return (length + struct.pack("<I", masked_crc(length)) + payload
            + struct.pack("<I", masked_crc(payload)))


def main():
    out = pathlib.Path(sys.argv[1])
    images = sorted((pathlib.Path(__file__).parent.parent / "data").glob("*.jpg"))
    for number in range(24):
        folder = out / "photos" / str(number % 3)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(images[number % len(images)], folder / f"{number:03}.jpg")
    for number in range(10):
        folder = out / "broken" / str(number % 2)
        folder.mkdir(parents=True, exist_ok=True)
        content = images[number % len(images)].read_bytes()
        if number == 5:
            content = content[:len(content) // 2]
        (folder / f"{number:03}.jpg").write_bytes(content)
    records = [tfrecord(b"record %d" % k) for k in range(300)]
    (out / "good.tfrecord").write_bytes(b"".join(records))
    bad = bytearray(records[123])
    bad[14] ^= 1
    (out / "corrupt.tfrecord").write_bytes(
        b"".join(records[:123]) + bytes(bad) + b"".join(records[124:]))
    (out / "cut.tfrecord").write_bytes(b"".join(records[:124])[:-7])
    (out / "lines.txt").write_text("".join(f"line {k}\n" for k in range(1000)))


if __name__ == "__main__":
    main()
