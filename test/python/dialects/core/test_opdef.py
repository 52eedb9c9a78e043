# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Definitions of dialects and operators, which are checked at their declaration, and arguments of calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from relax_mlir.dialects.core.attributes import Int
from relax_mlir.dialects.core.dialect import Dialect
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.opdef import Call, OpDef
from relax_mlir.dialects.relax import dialect as relax
from relax_mlir.support.errors import RelaxError
from shorthand import refusal, tensor


def same(call: Call) -> TensorInfo:
    info: TensorInfo = call.x
    return info


def defined(operands: str, **options: Any) -> OpDef:
    return OpDef(SimpleNamespace(name="mine"), "op", operands, **options)


@pytest.mark.parametrize(
    ("operands", "options", "message"),
    [
        ("x", {}, "mine.op: needs either infer= or explicit= (result types stated by the caller)"),
        ("x", {"infer": same, "explicit": "types"}, "mine.op: needs either infer= or explicit="),
        ("x y", {"infer": same, "signature": "x"}, "mine.op: signature= must name ['x', 'y'], not ['x']"),
        ("x", {"infer": same, "signature": "x y"}, "mine.op: signature= must name ['x'], not ['x', 'y']"),
        ("x", {"explicit": "types", "signature": "x"}, "mine.op: signature= must name ['types', 'x'], not ['x']"),
        ("x", {"infer": same, "defaults": {"y": 1}}, "mine.op: defaults= names 'y', which is no operand"),
        ("x x", {"infer": same}, "mine.op: 'x' names two operands or attributes"),
        ("x", {"infer": same, "attrs": {"x": Int()}}, "mine.op: 'x' names two operands or attributes"),
        ("x", {"infer": same, "results": "*a *b"}, "mine.op: only one result can vary in number"),
    ],
)
def test_definitions_that_are_refused(operands: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(RelaxError) as caught:
        defined(operands, **options)
    assert str(caught.value).startswith(message)


def test_definitions() -> None:
    plain = defined("x *ys", infer=same, attrs={"axis": Int()})
    assert (plain.parameters, plain.variadic_parameter, plain.segmented) == (("x", "ys", "axis"), 1, False)
    assert not plain.value_dependent and plain.pure and not plain.own
    assert defined("x bias? *ys", explicit="types", results="*made").segmented
    assert defined("x bias?", explicit="types").parameters == ("x", "bias", "types")
    assert defined("x count:scalar", infer=same).value_dependent
    # An operator that redirects to others accepts their additional parameters.
    handing = defined("x", infer=same, signature="x axis", redirect=lambda arguments: plain)
    assert handing.parameters == ("x", "axis")


def test_calls_give_access_to_operands_and_attributes() -> None:
    call = Call(defined("x", infer=same, attrs={"axis": Int()}), {"x": tensor(4, 2)}, {"axis": 3})
    assert (call.x, call.axis) == (tensor(4, 2), 3)
    assert call.describe("x") == "operand 'x' (tensor<4x2xf32>)" and call.describe("axis") == "attribute 'axis' (3)"
    with pytest.raises(AttributeError, match=r"mine\.op has no operand or attribute 'y' \(it has "):
        call.y  # noqa: B018


@pytest.mark.parametrize("name", ["My", "my-dialect", "", "3d"])
def test_names_of_dialects(name: str) -> None:
    with pytest.raises(RelaxError, match="is no dialect name: lower-case letters, digits and '_' only"):
        Dialect(name)


@pytest.mark.parametrize("name", ["_mine", "my__dialect"])
def test_names_that_mlir_does_not_take(name: str) -> None:
    """Refuse the name early: MLIR would report it when the dialect is loaded, in every later context."""
    with pytest.raises(RelaxError, match="is no dialect name: MLIR takes none with '_' in front"):
        Dialect(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("add", "operator relax.add is declared twice: at relax/elementwise.py:"),
        ("nn_relu", "operator relax.nn_relu has the same name in IRDL as relax.nn.relu"),
        ("Mine", "'Mine' is no operator name: lower-case letters, digits, '_' and '.' only"),
        ("my__own", "'my__own' is no operator name: MLIR takes none with two adjacent '_', or '_' next to '.'"),
        ("nn._own", "'nn._own' is no operator name: MLIR takes none with two adjacent '_', or '_' next to '.'"),
    ],
)
def test_names_of_operators(name: str, message: str) -> None:
    before = dict(relax.ops)
    with pytest.raises(RelaxError) as caught:
        relax.op(name, "x", infer=same)
    assert str(caught.value).startswith(message) and relax.ops == before


def test_operands_in_several_texts() -> None:
    with pytest.raises(RelaxError) as caught:
        relax.op("qadd", "a", "b", infer=same)
    assert str(caught.value) == 'operator relax.qadd: operands are words of one text: write "a b"'
    assert "qadd" not in relax.ops


@pytest.mark.parametrize(
    ("op", "arguments", "named", "message"),
    [
        ("negative", (tensor(3),), {"x": tensor(3)}, "got argument 'x' twice"),
        ("negative", (tensor(3), tensor(3)), {}, "takes 1 argument (x), got 2"),
        ("cumsum", (tensor(3),), {"axsi": 0}, "has no argument 'axsi'; did you mean 'axis'?"),
    ],
)
def test_arguments(op: str, arguments: tuple[Any, ...], named: dict[str, Any], message: str) -> None:
    assert message in refusal(f"relax.{op}", *arguments, **named)
