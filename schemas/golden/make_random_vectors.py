#!/usr/bin/python3
"""Writes philox.json and permutation.json: the random numbers of
docs/semantics/random.md, computed by this script alone, from the published formulas.

Philox4x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
SC'11; the first three vectors are from Random123's kat_vectors.
XXH3-128: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.
"""

import json
import os
import struct

M32 = (1 << 32) - 1
M64 = (1 << 64) - 1

# The first 64 bytes of XXH3's default secret: enough for inputs of 40 bytes.
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c")
P64_1 = 0x9E3779B185EBCA87
P64_2 = 0xC2B2AE3D27D4EB4F
P64_4 = 0x85EBCA77C2B2AE63


def read64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def mix16(data, at, secret):
    product = ((read64(data, at) ^ read64(SECRET, secret)) *
               (read64(data, at + 8) ^ read64(SECRET, secret + 8)))
    return (product & M64) ^ (product >> 64)


def xxh3_128(data):
    """(low, high) for 33 to 64 bytes, seed 0."""
    n = len(data)
    assert 33 <= n <= 64
    low, high = n * P64_1 & M64, 0
    for first, second, secret in ((16, n - 32, 32), (0, n - 16, 0)):
        low = (low + mix16(data, first, secret)) & M64
        low ^= (read64(data, second) + read64(data, second + 8)) & M64
        high = (high + mix16(data, second, secret + 16)) & M64
        high ^= (read64(data, first) + read64(data, first + 8)) & M64

    def avalanche(h):
        h ^= h >> 37
        h = h * 0x165667919E3779F9 & M64
        return h ^ h >> 32

    return (avalanche((low + high) & M64),
            -avalanche((low * P64_1 + high * P64_4 + n * P64_2) & M64) & M64)


def random_key(seed, iteration, epoch, step, ordinal):
    return xxh3_128(struct.pack("<5Q", seed, iteration, epoch, step, ordinal))


def philox(key_low, p, i):
    k = [key_low & M32, key_low >> 32]
    c = [p & M32, p >> 32, i & M32, i >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & M32, (a >> 32) ^ c[3] ^ k[1], a & M32]
        k = [(k[0] + 0x9E3779B9) & M32, (k[1] + 0xBB67AE85) & M32]
    return c


def mix(z):
    z ^= z >> 30
    z = z * 0xBF58476D1CE4E5B9 & M64
    z ^= z >> 27
    z = z * 0x94D049BB133111EB & M64
    return z ^ z >> 31


def draw(low, high, i):
    return mix(low + i * (high | 1) & M64)


def shuffled(low, high, n):
    """The whole permutation of at most 1,024 elements."""
    order = []
    for i in range(n):
        j = (draw(low, high, i) >> 32) * (i + 1) >> 32
        order.append(i)
        order[i], order[j] = order[j], order[i]
    return order


def permuted(low, high, n, index):
    """Element `index` of the permutation of n elements."""
    if n <= 1024:
        return shuffled(low, high, n)[index]
    bits = (n - 1).bit_length()
    widths = (bits + 1) // 2, bits // 2
    x = index ^ (high & 1) if index < 2 else index
    while True:
        halves = [x & (1 << widths[0]) - 1, x >> widths[0]]
        for r in range(8):
            key = draw(low, high, r)
            y = ((halves[r % 2] ^ key) & M32) * 0x7FEB352D & M32
            y = (y ^ y >> 15 ^ key >> 32) * 0x846CA68B & M32
            halves[1 - r % 2] ^= y >> 32 - widths[1 - r % 2]
        x = halves[1] << widths[0] | halves[0]
        if x < n:
            return x


KAT = [  # Random123, kat_vectors, "philox4x32 10"
    ((0, 0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((M64, M64, M64), "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ((0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def write(name, vectors):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    with open(path, "w", encoding="ascii") as out:
        out.write("[\n" + ",\n".join(json.dumps(v) for v in vectors) + "\n]\n")


def main():
    vectors = []
    for (key, p, i), words in KAT:
        expected = [int(word, 16) for word in words.split()]
        assert philox(key, p, i) == expected
        vectors.append({"key_low": key, "p": p, "i": i, "words": expected})
    for n in range(20):
        low = random_key(7, 0, n, 2, 0)[0]
        p, i = n * 0x123456789AB & M64, n % 3
        vectors.append(
            {"key_low": low, "p": p, "i": i, "words": philox(low, p, i)})
    write("philox.json", vectors)

    vectors = []
    sizes = [0, 1, 2, 3, 4, 5, 7, 16, 17, 100, 1000, 65537, 10**9, 2**32,
             2**32 + 1, 10**15, 2**62 + 1, 2**63, 1023, 1024, 1025, 2048, 2049]
    for number, n in enumerate(sizes):
        key = [number * 0x9E3779B97F4A7C15 & M64, number % 3, number, 1 + number,
               number % 2]
        low, high = random_key(*key)
        indexes = list(range(min(n, 8))) + ([n // 2, n - 1] if n > 8 else [])
        vectors.append({
            "seed": key[0], "iteration": key[1], "epoch": key[2],
            "step": key[3], "ordinal": key[4], "key_low": low,
            "key_high": high, "n": n, "index": indexes,
            "at": [permuted(low, high, n, j) for j in indexes]})
    write("permutation.json", vectors)


if __name__ == "__main__":
    main()
