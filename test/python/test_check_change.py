# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of tools/dev/check_change.py: which files differ, which tests are near, and what fails."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def checker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools" / "dev"))
    import check_change

    return check_change


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def test_files_that_differ_are_listed(checker: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "ROOT", tmp_path)
    git(tmp_path, "init", "--initial-branch=main")
    for name in ("kept.py", "changed.py", "removed.py"):
        (tmp_path / name).write_text("1\n")
    (tmp_path / ".gitignore").write_text("ignored.py\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--message=first")
    git(tmp_path, "checkout", "-b", "change")
    (tmp_path / "changed.py").write_text("2\n")
    git(tmp_path, "commit", "--all", "--message=second")
    (tmp_path / "removed.py").unlink()
    for name in ("new.py", "ignored.py"):
        (tmp_path / name).write_text("3\n")
    assert checker.changed_files("main") == ["changed.py", "new.py"]


def test_the_nearest_tests_come_first(checker: ModuleType) -> None:
    found = checker.nearest_tests(["README.md", "passes/graph/relax_inline.py", "test/python/test_contract.py"])
    assert found[0] == "test/python/test_contract.py"
    assert "test/passes/relax-inline.py" in found[1:5]
    assert not [test for test in found if test.startswith(("test/pytorch", "test/with_"))]


def test_a_wrong_file_fails(checker: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "ROOT", tmp_path)
    monkeypatch.setattr(checker, "CHECKERS", ())
    (tmp_path / "wrong.py").write_text("import os\n")
    (tmp_path / "test_wrong.py").write_text("def test_it() -> None:\n    assert False\n")
    assert dict(checker.lint(["wrong.py"]))["ruff check"] is False
    results = dict(checker.run_tests(["test_wrong.py"], time.monotonic() + 60, 1))
    assert results == {"test_wrong.py": False}


def test_tests_without_time_are_listed(checker: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(checker.run_tests(["test_a.py", "test_b.py"], time.monotonic() - 1, 1)) == []
    assert capsys.readouterr().out == "no time was left for 2 files: test_a.py test_b.py\n"
