"""Datasets as HTML, for notebooks."""

from __future__ import annotations

import html

from feedmill import _feedmill
from feedmill._look import html_of
from feedmill.errors import Error

# Rows of a dataset, and the seconds to make them.
ROWS = 3
SECONDS = 1.0
# Steps that write files as they make elements.
WRITING = frozenset(("cache", "on_error"))


def dataset_html(pipeline: _feedmill.Pipeline) -> str:
    """Returns a table of the source, the steps and the options, the plan, and the first rows.

    The plan lacks the components if only files tell the fields of the source. Rows are
    there if they are made at once, of files of this machine.
    """
    parts = pipeline.parts()
    table = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in part) + "</tr>"
        for part in parts
    )
    try:
        plan = pipeline.outline()
    except Error as error:
        plan = f"The plan needs the files, which explain() reads: {error}"
    rows = []
    if not any(name in WRITING or "://" in value for _, name, value in parts):
        rows = pipeline.first_within(count=ROWS, seconds=SECONDS)
    return (
        f"<table><thead><tr><th></th><th>feedmill.Dataset</th><th></th></tr></thead>"
        f"<tbody>{table}</tbody></table>"
        f"<details><summary>plan</summary><pre>{html.escape(plan)}</pre></details>"
        f"{html_of(rows) if rows else ''}"
    )
