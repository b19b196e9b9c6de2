"""Datasets as HTML, for notebooks."""

from __future__ import annotations

import html

from feedmill import _feedmill
from feedmill.errors import Error


def dataset_html(pipeline: _feedmill.Pipeline) -> str:
    """Returns a table of the source, the steps and the options, and the plan.

    Reads no files. The plan lacks the components if only files tell the fields of the
    source.
    """
    table = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in part) + "</tr>"
        for part in pipeline.parts()
    )
    try:
        plan = pipeline.outline()
    except Error as error:
        plan = f"The plan needs the files, which explain() reads: {error}"
    return (
        f"<table><thead><tr><th></th><th>feedmill.Dataset</th><th></th></tr></thead>"
        f"<tbody>{table}</tbody></table>"
        f"<details><summary>plan</summary><pre>{html.escape(plan)}</pre></details>"
    )
