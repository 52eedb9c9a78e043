# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators by name, in a process that has touched nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("asked", ["rx.find_op('relax.add').full_name", "rx.find_op('tir.exp').full_name"])
def test_operators_are_known_at_once(asked: str) -> None:
    program = f"import relax_mlir as rx; print({asked})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout.strip() == asked.split("'")[1], done.stderr


def test_dialects_are_registered_at_once() -> None:
    program = "import relax_mlir as rx; print(sorted(rx.registered_dialects())[:2])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout.strip() == "['relax', 'tir']", done.stderr
