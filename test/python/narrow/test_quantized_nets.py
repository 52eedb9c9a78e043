# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fuzzer of quantized networks: a short run with a fixed seed, and detection of wrong results."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[2] / "fuzz"


def run(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    code = f"import sys\nsys.path.insert(0, {str(FOLDER)!r})\nimport quantized_nets\n{before}\n"
    command = [sys.executable, "-c", f"{code}sys.exit(quantized_nets.main({list(arguments)!r}))"]
    return subprocess.run(command, capture_output=True, text=True, timeout=1800)


def test_networks_equal_the_reference() -> None:
    done = run("--seed", "1", "--cases", "6", "--jobs", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = re.match(r"seed 1: 6 networks, 6 agree, 0 refused, 0 failed; (\d+) requantizations\n", done.stdout)
    assert summary is not None and int(summary[1]) > 6, done.stdout


def test_another_rounding_is_found() -> None:
    """Let the reference round down instead: results differ by a step."""
    before = """
integers = quantized_nets.integers
def wrong(module, chip):
    graph = str(integers(module, chip))
    for rounding in ("half_up", "half_away", "half_even"):
        graph = graph.replace(f'rounding = "{rounding}"', 'rounding = "down"')
    return quantized_nets.rx.Module.parse(graph)
quantized_nets.integers = wrong
quantized_nets.CHIPS = ("npu",)
"""
    done = run("--seed", "1", "--cases", "2", "--jobs", "1", before=before)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"FAILED: --seed 1 --case \d: npu by the recipe of npu at -O\d: \d+ of \d+ elements", done.stdout)
