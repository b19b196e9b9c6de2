"""The order hash of docs/semantics/order.md, of elements as Python has them."""

import struct

import numpy as np
import xxhash

CODES = {
    name: code
    for code, name in enumerate(
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split(), 1
    )
}
BYTES = 12


def _component(name, value):
    name = name.encode("utf-8", "surrogateescape")
    head = struct.pack("<Q", len(name)) + name
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return head + bytes([BYTES, 0]) + struct.pack("<Q", len(value)) + value
    value = np.asarray(value)
    if value.dtype.kind == "M":
        value = value.view("int64")
    is_bytes = value.dtype == object
    code = BYTES if is_bytes else CODES[value.dtype.name]
    head += bytes([code, value.ndim]) + struct.pack(f"<{value.ndim}Q", *value.shape)
    if not is_bytes:
        return head + value.tobytes()
    items = [item.encode() if isinstance(item, str) else item for item in value.ravel()]
    return head + b"".join(struct.pack("<Q", len(item)) + item for item in items)


def element_hash(element):
    components = element if isinstance(element, dict) else {"": element}
    return xxhash.xxh3_64_intdigest(b"".join(_component(*one) for one in components.items()))


class OrderHash:
    def __init__(self):
        self.value = 0
        self.elements = 0

    def add(self, element):
        pair = struct.pack("<QQ", self.value, element_hash(element))
        self.value = xxhash.xxh3_64_intdigest(pair)
        self.elements += 1

    def hex(self):
        return f"{self.value:016x}"


def order_hash(elements):
    """Returns the number of elements and their order hash."""
    folded = OrderHash()
    for element in elements:
        folded.add(element)
    return folded.elements, folded.hex()
