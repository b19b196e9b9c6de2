#!/usr/bin/env python3
"""make_examples.py HEADER OUTPUT: writes the examples of dataset.h as C++."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lint"))
from documented import methods


def main():
    header, output = map(pathlib.Path, sys.argv[1:])
    lines = ['#include "tests/api/dataset_examples.h"', "", "namespace feedmill {", "",
             "std::vector<DatasetExample> DatasetExamples() {", "  return {"]
    for method in methods(header.read_text()):
        for code, result in method.examples():
            lines += [f'{{"{method.name}", []() -> absl::StatusOr<Dataset> {{', "return", code, ";",
                      f'}}, R"({result})"}},']
    lines += ["};", "}", "", "}  // namespace feedmill", ""]
    output.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
