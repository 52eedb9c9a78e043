# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of tools/dev/check_names.py: counting, limits, and this repository."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TREE = {
    "passes/a/plan.py": "class Step:\n    class Inner:\n        pass\n\nclass Two:\n    pass\n",
    "passes/b/plan.py": "class Step:\n    pass\n\nclass Inner:\n    pass\n\nclass Two:\n    pass\n",
    "emit/plan.py": "class Step:\n    pass\n\n\ndef f():\n    class Inner:\n        pass\n",
    "emit/step.py": "class Step:\n    pass\n",
    "passes/a/registry.py": "",
    "passes/b/registry.py": "",
    "emit/registry.py": "",
    "test/python/plan.py": "class Two:\n    pass\n",
    "tools/dev/plan.py": "class Two:\n    pass\n",
}


@pytest.fixture
def checker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools" / "dev"))
    import check_names

    return check_names


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


def test_common_names_of_the_product_are_counted(checker: ModuleType, tree: Path) -> None:
    """Count classes of three product files and files of three product folders.

    Names that each folder of a kind has do not count.
    """
    classes, files = checker.common_names(tree)
    assert list(classes.items()) == [
        ("Step", ["emit/plan.py", "emit/step.py", "passes/a/plan.py", "passes/b/plan.py"]),
        ("Inner", ["emit/plan.py", "passes/a/plan.py", "passes/b/plan.py"]),
    ]
    assert files == {"plan": ["emit", "passes/a", "passes/b"]}


def test_limits(
    checker: ModuleType, tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checker, "MOST_CLASS_NAMES", 2)
    monkeypatch.setattr(checker, "MOST_FILE_NAMES", 1)
    assert (checker.main([str(tree)]), capsys.readouterr().out) == (0, "")
    monkeypatch.setattr(checker, "MOST_CLASS_NAMES", 1)
    monkeypatch.setattr(checker, "MOST_FILE_NAMES", 0)
    assert checker.main([str(tree)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "error: class names of three files or more: 2, 1 at most; rename one",
        "    Step (4): emit/plan.py, emit/step.py, passes/a/plan.py, passes/b/plan.py",
        "    Inner (3): emit/plan.py, passes/a/plan.py, passes/b/plan.py",
        "error: file names of three folders or more: 1, 0 at most; rename one",
        "    plan (3): emit, passes/a, passes/b",
    ]


@pytest.mark.slow
def test_the_repository_passes(checker: ModuleType) -> None:
    assert checker.problems(REPOSITORY) == []
