# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Completion of the tools' options by the shells, with the scripts that the tools print."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from installing import PROJECT
from relax_mlir.tools.common.command_line import SHELLS
from relax_mlir.tools.compile.options import OPTIONS as COMPILE_OPTIONS
from relax_mlir.tools.opt.options import OPTIONS as OPT_OPTIONS
from relax_mlir.tools.run.options import OPTIONS as RUN_OPTIONS
from relax_mlir_lsp.tool import OPTIONS as LSP_OPTIONS
from relax_mlir_proof.check.options import OPTIONS as CHECK_OPTIONS
from relax_mlir_proof.reduce.options import OPTIONS as REDUCE_OPTIONS
from relax_mlir_quantize.command_line.options import OPTIONS as QUANTIZE_OPTIONS

TOOLS = {
    "relax-opt": OPT_OPTIONS,
    "relax-compile": COMPILE_OPTIONS,
    "relax-run": RUN_OPTIONS,
    "relax-reduce": REDUCE_OPTIONS,
    "relax-lsp": LSP_OPTIONS,
    "relax-check": CHECK_OPTIONS,
    "relax-quantize": QUANTIZE_OPTIONS,
}

# The words into which bash splits a line: `--a=b` is three words.
BASH = """
eval "$({tool} --print-completion=bash)"
COMP_WORDS=({words}) COMP_CWORD={last}
{function}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment with the tools as commands."""
    folder = tmp_path_factory.mktemp("bin")
    for tool in TOOLS:
        module = PROJECT["scripts"][tool].partition(":")[0]
        command = folder / tool
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {module} "$@"\n')
        command.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def in_bash(environment: dict[str, str], *words: str, folder: Path | None = None) -> list[str]:
    tool = words[0]
    script = BASH.format(tool=tool, words=shlex.join(words), last=len(words) - 1, function="_" + tool.replace("-", "_"))
    done = subprocess.run(
        ["bash", "-c", script], env=environment, cwd=folder, capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def in_fish(environment: dict[str, str], line: str) -> list[str]:
    tool = line.partition(" ")[0]
    code = f"{tool} --print-completion=fish | source; complete -C {shlex.quote(line)}"
    done = subprocess.run(["fish", "-c", code], env=environment, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    return [each.partition("\t")[0] for each in done.stdout.splitlines()]


def shell(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"this machine has no {name}")


@shell("bash")
@pytest.mark.parametrize("tool", TOOLS)
def test_bash_knows_every_option(tool: str, environment: dict[str, str]) -> None:
    offered = {each.partition("=")[0] for each in in_bash(environment, tool, "-")}
    wanted = {f"-{name}" if len(name) == 1 else f"--{name}" for name in TOOLS[tool]} - {"-O"}
    assert wanted - offered == set()
    assert "-O" not in TOOLS[tool] or "-O2" in offered


@shell("bash")
def test_bash_completes_passes_and_values(environment: dict[str, str], tmp_path: Path) -> None:
    assert in_bash(environment, "relax-opt", "--relax-can") == ["--relax-canonicalize", "--relax-canonicalize-layers"]
    assert in_bash(environment, "relax-opt", "--mlir-print-ir-after", "=", "one-shot") == ["one-shot-bufferize"]
    assert in_bash(environment, "relax-opt", "--explain-op", "=", "relax.nn.conv2") == [
        "relax.nn.conv2d",
        "relax.nn.conv2d_transpose",
        "relax.nn.conv2d_winograd",
    ]
    assert in_bash(environment, "relax-opt", "--verify-diagnostics", "=") == ["all", "only-expected"]
    assert in_bash(environment, "relax-compile", "--emit", "=", "a") == ["asm", "artifact"]
    assert "llvm" in in_bash(environment, "relax-quantize", "--for", "=", "ll")
    assert in_bash(environment, "relax-quantize", "--calibrate", "=", "m") == ["minmax", "mse"]
    (tmp_path / "model.onnx").touch()
    assert in_bash(environment, "relax-compile", "mod", folder=tmp_path) == ["model.onnx"]
    assert in_bash(environment, "relax-compile", "--report", "=", "mod", folder=tmp_path) == ["model.onnx"]


@shell("fish")
def test_fish_completes_options_passes_and_values(environment: dict[str, str]) -> None:
    assert in_fish(environment, "relax-opt --mlir-print-ir-tr") == ["--mlir-print-ir-tree-dir"]
    assert "--relax-canonicalize" in in_fish(environment, "relax-opt --relax-can")
    assert "--explain-op=tir.exp" in in_fish(environment, "relax-opt --explain-op=tir.ex")
    assert "--emit=artifact" in in_fish(environment, "relax-compile --emit=")


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("tool", TOOLS)
def test_the_shells_can_read_the_scripts(tool: str, name: str, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [tool, f"--print-completion={name}"], env=environment, capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert all(name in done.stdout for name in TOOLS[tool])
    if shutil.which(name) is None:
        pytest.skip(f"this machine has no {name}")
    checked = subprocess.run([name, "-n"], input=done.stdout, capture_output=True, text=True, timeout=600)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_an_unknown_shell(environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["relax-run", "--print-completion=csh"], env=environment, capture_output=True, text=True, timeout=600
    )
    assert "option --print-completion expects one of bash, zsh, fish, got 'csh'; did you mean 'zsh'?" in done.stderr
