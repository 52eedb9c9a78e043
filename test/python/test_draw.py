# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Selection of the tests that `make test` runs: a function of the commit, or of DRAW=."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_EXAMPLES = """
import pathlib
from hypothesis import given, strategies

@given(strategies.integers())
def test_prints_examples(number):
    with open("examples.txt", "a") as file:
        print(number, file=file)
"""


def _draw(folder: Path, *options: str) -> str:
    """Return the number that the Makefile of a folder passes to the tests."""
    environment = {name: value for name, value in os.environ.items() if name not in ("DRAW", "MAKEFLAGS", "MAKELEVEL")}
    printed = subprocess.run(
        ["make", "-pn", "help", *options], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    (line,) = (line for line in printed.stdout.splitlines() if line.startswith("DRAW"))
    return line.partition("=")[2].strip()


def _commit(folder: Path, message: str) -> None:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", "add", "."], cwd=folder, check=True)
    subprocess.run(["git", *identity, "commit", "--quiet", "--allow-empty", "-m", message], cwd=folder, check=True)


@pytest.mark.skipif(shutil.which("make") is None or shutil.which("git") is None, reason="needs make and git")
def test_the_draw_follows_from_the_committed_files(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    assert _draw(tmp_path) == "0"  # no repository
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    _commit(tmp_path, "first")
    first = _draw(tmp_path)
    _commit(tmp_path, "the same files")
    assert first == _draw(tmp_path) != "0"
    (tmp_path / "file").write_text("another")
    assert _draw(tmp_path) == first
    _commit(tmp_path, "another file")
    assert _draw(tmp_path) != first
    assert _draw(tmp_path, "DRAW=7") == "7"


def _examples(folder: Path, draw: str, variables: Mapping[str, str]) -> str:
    """Return hypothesis' examples of a run of pytest with the settings of these tests."""
    (folder / "examples.txt").unlink(missing_ok=True)
    environment = {**os.environ, **variables, "RELAX_MLIR_DRAW": draw, "PYTHONPATH": str(ROOT / "test" / "python")}
    (folder / "conftest.py").write_text("from run_settings import configure_hypothesis as pytest_configure\n")
    (folder / "test_examples.py").write_text(_EXAMPLES)
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder), str(folder)]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return (folder / "examples.txt").read_text()


@pytest.mark.parametrize("variables", [{}, {"CI": "1"}], ids=["by hand", "in CI"])
def test_the_draw_selects_examples_of_hypothesis(tmp_path: Path, variables: dict[str, str]) -> None:
    first, again, other = (_examples(tmp_path, draw, variables) for draw in ("5", "5", "6"))
    assert first == again != other
