"""The examples of docs/ray.md run, in a Ray cluster that they start."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_the_page_of_ray(tmp_path: pathlib.Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tests/python/page_runner.py", ROOT / "docs/ray.md"],
        cwd=tmp_path,
        env={**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
