# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Report of `suite.py conformance`: reasons, differences from the list, isolation of a case that ends its process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import relax_mlir as rx

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tools" / "dev"))

import conformance  # noqa: E402  # found by the line above
from conformance import CaseResult  # noqa: E402


def test_reasons_are_one_line() -> None:
    table = (
        "operator  opset  nodes  first node  attribute  reason\nUnique    11     1      u           -          no such"
    )
    error = rx.RelaxError(f"2 nodes of the model cannot be imported:\n{table}")
    assert conformance.reason_of(error) == "Unique: no such"
    assert conformance.reason_of(rx.RelaxError("first\nsecond")) == "first"
    assert conformance.reason_of(ValueError("wrong")) == "ValueError: wrong"
    assert conformance.reason_of(AssertionError("x" * 500)) == "x" * 157 + "..."
    assert conformance.reason_of(KeyError()) == "KeyError: "


def test_differences_from_the_list() -> None:
    results = [
        CaseResult("a", "passed", "", 1.0),
        CaseResult("b", "passed", "", 1.0),
        CaseResult("c", "failed", "why", 1.0),
        CaseResult("d", "crashed", "SIGSEGV", 1.0),
    ]
    listed = {"b": "once", "c": "known", "not run": "other kind"}
    assert conformance.differences(results, listed) == ["d crashed: SIGSEGV", "b passes: take it off the list"]


def test_a_crash_is_a_failure_of_its_case(tmp_path: Path) -> None:
    """Replace ONNX's suites by two cases, of which one ends the process."""
    (tmp_path / "model_suites.py").write_text(_SUITES)
    (tmp_path / "node_suite.py").write_text(_CHECK)
    (tmp_path / "known_failures.py").write_text("def read(): return {}\n")
    command = [sys.executable, str(ROOT / "tools" / "dev" / "conformance.py"), "--jobs", "1"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "error: crashing crashed: the process ended by SIGABRT" in done.stdout, done.stdout + done.stderr
    assert done.stdout.splitlines()[1].split() == ["node", "1", "0", "1", "2"]


_SUITES = """
import types
KINDS = ("node",)
def cases_of(kind):
    return [types.SimpleNamespace(name=name) for name in ("crashing", "passing")]
"""
_CHECK = """
import os
def run():
    raise AssertionError("check runs the cases here")
def check(case, how):
    if case.name == "crashing":
        os.abort()
"""
