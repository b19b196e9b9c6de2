"""Relative paths of a pipeline's file, made absolute."""

from __future__ import annotations

import functools
import json
from typing import Any

from feedmill import _feedmill


@functools.cache
def registered_steps() -> dict[str, dict[str, Any]]:
    """Every step by its name, with its fields (StepsJson of the extension)."""
    return {step["name"]: step for step in json.loads(_feedmill.steps_json())}


@functools.cache
def registered_sources() -> dict[str, dict[str, Any]]:
    """Every source by its name, with its fields."""
    return {source["name"]: source for source in json.loads(_feedmill.sources_json())}


def absolute_definition(definition: dict[str, Any], directory: str) -> dict[str, Any]:
    """Returns ``definition`` with ``directory`` before its relative paths."""
    made = {**definition, "source": _source(definition["source"], directory)}
    if definition.get("steps"):
        made["steps"] = [_step(step, directory) for step in definition["steps"]]
    return made


def _source(source: dict[str, Any], directory: str) -> dict[str, Any]:
    ((name, value),) = source.items()
    if name == "graph":  # a whole pipeline, whose paths are absolute
        return source
    kinds = {field["kind"] for field in registered_sources()[name]["fields"]}
    if "inputs" in kinds:
        if isinstance(value, list):
            value = {"inputs": value}
        inputs = [absolute_definition(one, directory) for one in value["inputs"]]
        return {name: {**value, "inputs": inputs}}
    if "files" not in kinds:
        return source
    if not isinstance(value, dict):
        value = {"files": value}
    files = value["files"] if isinstance(value["files"], list) else [value["files"]]
    if isinstance(value["files"], dict) and list(value["files"]) == ["manifest"]:
        # The text that YAML in C++ makes of it.
        files = [f"manifest:{_text(value['files']['manifest'])}"]
    made = _feedmill.absolute_files([_text(file) for file in files], directory)
    return {name: {**value, "files": made if len(made) > 1 else made[0]}}


def _text(scalar: Any) -> str:
    """A name that YAML reads as a number or a bool, as text."""
    return scalar if isinstance(scalar, str) else json.dumps(scalar)


def _step(step: dict[str, Any], directory: str) -> dict[str, Any]:
    ((name, value),) = step.items()
    fields = registered_steps()[name]["fields"]
    for field in fields:
        if field["whole"]:
            return {name: _field(field["kind"], value, directory)}
        if field["short"] and value is not None and not isinstance(value, dict):
            return {name: _field(field["kind"], value, directory)}
    if not isinstance(value, dict):
        return {name: value}
    kinds = {field["name"]: field["kind"] for field in fields}
    return {name: {key: _field(kinds[key], one, directory) for key, one in value.items()}}


def _field(kind: str, value: Any, directory: str) -> Any:
    if kind == "path":
        return _feedmill.absolute_path(_text(value), directory)
    if kind not in ("expression", "expressions"):
        return value
    if isinstance(value, dict):
        return {name: _field(kind, one, directory) for name, one in value.items()}
    return _feedmill.absolute_expression(_text(value), directory)
