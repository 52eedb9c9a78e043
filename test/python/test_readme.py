# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands and Python of README.md, of docs/ and of python.md: commands must print the shown output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[object]:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = [
        (block[2], text.count("\n", 0, block.start()) + 1) for block in FENCE.finditer(text) if block[1] == language
    ]
    return [pytest.param(shown, id=f"{page}:{line}") for shown, line in found]


def consoles_in_docs() -> list[object]:
    """Return each page's commands in order: later commands use files of earlier ones."""
    texts = {
        page.name: FENCE.findall(page.read_text(encoding="utf-8")) for page in sorted((ROOT / "docs").rglob("*.md"))
    }
    shown = {name: "".join(text for language, text in found if language == "console") for name, found in texts.items()}
    return [pytest.param(text, id=name) for name, text in shown.items() if text]


def shell_commands(text: str) -> list[tuple[str, str]]:
    """Return each `$ command` with the lines below it."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def run_in_shell(command: str, folder: Path) -> str:
    """Return the output of a command, run with the environment activated."""
    tools = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    return done.stdout + done.stderr


def matches(shown: str, actual: str) -> bool:
    """Compare an output with the shown text.

    `...` on its own line stands for any lines, and inside of a line for any text.
    """
    pattern = re.escape(shown.strip()).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, actual.strip(), re.DOTALL) is not None


@pytest.mark.parametrize("text", [*blocks("README.md", "console"), *consoles_in_docs()])
def test_commands_print_what_is_shown(text: str) -> None:
    for command, shown in shell_commands(text):
        actual = run_in_shell(command, ROOT)
        assert matches(shown, actual), f"$ {command}\nprints\n{actual}"


@pytest.mark.parametrize("text", [*blocks("README.md", "python"), *blocks("docs/python.md", "python")])
def test_python_runs_and_prints_what_is_shown(text: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    shown = "\n".join(line[2:] for line in text.splitlines() if line.startswith("#"))
    assert matches(shown, done.stdout), f"prints\n{done.stdout}"


def test_every_kind_of_block_is_known() -> None:
    # A picture is `text`: test_examples.py runs the program that draws it. test/pytorch runs blocks of `py`.
    assert {block[1] for block in FENCE.finditer(README)} == {"console", "py", "python", "sh", "text"}


def test_it_is_short() -> None:
    assert README.count("\n") <= 200
