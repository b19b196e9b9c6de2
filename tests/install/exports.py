#!/usr/bin/env python3
"""exports.py LIBRARY HEADERS: fails if the shared library exports a symbol that
the public headers in the folder HEADERS do not declare.

A header declares what stands between its `#pragma GCC visibility push(default)`
and `pop`, in the namespace and not in a comment. Classes of the library that are
named before the push are private.
"""
import pathlib
import re
import subprocess
import sys

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
EXPORTED = re.compile(r"#pragma GCC visibility push\(default\)\n(.*?)#pragma GCC visibility pop", re.S)
DECLARED = re.compile(r"\b(?:class|struct|enum class|enum)\s+(\w+)|\b(operator)\b|\b(\w+)\(|\bconstexpr\b[^;=(]*\b(\w+)\s*=")
SYMBOL = re.compile(r"(?:^|[ *&])feedmill::(\w+)")
PREFIX = re.compile(r"^(non-virtual thunk to |(vtable|typeinfo|typeinfo name|guard variable) for )")


def outer(code):
    """The code of namespaces, without what stands in other braces."""
    kept, depths = [], []
    for piece in re.split(r"([{}])", code):
        if piece == "{":
            depths.append(not re.search(r"namespace[\w: ]*$", "".join(kept)))
        elif piece == "}":
            depths.pop()
            kept.append(";")
        elif not any(depths):
            kept.append(piece)
    return "".join(kept)


def declared(header):
    """Names that a header declares for users."""
    names = set()
    for region in EXPORTED.findall(COMMENT.sub("", header)):
        for found in DECLARED.findall(outer(region)):
            names.update(name for name in found if name)
    return names


def main():
    library, headers = sys.argv[1:]
    names = set()
    for header in pathlib.Path(headers).glob("*.h"):
        names |= declared(header.read_text())
    listed = subprocess.run(["nm", "-DC", "--defined-only", library], check=True, capture_output=True,
                            text=True).stdout.splitlines()
    symbols = [line.split(" ", 2)[2] for line in listed]
    symbols = [symbol for symbol in symbols if not symbol.startswith(("_init", "_fini"))]
    wrong = []
    for symbol in symbols:
        found = SYMBOL.search(PREFIX.sub("", symbol).split("(")[0])
        if not found or found[1] not in names:
            wrong.append(symbol)
    print(f"{library}: {len(symbols)} symbols of {len(names)} declared names")
    for symbol in wrong[:20]:
        print(f"not declared in a public header: {symbol}")
    return 1 if wrong or not symbols else 0


if __name__ == "__main__":
    sys.exit(main())
