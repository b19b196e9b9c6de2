"""Datasets as HTML, for notebooks."""

from __future__ import annotations

import html
from typing import Any

from feedmill import _feedmill, _plain_yaml
from feedmill.errors import Error

# Characters of an option that are shown. A pickled function has thousands.
_SHOWN_MAX = 120


def dataset_html(definition: dict[str, Any], pipeline: _feedmill.Pipeline) -> str:
    """Returns a table of the source, the steps and the options, and the plan.

    Reads no files. The plan lacks the components if only files tell the fields of the
    source.
    """
    rows = [("source", definition["source"])]
    rows += [(f"steps[{k}]", step) for k, step in enumerate(definition.get("steps", ()))]
    rows += [("options", {k: v}) for k, v in definition.get("options", {}).items()]
    table = "".join(_row(place, name, value) for place, one in rows for name, value in one.items())
    try:
        plan = pipeline.outline()
    except Error as error:
        plan = f"The plan needs the files, which explain() reads: {error}"
    return (
        f"<table><thead><tr><th></th><th>feedmill.Dataset</th><th></th></tr></thead>"
        f"<tbody>{table}</tbody></table>"
        f"<details><summary>plan</summary><pre>{html.escape(plan)}</pre></details>"
    )


def _row(place: str, name: str, value: Any) -> str:
    shown = "" if value is None else _plain_yaml.inline(_shortened(value))
    cells = "".join(f"<td>{html.escape(text)}</td>" for text in (place, name, shown))
    return f"<tr>{cells}</tr>"


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        value = _feedmill.shown_name(value)
        return value if len(value) <= _SHOWN_MAX else value[:_SHOWN_MAX] + "…"
    if isinstance(value, dict):
        return {key: _shortened(one) for key, one in value.items()}
    if isinstance(value, list):
        more = ["…"] if len(value) > 20 else []
        return [_shortened(one) for one in value[:20]] + more
    return value
