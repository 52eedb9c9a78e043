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


def _draw(folder: Path) -> str:
    """Return the number that selects the tests of a folder."""
    code = "import sys; sys.path.insert(0, 'tools/dev'); import suite; print(suite.tree_draw())"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def _commit(folder: Path, message: str) -> None:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", "add", "."], cwd=folder, check=True)
    subprocess.run(["git", *identity, "commit", "--quiet", "--allow-empty", "-m", message], cwd=folder, check=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_draw_follows_from_the_committed_files(tmp_path: Path) -> None:
    (tmp_path / "tools" / "dev").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "dev" / "suite.py", tmp_path / "tools" / "dev")
    (tmp_path / ".gitignore").write_text("__pycache__/\n")
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


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(("given", "expected"), [("DRAW=7", "--draw '7'"), ("DRAW=", "--draw ''")])
def test_make_hands_the_draw_to_the_suite(given: str, expected: str) -> None:
    printed = subprocess.run(["make", "-n", "test", given], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"suite.py test --jobs 2 {expected}" in printed


def _examples(folder: Path, draw: str, variables: Mapping[str, str]) -> str:
    """Return hypothesis' examples of a run of pytest with the settings of these tests."""
    (folder / "examples.txt").unlink(missing_ok=True)
    environment = {**os.environ, **variables, "RELAX_MLIR_DRAW": draw, "PYTHONPATH": str(ROOT / "test/python/helpers")}
    (folder / "conftest.py").write_text("from run_settings import configure_hypothesis as pytest_configure\n")
    (folder / "test_examples.py").write_text(_EXAMPLES)
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(folder), str(folder)]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return (folder / "examples.txt").read_text()


@pytest.mark.parametrize("variables", [{}, {"CI": "1"}], ids=["by hand", "in CI"])
def test_the_draw_selects_examples_of_hypothesis(tmp_path: Path, variables: dict[str, str]) -> None:
    first, again, other = (_examples(tmp_path, draw, variables) for draw in ("5", "5", "6"))
    assert first == again != other
