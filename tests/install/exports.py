#!/usr/bin/env python3
"""exports.py LIBRARY HEADERS: fails if the shared library exports a symbol that
the public headers in the folder HEADERS do not declare."""
import pathlib
import re
import subprocess
import sys


def main():
    library, headers = sys.argv[1:]
    declared = set()
    for header in pathlib.Path(headers).glob("*.h"):
        declared.update(re.findall(r"\w+", header.read_text()))
    listed = subprocess.run(["nm", "-DC", "--defined-only", library], check=True, capture_output=True,
                            text=True).stdout.splitlines()
    names = [line.split(" ", 2)[2] for line in listed]
    names = [name for name in names if not name.startswith(("_init", "_fini"))]
    wrong = []
    for name in names:
        plain = re.sub(r"^(non-virtual thunk to |(vtable|typeinfo|typeinfo name|guard variable) for )", "", name)
        found = re.search(r"(?:^|[ *&])feedmill::(\w+)", plain.split("(")[0])
        if not found or found[1] not in declared:
            wrong.append(name)
    print(f"{library}: {len(names)} symbols")
    for name in wrong[:20]:
        print(f"not declared in a public header: {name}")
    return 1 if wrong or not names else 0


if __name__ == "__main__":
    sys.exit(main())
