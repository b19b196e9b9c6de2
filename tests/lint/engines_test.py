#!/usr/bin/env python3
"""tests/engines.py leaves a suite out only after a pass with the same files."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import engines

REPORT = '<testsuite><testcase name="ray_a" status="run">{}</testcase><testcase name="ray_b" status="{}"/></testsuite>'


class Engines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        (self.root / "build/release").mkdir(parents=True)
        (self.root / ".gitignore").write_text("build\ncache\n")
        (self.root / "ray.py").write_text("1")
        for patch in (mock.patch.object(engines, "ROOT", self.root),
                      mock.patch.object(engines, "ENGINES", {"ray": ("ray.py",)}),
                      mock.patch.object(engines, "enabled_tests", lambda preset: {"ray": {"ray_a", "ray_b"}}),
                      mock.patch.dict(os.environ, XDG_CACHE_HOME=str(self.root / "cache"))):
            patch.start()
            self.addCleanup(patch.stop)

    def report(self, failure="", status="run"):
        (self.root / "build/release/failures.xml").write_text(REPORT.format(failure, status))
        engines.note_passes("release")
        return engines.unchanged()

    def test_runs_again_after_a_change_a_failure_and_an_incomplete_run(self):
        self.assertEqual(engines.unchanged(), [])
        self.assertEqual(self.report(status="disabled"), [])
        self.assertEqual(self.report(), ["ray"])
        (self.root / "ray.py").write_text("2")
        self.assertEqual(engines.unchanged(), [])
        self.assertEqual(self.report(), ["ray"])
        self.assertEqual(self.report(failure="<failure/>"), [])


if __name__ == "__main__":
    unittest.main()
