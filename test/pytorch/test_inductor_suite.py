# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`suite.py torch-inductor`: tests of the file's template, run with the backend relax_mlir in Inductor's place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_TOOL = Path(__file__).resolve().parents[2] / "tools" / "dev" / "torch_inductor.py"
_TESTS = """
import unittest
from unittest import TestCase
import torch
from torch._inductor.test_operators import a_name_of_another_version

HAS_CPU = True

def check_model(self, function, arguments):
    self.assertTrue(torch.equal(torch.compile(function)(*arguments), function(*arguments)))

def copy_tests(template, other, suffix):
    for name, function in vars(template).items():
        if name.startswith("test_"):
            setattr(other, f"{name}_{suffix}", function)

class CommonTemplate:
    def test_right(self):
        self.common(lambda x: x + 1, (torch.ones(3),))
    def test_optimize(self):
        function = lambda x: x * 2
        self.assertEqual(torch._dynamo.optimize("inductor")(function)(torch.ones(3)).tolist(), [2, 2, 2])
    def test_wrong_everywhere(self):
        self.assertEqual(1, 2)
    def test_wrong_here(self):
        import sys
        self.assertNotIn("relax_mlir_torch.compile.torch_compile", sys.modules)
    @a_name_of_another_version
    def test_left_out(self):
        self.skipTest("needs a GPU")

if HAS_CPU:
    class NotMeant(TestCase):
        def test_of_a_device(self):
            self.fail()
"""


def test_outcomes_of_tests(tmp_path: Path) -> None:
    (tmp_path / "test_torchinductor.py").write_text(_TESTS)
    command = [sys.executable, str(_TOOL), "--tests", str(tmp_path), "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    counts, *errors = done.stdout.splitlines() or [done.stderr]
    assert counts == "2 left out, 2 passed, 1 failed of 5", done.stdout + done.stderr
    assert len(errors) == 1 and errors[0].startswith(
        "error: inductor.CpuTests.test_wrong_here_cpu failed: AssertionError"
    )
    done = subprocess.run([*command[:2], "--tests", str(tmp_path / "no")], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "the repository pytorch/pytorch" in done.stderr
