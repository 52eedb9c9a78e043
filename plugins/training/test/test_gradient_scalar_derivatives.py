# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of scalars between tensors, against differences; in loops and branches too."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir as rx
from compiling import array
from gradient_checks import check, compiled
from relax_mlir_training.gradient.scalar_derivatives import SCALARS

_T = "tensor<3xf64>"


def function(body: str, result: str = "%r", more: str = "") -> rx.Module:
    """Return @loss of two vectors. %a and %b are scalars from 0.2 to 0.9 that depend on every element."""
    text = f"""
func.func @loss({more}%x: {_T} {{relax.name = "x"}}, %w: {_T} {{relax.name = "w"}}) -> tensor<f64> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %true = arith.constant true
  %a0 = "relax.mean"(%x) {{keepdims = false}} : ({_T}) -> tensor<f64>
  %a = tensor.extract %a0[] : tensor<f64>
  %b = tensor.extract %w[%c1] : {_T}
{body}
  return {result} : tensor<f64>
}}"""
    module = rx.Module.parse(text)
    module.verify()
    return module


def vectors() -> list[numpy.ndarray]:
    return list(numpy.random.default_rng(4).uniform(0.2, 0.9, (2, 3)))


_COUNTS = {"arith.negf": 1, "arith.select": 3, "math.fma": 3, "math.powf": 2, "math.atan2": 2, "tir.pow": 2,
           "tir.atan2": 2}  # fmt: skip


def use_of(name: str, number: int) -> str:
    """Return an operation of the table on %a and %b, as the next total."""
    operands = ["%above" if name.endswith("acosh") else "%a", "%b", "%a"]
    operands = operands[: _COUNTS.get(name, 2 if name.startswith("arith.") else 1)]
    types = ["f64"] * len(operands)
    if name == "arith.select":
        operands[0], types[0] = "%true", "i1"
    return f"""
  %q{number} = "{name}"({", ".join(operands)}) : ({", ".join(types)}) -> f64
  %p{number} = arith.mulf %q{number}, %b : f64
  %t{number + 1} = arith.addf %t{number}, %p{number} : f64"""


_NAMES = [name for name in SCALARS if not name.startswith("tensor.") and name not in ("arith.extf", "arith.truncf")]


@pytest.mark.parametrize("names", [_NAMES[place::6] for place in range(6)], ids=" ".join)
def test_scalars(names: list[str]) -> None:
    body = "".join(
        [
            "  %t0 = arith.constant 0.0 : f64\n  %one = arith.constant 1.0 : f64\n  %above = arith.addf %a, %one : f64",
            *(use_of(name, number) for number, name in enumerate(names)),
            f"\n  %r = tensor.from_elements %t{len(names)} : tensor<f64>",
        ]
    )
    check(compiled(function(body)), vectors())


def test_elements() -> None:
    body = """
  %t = tensor.from_elements %a, %b, %b, %a, %b, %a : tensor<2x3xf64>
  %u = "relax.sin"(%t) : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %v = tensor.extract %u[%c1, %c2] : tensor<2x3xf64>
  %s = tensor.extract %u[%c0, %c1] : tensor<2x3xf64>
  %p = arith.mulf %v, %s : f64
  %r = tensor.from_elements %p : tensor<f64>"""
    check(compiled(function(body)), vectors())


def test_other_widths() -> None:
    """Check 2 * mean(x) / 3 exactly, since differences in f32 are inaccurate."""
    body = """
  %h = arith.truncf %a : f64 to f32
  %e = arith.extf %h : f32 to f64
  %p = arith.mulf %e, %a : f64
  %r = tensor.from_elements %p : tensor<f64>"""
    _, adjoint = compiled(function(body))
    x, w = vectors()
    numpy.testing.assert_allclose(array(adjoint(x, w)[1]), numpy.full(3, 2 * x.mean() / 3), rtol=1e-6)


def test_scalars_that_operators_take() -> None:
    """Differentiate by scalar operands: bounds, the start and step of a range, two values, a window."""
    body = """
  %k = "relax.scalar_to_tensor"(%a) : (f64) -> tensor<f64>
  %part = arith.constant 0.9 : f64
  %low = arith.mulf %a, %part : f64
  %high = arith.addf %low, %b : f64
  %data = arith.constant dense<[0.1, 0.6, 9.0]> : tensor<3xf64>
  %moved = "relax.multiply"(%data, %w) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %clip = "relax.clip"(%moved, %low, %high) : (tensor<3xf64>, f64, f64) -> tensor<3xf64>
  %far = arith.constant 3.0 : f64
  %numbers = "relax.arange"(%a, %far, %b) {dtype = f64} : (f64, f64, f64) -> tensor<?xf64>
  %places = arith.constant dense<[0, 2, 1, 2]> : tensor<4xi64>
  %hot = "relax.one_hot"(%places, %a, %b) {depth = 3 : i64} : (tensor<4xi64>, f64, f64) -> tensor<4x3xf64>
  %five = arith.constant 5 : i64
  %window = "relax.hamming_window"(%five, %true, %a, %b) {dtype = f64} : (i64, i1, f64, f64) -> tensor<5xf64>
"""
    total = "%k"
    for name, shape in (("clip", "3"), ("numbers", "?"), ("hot", "4x3"), ("window", "5")):
        type_ = f"tensor<{shape}xf64>"
        body += f"""
  %{name}1 = "relax.sin"(%{name}) : ({type_}) -> {type_}
  %{name}2 = "relax.sum"(%{name}1) {{keepdims = false}} : ({type_}) -> tensor<f64>
  %{name}3 = "relax.add"({total}, %{name}2) : (tensor<f64>, tensor<f64>) -> tensor<f64>"""
        total = f"%{name}3"
    check(compiled(function(body, total)), vectors())


@pytest.mark.parametrize("every", [1, 2])
def test_a_loop_that_carries_a_scalar(every: int) -> None:
    """Carry a scalar through a loop that uses and compares it, with an initial value from outside."""
    body = f"""
  %y:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x, %q = %a) -> ({_T}, f64) {{
    %k = "relax.scalar_to_tensor"(%q) : (f64) -> tensor<f64>
    %m = "relax.multiply"(%s, %k) : ({_T}, tensor<f64>) -> {_T}
    %e = "relax.sin"(%m) : ({_T}) -> {_T}
    %above = arith.cmpf ogt, %q, %b : f64
    %next = scf.if %above -> (f64) {{
      %d = arith.subf %q, %b : f64
      scf.yield %d : f64
    }} else {{
      %v = tensor.extract %e[%c2] : {_T}
      %d = arith.addf %q, %v : f64
      scf.yield %d : f64
    }}
    scf.yield %e, %next : {_T}, f64
  }}
  %t = tensor.from_elements %y#1 : tensor<f64>
  %u = "relax.sum"(%y#0) {{keepdims = false}} : ({_T}) -> tensor<f64>
  %r = "relax.add"(%t, %u) : (tensor<f64>, tensor<f64>) -> tensor<f64>"""
    functions = compiled(function(body, more="%n: index, "), checkpoint_every=every)
    for count in (0, 1, 4):
        check(functions, vectors(), (count,))


def test_a_loop_that_a_scalar_ends() -> None:
    body = """
  %limit = arith.constant 0.1 : f64
  %y = scf.while (%q = %a) : (f64) -> f64 {
    %more = arith.cmpf ogt, %q, %limit : f64
    scf.condition(%more) %q : f64
  } do {
  ^bb0(%q: f64):
    %h = arith.mulf %q, %b : f64
    scf.yield %h : f64
  }
  %r = tensor.from_elements %y : tensor<f64>"""
    check(compiled(function(body)), vectors())


def test_one_that_is_not_known() -> None:
    body = """
  %q = "math.cbrt"(%a) : (f64) -> f64
  %r = tensor.from_elements %q : tensor<f64>"""
    with pytest.raises(rx.RelaxError, match=r"'math\.cbrt': it is neither an operator of relax nor a scalar"):
        compiled(function(body))
