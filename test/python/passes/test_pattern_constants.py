# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants in patterns: scalar operands, elements for checks, and operands that are taken for attributes."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from relax_mlir.bindings.navigation import operations_named
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import find, is_const, is_op, why_not, wildcard


def clipped(least: float, most: float) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor((2, 3))]) as f:
        f.returns(relax.clip(*f, least, most))
    return module


def test_constants_that_are_scalar_operands() -> None:
    relu6 = is_op("relax.clip")(wildcard(), is_const(0), is_const(6))
    for pattern in (relu6, relu6.repeated(lambda y: is_op("relax.tanh")(y))):  # compiled, and searched
        assert len(list(find(clipped(0, 6), pattern))) == 1
        assert list(find(clipped(0, 5), pattern)) == [] == list(find(clipped(-1, 6), pattern))
    (clip,) = operations_named(clipped(0, 5).operation, "relax.clip")
    assert str(why_not(relu6, clip)) == "arith.constant is 5; pattern: 6"


def test_elements_of_constants() -> None:
    pattern = is_op("relax.clip")(wildcard().named("x"), is_const().named("least"), is_const())
    found = next(find(clipped(-1, 6), pattern))
    assert found.array("least") == -1 and found.array("x") is None
    module = rx.Module()
    weights = numpy.arange(12, dtype="int8").reshape(3, 4)
    with module.function("main", [rx.tensor((2, 3), "int8")]) as f:
        f.returns(relax.matmul(*f, relax.const(weights)))
    found = next(find(module, is_op("relax.matmul")(wildcard(), is_const().named("w"))))
    array = found.array("w")
    assert array is not None and array.dtype == numpy.int8 and (array == weights).all()
    with pytest.raises(RelaxError, match="no part named 'v' has matched"):
        found.array("v")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: is_op("relax.clip").has_attr(min=0, max=6),
            "'min' is an operand of relax.clip, not an attribute: write is_op('relax.clip')(..., min=is_const(0))",
        ),
        (
            lambda: is_op("relax.add").has_attr(x2=None),
            "'x2' is an operand of relax.add, not an attribute: write is_op('relax.add')(..., x2=x2_pattern)",
        ),
        (
            lambda: is_op("relax.matmul")(wildcard(), weight=is_const()),
            "relax.matmul has no operand 'weight'; it has x1, x2",
        ),
    ],
)
def test_operands_that_are_no_attributes(make: Any, message: str) -> None:
    with pytest.raises(RelaxError) as caught:
        make()
    assert str(caught.value).endswith(message)
