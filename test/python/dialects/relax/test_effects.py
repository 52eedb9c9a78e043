# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators with an effect and no result: their operands, and that they are not erased."""

from __future__ import annotations

import pytest
import relax_mlir.dialects.relax  # noqa: F401  # declares the operators
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import build_function, infer
from relax_mlir.bindings.mlir import ir, passmanager
from relax_mlir.dialects.core.infos import ObjectInfo, ScalarInfo, ShapeInfo
from shorthand import refusal, tensor, unranked

CONDITION = ScalarInfo("i1")

ACCEPTED = [
    ("assert_op", [CONDITION], {}),
    ("assert_op", [tensor(dtype="i1"), [tensor(2), ScalarInfo("i64")]], {"format": "{1} of {0}"}),
    ("assert_op", [unranked("i1"), tensor(2)], {"format": "bad: {}"}),
    ("assert_op", [CONDITION, [ObjectInfo(), ShapeInfo((2,))]], {"format": "{:>10} {{}} {!r}"}),
    ("print", [[tensor(2), tensor("n", 4), ScalarInfo("f32"), ObjectInfo(), ShapeInfo(None)]], {}),
    ("print", [[]], {"format": "no values"}),
    ("print", [[tensor(), tensor()]], {"format": "{0:{1}}"}),
    ("print", [tensor(2)], {"format": "x = {0}, again {0}"}),
]


@pytest.mark.parametrize(("op", "operands", "attributes"), ACCEPTED)
def test_operators_with_effects_have_no_results(op, operands, attributes):
    assert infer(f"relax.{op}", *operands, **attributes) == []


@draws(50)
@given(st.text("{}01a:! ", max_size=8), st.integers(0, 2))
def test_formats_are_accepted_exactly_if_python_accepts_the_string(text, count):
    infos = [tensor(2)] * count
    try:
        # Only a string can be formatted in every way that the characters above allow.
        text.format(*["x"] * count)
    except (IndexError, KeyError, ValueError):
        if _is_refused_for_its_fields(text, count):
            refusal("relax.print", infos, format=text)
        return
    assert infer("relax.print", infos, format=text) == []


def _is_refused_for_its_fields(text: str, count: int) -> bool:
    """Check whether formatting fails without conversions and format specifications, which depend on the value."""
    if "!" in text or ":" in text:
        return False
    try:
        text.format(*["x"] * count)
    except (IndexError, KeyError, ValueError):
        return True
    return False


@pytest.mark.parametrize(("op", "operands", "attributes"), ACCEPTED)
def test_upstream_dead_code_elimination_keeps_effects(op, operands, attributes):
    module = build_function(f"relax.{op}", *operands, **attributes)
    with module.context, ir.Location.unknown():
        passmanager.PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
    assert f'"relax.{op}"' in str(module)
