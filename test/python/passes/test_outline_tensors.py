# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation of plain upstream MLIR, linalg on tensors."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from numpy import ndarray
from relax_mlir.tools import relax_compile

import relax_mlir as rx

_ROWS = numpy.arange(36, dtype="float32").reshape(4, 9) / 7 - 2
_BATCHES = numpy.random.default_rng(3).standard_normal((2, 5, 6)).astype("float32")


def written(given: str, result: str, body: str) -> str:
    """Return a function of %a, %b that returns %r. `!o` is its result's type, %e memory for it."""
    sizes = "(%n)" if "?" in result else ""
    head = ["%c0 = arith.constant 0 : index", "%z = arith.constant 0.0 : f32"]
    if sizes:
        head.append(f"%n = tensor.dim %a, %c0 : {given.partition('%a: ')[2].split('>')[0]}>")
    head.append(f"%e = tensor.empty{sizes} : !o".replace("empty :", "empty() :"))
    lines = "\n".join([*head, *body.strip().splitlines()])
    return f"!o = {result}\nfunc.func @main({given}) -> !o {{\n{lines}\nreturn %r : !o\n}}\n"


def run(text: str, *given: Any) -> Any:
    return rx.compile(rx.Module.parse(text))["main"](*given)


def _elementwise(name: str, function: Callable[..., Any]) -> tuple[str, list[ndarray], Callable[..., Any]]:
    text = written(
        "%a: tensor<?x9xf32>", "tensor<?x9xf32>", f"%r = linalg.{name} ins(%a : tensor<?x9xf32>) outs(%e : !o) -> !o"
    )
    return text, [abs(_ROWS) + 1], function


def _softmax(x: ndarray) -> ndarray:
    grown = numpy.exp(x - x.max(1, keepdims=True))
    return grown / grown.sum(1, keepdims=True)


CASES = {
    "batch_matmul": (
        written(
            "%a: tensor<2x5x6xf32>, %b: tensor<2x6x5xf32>",
            "tensor<2x5x5xf32>",
            """%f = linalg.fill ins(%z : f32) outs(%e : !o) -> !o
            %r = linalg.batch_matmul ins(%a, %b : tensor<2x5x6xf32>, tensor<2x6x5xf32>) outs(%f : !o) -> !o""",
        ),
        [_BATCHES, _BATCHES.transpose(0, 2, 1).copy()],
        numpy.matmul,
    ),
    "accumulating": (
        written(
            "%a: tensor<4x9xf32>, %b: tensor<9x4xf32>, %c: tensor<4x4xf32>",
            "tensor<4x4xf32>",
            "%r = linalg.matmul ins(%a, %b : tensor<4x9xf32>, tensor<9x4xf32>) outs(%c : !o) -> !o",
        ),
        [_ROWS, _ROWS.T.copy(), numpy.eye(4, dtype="float32")],
        lambda a, b, c: a @ b + c,
    ),
    "convolution": (
        written(
            "%a: tensor<1x2x5x6xf32>, %b: tensor<3x2x1x1xf32>",
            "tensor<1x3x5x6xf32>",
            """%f = linalg.fill ins(%z : f32) outs(%e : !o) -> !o
            %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
              ins(%a, %b : tensor<1x2x5x6xf32>, tensor<3x2x1x1xf32>) outs(%f : !o) -> !o""",
        ),
        [_BATCHES[None], numpy.arange(6, dtype="float32").reshape(3, 2, 1, 1)],
        lambda x, w: numpy.einsum("nchw,oc->nohw", x, w[:, :, 0, 0]),
    ),
    "softmax": (
        written("%a: tensor<4x9xf32>", "tensor<4x9xf32>",
                "%r = linalg.softmax dimension(1) ins(%a : tensor<4x9xf32>) outs(%e : !o) -> !o"),
        [_ROWS], _softmax,
    ),
    "pad and slice": (
        written(
            "%a: tensor<4x9xf32>",
            "tensor<18xf32>",
            """%p = tensor.pad %a low[1, 0] high[1, 2] {
            ^bb0(%i: index, %j: index):
              tensor.yield %z : f32
            } : tensor<4x9xf32> to tensor<6x11xf32>
            %s = tensor.extract_slice %p[0, 1] [2, 9] [1, 1] : tensor<6x11xf32> to tensor<2x9xf32>
            %r = tensor.collapse_shape %s [[0, 1]] : tensor<2x9xf32> into !o""",
        ),
        [_ROWS],
        lambda x: numpy.pad(x, ((1, 1), (0, 2)))[:2, 1:10].ravel(),
    ),
    "concat": (
        "func.func @main(%a: tensor<?x9xf32>, %b: tensor<?x9xf32>) -> tensor<?x9xf32> {\n"
        "%r = tensor.concat dim(0) %a, %b : (tensor<?x9xf32>, tensor<?x9xf32>) -> tensor<?x9xf32>\n"
        "return %r : tensor<?x9xf32>\n}",
        [_ROWS, _ROWS[:2].copy()],
        lambda *each: numpy.concatenate(each),
    ),
    "whole tensors": (
        written("%a: tensor<?x9xf32>", "tensor<?x9xf32>", "%b = arith.mulf %a, %a : !o\n%r = math.erf %b : !o"),
        [numpy.zeros((3, 9), "float32")], lambda x: x,
    ),
    "loop": (
        written(
            "%a: tensor<4x9xf32>, %b: tensor<i64>",
            "tensor<4x9xf32>",
            """%c1 = arith.constant 1 : index
            %i = tensor.extract %b[] : tensor<i64>
            %c = arith.index_cast %i : i64 to index
            %r = scf.for %k = %c0 to %c step %c1 iter_args(%t = %a) -> !o {
              %u = linalg.add ins(%t, %a : !o, !o) outs(%e : !o) -> !o
              scf.yield %u : !o
            }""",
        ),
        [_ROWS, numpy.int64(3)],
        lambda x, count: x * (1 + count),
    ),
    "branch": (
        written(
            "%a: tensor<?x9xf32>, %b: tensor<i1>",
            "tensor<?x9xf32>",
            """%t = tensor.extract %b[] : tensor<i1>
            %r = scf.if %t -> !o {
              %x = linalg.negf ins(%a : !o) outs(%e : !o) -> !o
              scf.yield %x : !o
            } else {
              scf.yield %a : !o
            }""",
        ),
        [_ROWS, numpy.bool_(True)],
        lambda x, holds: -x if holds else x,
    ),
    "exp": _elementwise("exp", numpy.exp),
    "log": _elementwise("log", numpy.log),
    "rsqrt": _elementwise("rsqrt", lambda x: 1 / numpy.sqrt(x)),
    "tanh": _elementwise("tanh", numpy.tanh),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_runs(name: str) -> None:
    text, given, expected = CASES[name]
    numpy.testing.assert_allclose(run(text, *given), expected(*given), rtol=2e-5, atol=2e-5)


def test_calls_are_inlined_and_constants_stay() -> None:
    text = """
    func.func private @double(%x: tensor<3xf32>) -> tensor<3xf32> {
      %e = tensor.empty() : tensor<3xf32>
      %r = linalg.add ins(%x, %x : tensor<3xf32>, tensor<3xf32>) outs(%e : tensor<3xf32>) -> tensor<3xf32>
      return %r : tensor<3xf32>
    }
    func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
      %c = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      %0 = call @double(%x) : (tensor<3xf32>) -> tensor<3xf32>
      %1 = call @double(%c) : (tensor<3xf32>) -> tensor<3xf32>
      return %0, %1 : tensor<3xf32>, tensor<3xf32>
    }"""
    one, other = run(text, numpy.ones(3, "float32"))
    assert (one.tolist(), other.tolist()) == ([2, 2, 2], [2, 4, 6])


def test_what_follows_a_product_is_fused_with_it() -> None:
    body = """%f = linalg.fill ins(%z : f32) outs(%e : !o) -> !o
    %p = linalg.matmul ins(%a, %b : tensor<?x9xf32>, tensor<9x16xf32>) outs(%f : !o) -> !o
    %r = linalg.exp ins(%p : !o) outs(%e : !o) -> !o"""
    compiled = rx.compile(
        rx.Module.parse(written("%a: tensor<?x9xf32>, %b: tensor<9x16xf32>", "tensor<?x16xf32>", body))
    )
    assert "(1 kernel)" in repr(compiled)


ADDED = written("%a: tensor<?xf32>, %b: tensor<?xf32>", "tensor<?xf32>",
                "%r = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%e : !o) -> !o")  # fmt: skip
CUT = """
func.func @main(%a: tensor<10xf32>, %b: tensor<i64>) -> tensor<?xf32> {
  %v = tensor.extract %b[] : tensor<i64>
  %i = arith.index_cast %v : i64 to index
  %r = tensor.extract_slice %a[1] [%i] [2] : tensor<10xf32> to tensor<?xf32>
  return %r : tensor<?xf32>
}"""
TAKEN = written("%a: tensor<?xf32>, %b: tensor<4xi64>", "tensor<4xf32>", """
    %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]} ins(%b : tensor<4xi64>) outs(%e : !o) {
    ^bb0(%i: i64, %o: f32):
      %j = arith.index_cast %i : i64 to index
      %x = tensor.extract %a[%j] : tensor<?xf32>
      linalg.yield %x : f32
    } -> !o""")  # fmt: skip
_TEN = numpy.arange(10, dtype="float32")


CONVOLVED = """
func.func @main(%x: tensor<1x?x8x3xf32>, %w: tensor<3x3x3x4xf32>, %like: tensor<?xf32>) -> tensor<1x?x6x4xf32> {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %n = tensor.dim %like, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<1x?x6x4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x?x6x4xf32>) -> tensor<1x?x6x4xf32>
  %r = linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>}
    ins(%x, %w : tensor<1x?x8x3xf32>, tensor<3x3x3x4xf32>) outs(%f : tensor<1x?x6x4xf32>) -> tensor<1x?x6x4xf32>
  return %r : tensor<1x?x6x4xf32>
}"""


def test_windows_stay_within_the_data() -> None:
    x, w = numpy.ones((1, 8, 8, 3), "float32"), numpy.ones((3, 3, 3, 4), "float32")
    assert (run(CONVOLVED, x, w, _TEN[:6].copy()) == 27).all()
    with pytest.raises(Exception, match="windows slide over the end of dimension 1 of a tensor"):
        run(CONVOLVED, x, w, _TEN[:7].copy())


def test_nothing_is_read_outside() -> None:
    with pytest.raises(Exception, match="expected 10"):
        run(ADDED, _TEN, _TEN[:3].copy())
    assert run(CUT, _TEN, numpy.int64(5)).tolist() == [1, 3, 5, 7, 9]
    with pytest.raises(
        Exception, match=r"the slice of tensor\.extract_slice is not within its tensor along dimension 0"
    ):
        run(CUT, _TEN, numpy.int64(6))
    assert run(TAKEN, _TEN, numpy.array([-100, 900, 3, 4])).tolist() == [0, 9, 3, 4]


def test_assertions_are_checked() -> None:
    body = """%c1 = arith.constant 1 : index
    %m = tensor.dim %b, %c0 : tensor<?xf32>
    %q = arith.cmpi eq, %n, %m : index
    cf.assert %q, "mismatched size for broadcast"
    %r = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%e : !o) -> !o"""
    text = written("%a: tensor<?xf32>, %b: tensor<?xf32>", "tensor<?xf32>", body)
    assert run(text, _TEN, _TEN).tolist() == (_TEN + _TEN).tolist()
    with pytest.raises(Exception, match="mismatched size for broadcast"):
        run(text, _TEN, _TEN[:3].copy())


def test_relax_compile(tmp_path: Path) -> None:
    source, made = tmp_path / "model.mlir", tmp_path / "model.rxa"
    source.write_text(ADDED)
    arguments = [str(source), "-o", str(made)]
    assert relax_compile.run(arguments, io.StringIO(), io.TextIOWrapper(io.BytesIO()), io.StringIO()) == 0
    assert rx.runtime.load(made)["main"](_TEN, _TEN).tolist() == (_TEN + _TEN).tolist()
