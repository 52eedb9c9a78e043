# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fuzzer of QDQ models: a short run with a fixed seed, and detection of wrong results (`suite.py fuzz` runs longer)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[1] / "fuzz"
CASES = 4


def run(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    code = f"import sys\nsys.path.insert(0, {str(FOLDER)!r})\nimport quantized, quantized_models\n{before}\n"
    command = [sys.executable, "-c", f"{code}sys.exit(quantized.main({list(arguments)!r}))"]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_random_models_give_what_onnxruntime_gives() -> None:
    done = run("--seed", "1", "--cases", str(CASES), "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = re.match(r"seed 1: (\d+) models, (\d+) agree, (\d+) undefined, 0 failed\n", done.stdout)
    assert summary is not None and list(map(int, summary.groups()[:2])) == [CASES, CASES], done.stdout
    taken = dict(re.findall(r"(\w+) (\d+)", done.stdout.partition("operators taken: ")[2]))
    assert int(taken["example_npu"]) > 0, done.stdout
    assert int(taken.get("onnxruntime", 21)) > 20, done.stdout  # a plug-in, which may not be installed


def test_a_wrong_result_is_found() -> None:
    """Shift the expected results by three steps, where no codegen is used."""
    wrong = """
right = quantized_models.expected
def wrong(drawn):
    step = quantized_models._last_step(drawn.model) or 0.1
    return [each._replace(array=each.array + 4 * step + 3 * each.tolerance) for each in right(drawn)]
quantized_models.expected, quantized.usable = wrong, lambda: []
"""
    done = run("--seed", "1", "--cases", "2", "--jobs", "1", before=wrong)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"FAILED: --seed 1 --case \d: no codegen at -O\d: \d+ of \d+ elements are off", done.stdout)
