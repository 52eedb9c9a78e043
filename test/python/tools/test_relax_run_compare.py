# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run --compare: whole results beside the reference and a module's interpretation."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from noise import without_noise
from relax_mlir.tools.relax_run import run

import relax_mlir as rx

ROWS = 'tensor<?x4xf32, #relax.sym<["n", 4]>>'
TEXT = f"""
func.func @main(%x: {ROWS} {{relax.name = "x"}}, %w: tensor<4xf32> {{relax.name = "w"}}) -> {ROWS}
    attributes {{relax.result_names = ["y"]}} {{
  %0 = "relax.add"(%x, %w) : ({ROWS}, tensor<4xf32>) -> {ROWS}
  return %0 : {ROWS}
}}
"""


def outcome(*arguments: str | Path) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    code = run([str(argument) for argument in arguments], io.StringIO(), stdout, stderr)
    return code, stdout.getvalue(), without_noise(stderr.getvalue())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a module, a module with other results, and a program of the first one."""
    folder = tmp_path_factory.mktemp("compare")
    (folder / "add.mlir").write_text(TEXT)
    (folder / "subtract.mlir").write_text(TEXT.replace("relax.add", "relax.subtract"))
    rx.compile(rx.Module.parse(TEXT)).save(folder / "add.rxa")
    return folder


def test_a_module_is_interpreted(folder: Path) -> None:
    code, out, errors = outcome(folder / "add.rxa", "--shape=x:3,4", "--compare", folder / "add.mlir")
    assert (code, errors) == (0, "") and out.splitlines()[-1].split() == ["y", "0", "0", "close"]
    code, out, errors = outcome(folder / "add.rxa", "--shape=x:3,4", "--compare", folder / "subtract.mlir")
    assert (code, errors) == (1, "") and "differs, most at" in out


def test_the_reference_needs_what_the_program_was_made_of(folder: Path) -> None:
    code, _, errors = outcome(folder / "add.rxa", "--shape=x:3,4", "--compare=reference")
    assert code == 1 and "does not hold it: compile with --observe" in errors
    observed = folder / "observed.rxa"
    rx.compile(rx.Module.parse(TEXT), observe=True).save(observed)
    code, out, errors = outcome(observed, "--shape=x:3,4", "--compare=reference", "--benchmark", "--repeat=2")
    assert (code, errors) == (0, "") and out.splitlines()[-1].split() == ["y", "0", "0", "close"]
    assert "of the reference's time" in out


@pytest.mark.parametrize(
    ("module", "model", "message"),
    [
        ("torch", "x.pt2", "pip install relax-mlir[torch]"),
        ("onnxruntime", "x.onnx", "needs onnxruntime: pip install onnxruntime"),
    ],
)
def test_missing_packages_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, model: str, message: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    code, _, errors = outcome(folder / "add.rxa", "--shape=x:3,4", "--compare", model)
    assert code == 1 and message in errors and "Traceback" not in errors


def test_trust_is_for_pt2_files(folder: Path) -> None:
    code, _, errors = outcome(folder / "add.rxa", "--trust", "--compare=x.onnx")
    assert code == 1 and "--trust is for .pt2 files" in errors


def test_shapes_of_several_inputs_in_one_option(folder: Path) -> None:
    code, _, errors = outcome(folder / "add.rxa", "--shape", "x:3,4", "w:4")
    assert code == 1 and "note: --shape is given once for each input: --shape w:4" in errors
