"""The functions that expressions can call (docs/expressions.md lists them).

``fm.functions.image.resize(e.image, 224, 224, "bilinear")`` is the expression
``image.resize(image, 224, 224, 'bilinear')``. Functions of plugins that
``FEEDMILL_OP_PLUGINS`` names are here, too.

>>> import feedmill as fm
>>> fm.functions.length(fm.col("text"))
Expr('length(text)')
"""

# functions.pyi, which tools/python_stub writes, has the names for mypy and IDEs.
from feedmill import _expression_functions as _registry


def __getattr__(name: str) -> _registry.Function:
    if name.startswith("_"):
        raise AttributeError(f"module 'feedmill.functions' has no attribute {name!r}")
    return _registry.found(name)


def __dir__() -> list[str]:
    return sorted({name.split(".")[0] for name in _registry.names()})
