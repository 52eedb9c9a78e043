# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-bisect on the command line: the culprit, its module and inputs, and the results of each kernel."""

from __future__ import annotations

import io
from pathlib import Path

import faulty_codegen  # noqa: F401  # registers it
import numpy
import pytest
import relax_mlir as rx
from relax_mlir_proof.relax_bisect import run

MODEL = """
func.func @main(%x: tensor<4xf32> {relax.name = "x"}, %y: tensor<4xf32> {relax.name = "y"}) -> tensor<4xf32> {
  %c = arith.constant dense<2.0> : tensor<4xf32>
  %0 = "relax.subtract"(%c, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.multiply"(%1, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""


def bisect(*arguments: str) -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    return run(arguments, stdout=out, stderr=errors), out.getvalue(), errors.getvalue()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(MODEL)
    return path


def test_the_culprit_is_named_and_written(model: Path, tmp_path: Path) -> None:
    small, inputs = tmp_path / "culprit.mlir", tmp_path / "culprit.npz"
    code, out, errors = bisect(str(model), "--partition=faulty{fault=order}", f"-o={small}", f"--inputs={inputs}")
    assert code == 1
    assert out.startswith("part fused_subtract_faulty") and "off by" in out
    assert "trying: parts of one pattern each" in errors
    assert "trying: " in errors
    assert "relax.subtract" in small.read_text() and "relax.exp" not in small.read_text()
    given = numpy.load(inputs)
    found = rx.reference(rx.Module.from_file(small))["main"](given["input0"])
    numpy.testing.assert_array_equal(found, given["expected0"])


def test_each_value_is_shown(model: Path) -> None:
    code, out, _ = bisect(str(model), "--partition=faulty{fault=order}", "--each")
    assert code == 1
    assert "its code gives another value than its definition" in out and "first wrong: " in out


def test_nothing_wrong(model: Path) -> None:
    assert bisect(str(model), "--partition=faulty", "-q")[:2] == (
        0,
        "nothing is wrong: the whole program and each kernel and part give what the reference gives\n",
    )
    assert bisect(str(model), "--each")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected one model, got none"),
        (["/nowhere.mlir"], "/nowhere.mlir"),
        (["MODEL", "--partition=nowhere"], "unknown codegen 'nowhere'"),
        (["MODEL", "--input=z=/nowhere.npy"], "z"),
    ],
)
def test_refusals(model: Path, arguments: list[str], message: str) -> None:
    code, _, errors = bisect(*(str(model) if each == "MODEL" else each for each in arguments))
    assert code == 1
    assert errors.startswith("relax-bisect: error: ") and message in errors, errors
