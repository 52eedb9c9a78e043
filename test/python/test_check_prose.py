# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of tools/dev/check_prose.py: offenders, budgets in both directions, and the budgets of this repository."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
WORDS = " ".join(["word"] * 31)
TREE = {
    "passes/a.py": (
        '"""What a pass is."""\n\n\ndef f(x):  # it stands\n    """\n    Whether x is even.\n    """\n'
        '    text = """What is no docstring, held"""\n    return "# whose"\n'
    ),
    "passes/b.py": (
        '# SPDX\n"""Passes of a kind."""\n\n\nclass C:\n    """Whatever suits.\n\n    Those that\n    alone."""\n'
    ),
    "root.py": '"""Ofen."""\n\n\ndef f():\n    r"""How\\s."""\n',
    "docs/a.md": f"# Title\n\nShort. {WORDS}.\n\n```\n{WORDS}\n```\n- {WORDS[:-5]}\n- word `{WORDS}`\n",
    "docs/conformance/c.md": f"{WORDS}\n",
}
OTHERS = {
    "targets/a.mlir": '// RUN: held\n// What a call returns,\n// whose name stands here.\n%0 = f "// held"  // Has x\n',
    "targets/b.c": "/* Held by x. */\nint whose;\n",
    "pyproject.toml": "name = 'held' # alone\n",
    ".ci/run": "# Of x.\n",
    "docs/b/c.md": f"{WORDS}\n",
}


@pytest.fixture
def checker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools" / "dev"))
    import check_prose

    return check_prose


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return written(tmp_path, TREE)


def written(folder: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def test_offenders(checker: ModuleType, tree: Path) -> None:
    """Find docstrings by their first word, docstrings and comments by idioms, and pages by sentences."""
    assert places(checker, tree) == {
        checker.OPENINGS: {".": [("root.py", 5)], "passes": [("a.py", 1), ("a.py", 5)]},
        checker.IDIOMS: {"passes": [("a.py", 4), ("b.py", 8), ("b.py", 9)]},
        checker.SENTENCES: {"docs": [("a.md", 3)]},
    }


def test_comments_of_other_languages_and_pages_in_folders_count(checker: ModuleType, tmp_path: Path) -> None:
    """Find blocks of comments by their first word and by idioms, but neither directives of lit nor strings."""
    assert places(checker, written(tmp_path, OTHERS)) == {
        checker.OPENINGS: {".ci": [("run", 1)], "targets": [("a.mlir", 2)]},
        checker.IDIOMS: {".": [("pyproject.toml", 1)], "targets": [("a.mlir", 3), ("a.mlir", 3), ("b.c", 1)]},
        checker.SENTENCES: {"docs": [("c.md", 1)]},
    }


def places(checker: ModuleType, tree: Path) -> dict[str, dict[str, list[tuple[str, int]]]]:
    return {
        rule: {folder: [(each.file.name, each.line) for each in offenders] for folder, offenders in counted.items()}
        for rule, counted in checker.find_offenders(tree).items()
    }


def budgets(checker: ModuleType, openings: int, idioms: int, sentences: int) -> dict[str, dict[str, int]]:
    by_rule = {checker.OPENINGS: {".": 1, "passes": openings}, checker.IDIOMS: {".": 0, "passes": idioms}}
    return {**by_rule, checker.SENTENCES: {"docs": sentences}}


def test_counts_that_equal_the_budgets_pass(checker: ModuleType, tree: Path) -> None:
    assert checker.problems(tree, budgets(checker, 2, 3, 1), checker.find_offenders(tree)) == []


def test_counts_above_and_below_the_budgets_are_errors(checker: ModuleType, tree: Path) -> None:
    over, under, docs = checker.problems(tree, budgets(checker, 1, 4, 0), checker.find_offenders(tree))
    assert over.splitlines() == [
        "error: passes: 2 docstrings or comments that begin with What, Whether, Of, How or the like, 1 at most; "
        "rewrite the new ones:",
        "    passes/a.py:1: What a pass is.",
        "    passes/a.py:5: Whether x is even.",
    ]
    assert under == (
        "error: passes: 3 idioms in docstrings and comments, below the budget of 4; "
        "lower the budget with tools/dev/check_prose.py --write"
    )
    assert docs.splitlines()[1:] == ["    docs/a.md:3: word word word word word word word word"]


def test_lines_of_the_last_commit_come_first_and_twenty_at_most(checker: ModuleType, tree: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tree), *identity, *arguments], check=True, capture_output=True)

    git("init")
    for message in ("first", "second"):
        git("add", ".")
        git("commit", "-m", message)
        with (tree / "passes/b.py").open("a", encoding="utf-8") as file:
            file.write("# held\n" * 12)
    found = checker.find_offenders(tree)
    (message,) = checker.problems(tree, budgets(checker, 2, 3, 1), found)
    shown = message.splitlines()[1:]
    assert len(shown) == 20
    assert shown[0] == "    passes/b.py:10: # held"
    assert all("passes/b.py" in line and "held" in line for line in shown)


def test_write_never_raises_a_budget(checker: ModuleType, tree: Path) -> None:
    found = checker.find_offenders(tree)
    source = (
        "\nBUDGETS: dict[str, tuple[int, int]] = {\n"
        '    "gone": (0, 5),\n    "passes": (9, 2),\n}\nLONG_SENTENCES = 7\nMOST = 1\n'
    )
    limits = budgets(checker, 9, 2, 7)
    limits[checker.OPENINGS]["gone"], limits[checker.IDIOMS]["gone"] = 0, 5
    assert checker.with_budgets(source, checker.lowest(limits, found)) == (
        '\nBUDGETS: dict[str, tuple[int, int]] = {\n    ".": (1, 0),\n    "passes": (2, 2),\n}\n'
        "LONG_SENTENCES = 1\nMOST = 1\n"
    )


def test_command_fails_above_and_writes_its_own_table(checker: ModuleType, tree: Path) -> None:
    tools = tree / "tools" / "dev"
    tools.mkdir(parents=True)
    for name in ("check_prose.py", "check_layers.py", "lost_names.py"):
        shutil.copy(REPOSITORY / "tools" / "dev" / name, tools)
    script, table = tools / "check_prose.py", '    ".": (9, 9),\n    "passes": (9, 9),\n    "tools": (99, 99),\n'
    text = re.sub(
        r"(?<=int\]\] = \{\n).*?(?=\}\n)", table, script.read_text(encoding="utf-8"), count=1, flags=re.DOTALL
    )
    script.write_text(re.sub(r"(?<=\nLONG_SENTENCES = )\d+", "9", text), encoding="utf-8")

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(script), *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)

    below = run()
    assert (below.returncode, "below the budget" in below.stdout) == (1, True)
    assert run("--write").returncode == 0
    assert (run().returncode, run().stdout) == (0, "")
    (tree / "passes" / "c.py").write_text('"""How."""\n', encoding="utf-8")
    above = run("--write")
    assert above.returncode == 1
    assert above.stdout.splitlines()[0].startswith("error: passes: 3 docstrings or comments that begin with ")
    assert above.stdout.splitlines()[-1] == "    passes/c.py:1: How."


@pytest.mark.slow
def test_the_repository_passes(checker: ModuleType) -> None:
    assert checker.problems(REPOSITORY, checker.accepted(), checker.find_offenders(REPOSITORY)) == []
