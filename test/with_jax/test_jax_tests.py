# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`suite.py jax-tests`: outcomes of tests in a folder, run on the platform relax."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_TOOL = Path(__file__).resolve().parents[2] / "tools" / "dev" / "jax_tests.py"
_TESTS = """
import os
import unittest
import jax
class Some(unittest.TestCase):
    def test_right(self):
        self.assertEqual(jax.devices()[0].platform, "relax")
    def test_wrong(self):
        self.assertEqual(jax.jit(lambda a: a + 1)(1), 3, "more")
    def test_left_out(self):
        self.skipTest("needs a GPU")
    def test_long(self):
        while True:
            pass
    def test_ending(self):
        os._exit(3)
"""


def test_outcomes_of_tests(tmp_path: Path) -> None:
    (tmp_path / "some_test.py").write_text(_TESTS)
    (tmp_path / "bad_test.py").write_text("import no_such_package")
    command = [sys.executable, str(_TOOL), "--tests", str(tmp_path), "--jobs", "1", "--limit", "5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 1
    counts, *errors = done.stdout.splitlines()
    assert counts == "3 failed, 1 crashed, 1 left out, 1 passed of 6", done.stdout + done.stderr
    assert errors == [
        "error: bad_test.* failed: cannot be loaded: ModuleNotFoundError: No module named 'no_such_package'",
        "error: some_test.Some.test_ending crashed: the process exited with 3",
        "error: some_test.Some.test_long failed: takes longer than 5 seconds of processor time",
        "error: some_test.Some.test_wrong failed: AssertionError: Array(2, dtype=int32, weak_type=True) != 3 : more",
    ]
    done = subprocess.run([*command[:2], "--tests", str(tmp_path / "no")], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "the repository jax-ml/jax" in done.stderr
