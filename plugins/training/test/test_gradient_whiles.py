# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of scf.while with a run-time number of iterations, against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir.runtime import to_numpy

_STEP = 1e-6
_VECTOR = 'tensor<?xf64, #relax.sym<["n"]>>'

# The condition's region also computes: it passes the product to the iteration and finally to the result, with the
# number of iterations.
_LOOP = f"""
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y, %turns = scf.while (%i = %c0, %s = %x) : (index, {_VECTOR}) -> ({_VECTOR}, index) {{
    %p = "relax.multiply"(%s, %w) : ({_VECTOR}, {_VECTOR}) -> {_VECTOR}
    %t = "relax.sum"(%p) {{keepdims = false}} : ({_VECTOR}) -> tensor<f64>
    %v = tensor.extract %t[] : tensor<f64>
    %limit = arith.constant 0.8 : f64
    %more = arith.cmpf ogt, %v, %limit : f64
    scf.condition(%more) %p, %i : {_VECTOR}, index
  }} do {{
  ^bb0(%p: {_VECTOR}, %i: index):
    "relax.print"(%p) {{format = "turn"}} : ({_VECTOR}) -> ()
    %next = arith.addi %i, %c1 : index
    %e = "relax.sin"(%p) : ({_VECTOR}) -> {_VECTOR}
    scf.yield %next, %e : index, {_VECTOR}
  }}
"""
_SUM = f'"relax.sum"(%z) {{keepdims = false}} : ({_VECTOR}) -> tensor<f64>'
_HEAD = f'func.func @main(%x: {_VECTOR} {{relax.name = "x"}}, %w: {_VECTOR} {{relax.name = "w"}}) -> tensor<f64>'


def adjoint(text: str, **options: Any) -> Callable[..., list[Any]]:
    made = rx.compile(rx.grad(rx.Module.parse(text), **options), opt_level=0, jobs=1)["main_adjoint"]
    return lambda *arrays: [to_numpy(each) for each in made(*arrays)]


def looped(x: Any, w: Any) -> tuple[Any, int]:
    turns = 0
    while (x * w).sum() > 0.8:
        x, turns = numpy.sin(x * w), turns + 1
    return x * w, turns


def differences(function: Callable[..., float], arrays: list[Any], index: int) -> Any:
    result = numpy.empty_like(arrays[index])
    for place in numpy.ndindex(result.shape):
        near = []
        for step in (_STEP, -_STEP):
            moved = [each.copy() for each in arrays]
            moved[index][place] += step
            near.append(function(*moved))
        result[place] = (near[0] - near[1]) / (2 * _STEP)
    return result


def check(run: Callable[..., list[Any]], function: Callable[..., float], arrays: list[Any]) -> None:
    value, *made = run(*arrays)
    numpy.testing.assert_allclose(value, function(*arrays), rtol=1e-12)
    for index, gradient in enumerate(made):
        numpy.testing.assert_allclose(gradient, differences(function, arrays, index), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("every", [1, 3])
def test_any_number_of_turns(every: int, capfd: pytest.CaptureFixture[str]) -> None:
    """Run zero, one and many iterations from one compilation, and print once per iteration."""
    text = (
        f'{_HEAD} {{ {_LOOP} %z = "relax.square"(%y) : ({_VECTOR}) -> {_VECTOR} %r = {_SUM} return %r : tensor<f64> }}'
    )
    run = adjoint(text, checkpoint_every=every)
    seen = set()
    for x in ([0.1, 0.2], [0.9, 0.7, 0.3], [0.9, 1.2, 1.5, 1.4], [1.0]):
        arrays = [numpy.array(x), numpy.linspace(0.7, 1.0, len(x))]
        turns = looped(*arrays)[1]
        seen.add(turns)
        check(run, lambda x, w: float((looped(x, w)[0] ** 2).sum()), arrays)
        assert capfd.readouterr().out.count("turn") == turns
    assert len(seen) > 2 and 0 in seen and max(seen) > 2


def test_in_a_branch_and_in_a_loop() -> None:
    """Differentiate a loop inside of a branch and of a loop, in which iterations have numbers of their own."""
    inside = f"""
    %two = arith.constant 2 : index
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %z = scf.for %k = %zero to %two step %one iter_args(%start = %x) -> ({_VECTOR}) {{
      {_LOOP.replace("%s = %x", "%s = %start")}
      %a = "relax.add"(%y, %start) : ({_VECTOR}, {_VECTOR}) -> {_VECTOR}
      scf.yield %a : {_VECTOR}
    }}"""
    run = adjoint(f"{_HEAD} {{ {inside} %r = {_SUM} return %r : tensor<f64> }}")

    def function(x: Any, w: Any) -> float:
        for _ in range(2):
            x = x + looped(x, w)[0]
        return float(x.sum())

    check(run, function, [numpy.array([0.9, 0.5, 0.4]), numpy.array([0.9, 0.8, 1.0])])


def test_a_state_that_grows_until_its_sum_is_large() -> None:
    any_size = "tensor<?xf64>"
    text = f"""{_HEAD} {{
      %u = "relax.match_cast"(%x) : ({_VECTOR}) -> {any_size}
      %y = scf.while (%s = %u) : ({any_size}) -> {any_size} {{
        %e = "relax.sin"(%s) : ({any_size}) -> {any_size}
        %t = "relax.sum"(%e) {{keepdims = false}} : ({any_size}) -> tensor<f64>
        %v = tensor.extract %t[] : tensor<f64>
        %limit = arith.constant 3.0 : f64
        %more = arith.cmpf olt, %v, %limit : f64
        scf.condition(%more) %e : {any_size}
      }} do {{
      ^bb0(%s: {any_size}):
        %q = "relax.square"(%s) : ({any_size}) -> {any_size}
        %g = "relax.concat"(%q, %w) : ({any_size}, {_VECTOR}) -> {any_size}
        scf.yield %g : {any_size}
      }}
      %c = "relax.cos"(%y) : ({any_size}) -> {any_size}
      %r = "relax.sum"(%c) {{keepdims = false}} : ({any_size}) -> tensor<f64>
      return %r : tensor<f64>
    }}"""
    run = adjoint(text)

    def function(x: Any, w: Any) -> float:
        e = numpy.sin(x)
        while e.sum() < 3:
            e = numpy.sin(numpy.concatenate([e**2, w]))
        return float(numpy.cos(e).sum())

    for x in ([2.0, 1.0, 1.5, 1.4], [0.1, 0.2], [0.9, 0.7, 0.3]):
        check(run, function, [numpy.array(x), numpy.linspace(0.7, 1.0, len(x))])
