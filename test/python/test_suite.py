# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/dev/suite.py: its programs exist, options reach them, and a failure of one command fails the suite."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "dev"))

import suite  # noqa: E402

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", suite.SUITES)
def test_files_and_goals_of_a_suite_exist(name: str) -> None:
    values = suite.fields(2, "3")
    for command in suite.SUITES[name].commands:
        _, arguments = suite.arguments_of(command.format(**values))
        words = [word.rpartition("=")[2] for word in arguments]
        files = [word for word in words if word.endswith(".py") or word.startswith(("test/", "plugins/"))]
        assert [file for file in files if not (ROOT / file).exists()] == []
    for goal in suite.SUITES[name].goals:
        stem, _, environment = goal.rpartition("/env-")
        assert (ROOT / "bench" / "models" / f"{environment}.txt").exists() if stem else f"\n{goal}:" in MAKEFILE


def test_the_environment_of_a_suite_is_one_of_its_goals() -> None:
    for name, each in suite.SUITES.items():
        for program in ("torch", "jax", "tvm", "quantize"):
            if any(f"{{{program}}}" in command for command in each.commands):
                assert f"env-{program}" in each.goals, name


def test_patterns_of_files_become_arguments() -> None:
    variables, arguments = suite.arguments_of("NAME='a b' lit test plugins/*/test/lit -k '*x'")
    assert variables == {"NAME": "a b"}
    assert arguments[:2] == ["lit", "test"] and arguments[-2:] == ["-k", "*x"]
    assert len(arguments) > 5 and all((ROOT / folder).is_dir() for folder in arguments[2:-2])


def _run(*commands: str, draw: str = "") -> bool:
    python = shlex.quote(sys.executable)
    made = suite.Suite("", [f"{python} -c {shlex.quote(code)}" for code in commands], ["help"], {"NUMBER": "{draw}"})
    return suite.run(made, suite.fields(2, draw), [])


def test_a_failing_command_fails_the_suite_and_the_others_run(tmp_path: Path) -> None:
    written = tmp_path / "written"
    assert not _run("raise SystemExit(3)", f"open({str(written)!r}, 'w').close()")
    assert written.exists()
    assert _run("pass", "pass")


def test_the_draw_is_a_variable_of_the_suite() -> None:
    assert _run("import os; assert os.environ['NUMBER'] == '7'", draw="7")


@pytest.mark.parametrize(("draw", "passes"), [("7", True), ("", False)])
def test_no_drawn_test_is_no_failure(tmp_path: Path, draw: str, passes: bool) -> None:
    (tmp_path / "test_none.py").write_text("def test_it():\n    pass\n")
    command = f"{shlex.quote(sys.executable)} -m pytest -q -c {os.devnull} -k nothing {tmp_path}"
    assert suite.run(suite.Suite("", [command], ["help"]), suite.fields(2, draw), []) is passes


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["torchs"], "there is no suite torchs: one of test, "),
        (["npu", "--cases", "3"], "npu has several programs, and does not know which one takes --cases 3:"),
    ],
)
def test_a_wrong_suite_is_refused(arguments: list[str], expected: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / "dev" / "suite.py"), *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 2 and expected in result.stderr


def test_all_suites_are_listed() -> None:
    listed = subprocess.run([sys.executable, suite.__file__], capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in listed.splitlines()] == list(suite.SUITES)
