# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A short run of the fuzzer, always with the same seed; `suite.py fuzz` runs it longer with a new one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from example_counts import some

pytestmark = pytest.mark.slow

FUZZER = Path(__file__).resolve().parents[1] / "fuzz" / "run.py"
# Of a hundred mutations few are accepted, and which ones changes with the files that are mutated.
CASES = max(some(900), 150)
# Most of the time is the start: fewer models save none, and the share that is accepted varies.
MODELS = 120
GRAPHS = some(60)


def run_fuzzer(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(FUZZER), *arguments], capture_output=True, text=True, timeout=600)


def test_mutated_inputs_are_refused_cleanly() -> None:
    done = run_fuzzer("--seed", "20", "--cases", str(CASES), "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = re.match(r"seed 20: (\d+) cases, (\d+) accepted, (\d+) refused, 0 failures", done.stdout)
    assert summary is not None, done.stdout
    total, accepted, refused = map(int, summary.groups())
    assert total == CASES
    # Were all of one kind, the mutations would test nothing.
    assert accepted > CASES / 50
    assert refused > CASES / 2


def test_mutated_models_are_refused_or_run() -> None:
    done = run_fuzzer("--onnx", "--seed", "20", "--cases", str(MODELS), "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = re.match(r"seed 20: (\d+) cases, (\d+) accepted, (\d+) refused, 0 failures", done.stdout)
    assert summary is not None, done.stdout
    total, accepted, refused = map(int, summary.groups())
    assert total == MODELS
    assert accepted > MODELS / 10
    assert refused > MODELS / 4


def test_calls_from_many_threads() -> None:
    command = [sys.executable, str(FUZZER.with_name("threads.py")), "--seconds", "2", "--seed", "20"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout.split()[0]) > 8


def test_a_crash_of_a_model_is_a_failure() -> None:
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(FUZZER.parent)!r})
import case, onnx_suite
onnx_suite.relax_compile.run = lambda arguments: os.kill(os.getpid(), signal.SIGSEGV)
print(onnx_suite.run_alone(case.Case("onnx-bytes", b"", ("check",), onnx_suite.MODEL)).problem)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert "crashed (SIGSEGV)" in done.stdout, done.stderr


def test_a_case_is_made_again_from_its_seed() -> None:
    first, second = (run_fuzzer("--seed", "3", "--case", "7") for _ in range(2))
    assert first.stdout == second.stdout != ""
    assert first.returncode == 0


def test_a_failure_is_found_saved_and_replayed(tmp_path: Path) -> None:
    # A tool that breaks its promise for some inputs replaces relax-opt.
    code = f"""
import sys
sys.path.insert(0, {str(FUZZER.parent)!r})
import case, run
from pathlib import Path
def broken(arguments, *streams):
    sys.stderr.write("Traceback (most recent call last):\\n" if "--emit-bytecode" in arguments else "error: x\\n")
    return 1
case.run = broken
run.SAVED = Path({str(tmp_path)!r})
sys.exit(run.main(["--seed", "1", "--cases", "64", "--jobs", "1"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1, done.stderr
    assert "a traceback" in done.stdout
    (saved,) = tmp_path.iterdir()
    replayed = run_fuzzer("--replay", str(saved))
    assert replayed.returncode == 0, "the real tool keeps its promise"
    assert "as promised" in replayed.stdout
    assert "--emit-bytecode" in replayed.stdout


def test_random_partitions() -> None:
    """Check that patterns cut out of graphs match parts of each, and that results are right in any order."""
    command = [sys.executable, str(FUZZER.with_name("partitions.py")), "--seed", "20", "--jobs", "2"]
    done = subprocess.run([*command, "--cases", str(GRAPHS)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = re.match(r"seed 20: (\d+) graphs, (\d+) agree, .* 0 failed; (\d+) operators went", done.stdout)
    assert summary is not None, done.stdout
    count, agreed, taken = map(int, summary.groups())
    assert count == GRAPHS and agreed > GRAPHS / 2 and taken > GRAPHS / 2
