# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of tools/dev/gpu_checks.py: its runs where NVIDIA's tool is installed, and its reports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).parents[2] / "tools" / "dev" / "gpu_checks.py"


def checked(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script with only the folder on PATH."""
    command = [sys.executable, str(_SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={"PATH": str(folder)})


def tool(folder: Path, body: str) -> None:
    path = folder / "compute-sanitizer"
    path.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    path.chmod(0o755)


def test_each_check_has_a_run_of_small_cases(tmp_path: Path) -> None:
    tool(tmp_path, f"open({str(tmp_path / 'log')!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')")
    done = checked(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{check}: nothing found" for check in ("memcheck", "racecheck", "initcheck", "synccheck")
    ]
    # They run at the same time.
    runs, checks = (sorted(text.splitlines()) for text in ((tmp_path / "log").read_text(), done.stdout))
    for line, check in zip(runs, checks, strict=True):
        assert line.startswith(f"--tool {check.partition(':')[0]} --error-exitcode 86 ")
        assert line.endswith("bench/gpu.py --small --must --turns 1 --peers none")


@pytest.mark.parametrize(("status", "outcome"), [(86, "found something"), (1, "fails with 1")])
def test_findings_of_the_tool_fail_the_check(tmp_path: Path, status: int, outcome: str) -> None:
    tool(tmp_path, f"print('Race reported'); sys.exit({status})")
    done = checked(tmp_path, "racecheck")
    assert done.returncode == 1 and done.stdout.splitlines() == [f"racecheck: {outcome}", "Race reported", ""]


def test_a_missing_tool_is_reported(tmp_path: Path) -> None:
    done = checked(tmp_path)
    assert done.returncode == 0 and "pip install nvidia-cuda-sanitizer-api" in done.stdout


def test_an_unknown_check_is_refused(tmp_path: Path) -> None:
    done = checked(tmp_path, "racechek")
    assert done.returncode == 2 and "there is no check 'racechek'" in done.stderr
