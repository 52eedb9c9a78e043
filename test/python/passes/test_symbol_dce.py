# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upstream's symbol-dce on this project's modules: unreachable graph functions and PrimFuncs are removed.

Situations of Apache TVM's test_transform_dead_code_elimination.py; in scripts: test/passes/relax-legalize-ops-dead.py.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import pytest
from before_after import changed, functions_by_name, keeps_results
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.navigation import is_private
from relax_mlir.dialects.tir.prim_func import is_prim_func

import relax_mlir as rx

_TYPE = "tensor<4xf32>"


class Function(NamedTuple):
    """Function of one operator and calls of functions with smaller numbers, one after the other."""

    operator: str
    calls: Sequence[int]
    is_private: bool


@st.composite
def graphs(draw: st.DrawFn) -> list[Function]:
    """Draw functions with @main last. The others need not be called."""
    found: list[Function] = []
    for number in range(draw(st.integers(1, 6))):
        calls = draw(st.lists(st.integers(0, number - 1), max_size=2)) if number else []
        operator = draw(st.sampled_from("tanh sigmoid nn.relu negative abs".split()))
        found.append(Function(operator, calls, draw(st.booleans())))
    return [*found[:-1], found[-1]._replace(is_private=False)]


def built(functions: Sequence[Function], wanted: Collection[int]) -> rx.Module:
    last = len(functions) - 1
    return rx.Module.parse("\n".join(_text(functions[each], each, each == last) for each in sorted(wanted)))


def _text(function: Function, number: int, is_main: bool) -> str:
    name, visibility = "main" if is_main else f"f{number}", "private " if function.is_private else ""
    lines = [f'%0 = "relax.{function.operator}"(%x) : ({_TYPE}) -> {_TYPE}']
    for place, called in enumerate(function.calls):
        lines.append(f"%{place + 1} = func.call @f{called}(%{place}) : ({_TYPE}) -> {_TYPE}")
    lines.append(f"return %{len(function.calls)} : {_TYPE}")
    return f"func.func {visibility}@{name}(%x: {_TYPE}) -> {_TYPE} {{\n" + "\n".join(lines) + "\n}"


def reached(functions: Sequence[Function]) -> set[int]:
    """Return the functions that can be called from outside, directly or through other functions."""
    waiting = [number for number, function in enumerate(functions) if not function.is_private]
    found: set[int] = set()
    while waiting:
        number = waiting.pop()
        if number not in found:
            found.add(number)
            waiting += functions[number].calls
    return found


@draws(20)
@given(graphs(), st.sampled_from(["", "relax-legalize-ops"]))
def test_random_modules(functions: list[Function], before: str) -> None:
    module = changed(built(functions, range(len(functions))), before)
    after = keeps_results(module, "symbol-dce", tolerance=0)
    # As though the others had never been there: their PrimFuncs are not there either.
    expected = changed(built(functions, reached(functions)), before)
    assert set(functions_by_name(after)) == set(functions_by_name(expected))
    assert {name for name, each in functions_by_name(after).items() if is_private(each)} == {
        name for name, each in functions_by_name(expected).items() if is_private(each)
    }


@pytest.mark.parametrize("private", [True, False])
def test_prim_funcs_that_are_not_called(private: bool) -> None:
    """Remove a private PrimFunc with its last call, and keep public ones."""
    functions = [Function("tanh", [], True), Function("sigmoid", [], False)]
    module = changed(built(functions, range(2)), "relax-legalize-ops")
    prims = {name for name, each in functions_by_name(module).items() if is_prim_func(each)}
    assert len(prims) == 2
    if not private:
        for name in prims:
            del functions_by_name(module)[name].attributes["sym_visibility"]
    after = keeps_results(module, "symbol-dce", tolerance=0)
    left = {name for name, each in functions_by_name(after).items() if is_prim_func(each)}
    assert len(left) == (1 if private else 2) and left <= prims
