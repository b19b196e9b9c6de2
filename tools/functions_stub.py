"""Prints python/feedmill/functions.pyi: the functions of expressions of the built extension."""

import collections

from feedmill import _feedmill

HEAD = """\
# Written by tools/python_stub; docs/expressions.md says what the functions do.
from feedmill._expression_functions import Function
from feedmill.expressions import Expr, Operand
"""


def stub(names):
    """Returns the text of the stub."""
    groups = collections.defaultdict(list)
    for name in sorted(names):
        group, _, inner = name.rpartition(".")
        groups[group].append(inner)
    text = HEAD
    for group in sorted(filter(None, groups)):
        text += f"\nclass _{group.title()}(Function):\n"
        for name in groups[group]:
            text += f"    def {name}(self, *arguments: Operand) -> Expr: ...\n"
    text += "\n"
    text += "".join(f"{group}: _{group.title()}\n" for group in sorted(filter(None, groups)))
    text += "\n"
    text += "".join(f"def {name}(*arguments: Operand) -> Expr: ...\n" for name in groups[""])
    return text + "\n# Functions of plugins.\ndef __getattr__(name: str) -> Function: ...\n"


if __name__ == "__main__":
    print(stub(_feedmill.function_names()), end="")
