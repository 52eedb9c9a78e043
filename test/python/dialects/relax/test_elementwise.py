# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators: shapes against numpy's broadcasting, element types, symbolic sizes, refusals."""

from __future__ import annotations

import itertools

import numpy
import pytest
from example_counts import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from inferring import infer
from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.dialects.core.symbols import parse
from relax_mlir.dialects.relax.infer.broadcast import broadcast_dim
from shorthand import refusal, tensor, unranked

FLOAT_UNARY = "acos acosh asin asinh atan atanh cos cosh sin sinh tan tanh exp log erf sigmoid sqrt rsqrt".split()
NUMERIC_UNARY = "abs negative sign square ceil floor round trunc".split()
PREDICATES = ["isfinite", "isinf", "isnan"]
ARITHMETIC = "add subtract multiply divide floor_divide mod floor_mod power maximum minimum atan2 log_add_exp".split()
COMPARISONS = "equal not_equal less less_equal greater greater_equal".split()
LOGICAL = ["logical_and", "logical_or", "logical_xor"]
BITWISE = ["bitwise_and", "bitwise_or", "bitwise_xor"]
SHIFTS = ["left_shift", "right_shift"]
UNARY = [*FLOAT_UNARY, *NUMERIC_UNARY, *PREDICATES, "bitwise_not", "logical_not"]
BINARY = [*ARITHMETIC, *COMPARISONS, *LOGICAL, *BITWISE, *SHIFTS]

FLOATS = ["f16", "bf16", "f32", "f64", "f8E4M3FN"]
INTS = ["i4", "i8", "i32", "i64", "ui8", "ui64"]
TAKES = {
    **dict.fromkeys(FLOAT_UNARY, FLOATS),
    **dict.fromkeys([*NUMERIC_UNARY, *PREDICATES, *ARITHMETIC, "ewise_fma"], (*FLOATS, *INTS)),
    **dict.fromkeys(COMPARISONS, (*FLOATS, *INTS, "i1")),
    **dict.fromkeys([*LOGICAL, "logical_not"], ("i1",)),
    **dict.fromkeys([*BITWISE, "bitwise_not"], (*INTS, "i1")),
    **dict.fromkeys(SHIFTS, INTS),
}
BOOL_RESULT = {*PREDICATES, *COMPARISONS}

SIZES = st.integers(0, 4)
SHAPES = st.lists(st.sampled_from([0, 1, 1, 2, 3]), max_size=4).map(tuple)


def operands_of(op, *infos):
    return infos[: len(find_op(f"relax.{op}").operands)]


def test_every_operator_of_the_family_is_tested():
    declared = {op.name for op in find_op("relax.add").dialect.ops.values() if op.family == "elementwise"}
    assert declared == set(TAKES)


@pytest.mark.parametrize("op", TAKES)
def test_element_types(op):
    for dtype in [*FLOATS, *INTS, "i1"]:
        operands = operands_of(op, *[tensor(2, 3, dtype=dtype)] * 3)
        if dtype in TAKES[op]:
            expected = tensor(2, 3, dtype="i1" if op in BOOL_RESULT else dtype)
            assert infer(f"relax.{op}", *operands) == [expected], dtype
        else:
            assert f"(tensor<2x3x{dtype}>) must have" in refusal(f"relax.{op}", *operands), dtype


@pytest.mark.parametrize("op", [*BINARY, "ewise_fma"])
def test_operands_of_different_element_types_are_refused(op):
    dtype, other = TAKES[op][0], "i32" if TAKES[op][0] != "i32" else "i64"
    operands = operands_of(op, tensor(2, dtype=dtype), tensor(2, dtype=other), tensor(2, dtype=dtype))
    message = refusal(f"relax.{op}", *operands)
    wanted = f"operand 'x1' (tensor<2x{dtype}>) and operand 'x2' (tensor<2x{other}>) must have the same element type"
    assert wanted in message


@draws(60)
@given(st.sampled_from(UNARY), SHAPES)
def test_one_operand_keeps_its_shape(op, shape):
    dtype = TAKES[op][0]
    expected = tensor(*shape, dtype="i1" if op in BOOL_RESULT else dtype)
    assert infer(f"relax.{op}", tensor(*shape, dtype=dtype)) == [expected]


@draws(100)
@given(st.sampled_from(BINARY), SHAPES, SHAPES)
def test_two_operands_broadcast_as_in_numpy(op, left, right):
    dtype = TAKES[op][0]
    operands = tensor(*left, dtype=dtype), tensor(*right, dtype=dtype)
    try:
        shape = numpy.broadcast_shapes(left, right)
    except ValueError:
        assert "does not broadcast" in refusal(f"relax.{op}", *operands)
    else:
        assert infer(f"relax.{op}", *operands) == [tensor(*shape, dtype="i1" if op in BOOL_RESULT else dtype)]


DIMS = st.sampled_from([0, 1, 2, 3, None, *map(parse, ["n", "m", "n+1", "n+2", "2*n", "2*m+2", "n*m", "min(n,2)"])])


@draws(300)
@given(DIMS, DIMS, st.integers(0, 4), st.integers(0, 4), SIZES, SIZES)
def test_broadcast_symbols_hold_for_all_values(one, other, n, m, unknown, unknown_too):
    """Check that the inferred size allows numpy's result whenever numpy broadcasts the actual sizes."""
    values = {"n": n, "m": m}

    def actual(dim, size):
        return size if dim is None else dim if isinstance(dim, int) else dim.evaluate(values)

    sizes = actual(one, unknown), actual(other, unknown_too)
    assume(all(size >= 0 for size in sizes))
    try:
        (expected,) = numpy.broadcast_shapes(*[(size,) for size in sizes])
    except ValueError:
        return
    inferred = broadcast_dim(one, other)
    assert inferred is None or actual(inferred, 0) == expected


@draws(100)
@given(DIMS, DIMS)
def test_sizes_are_refused_only_where_no_value_broadcasts(one, other):
    def actual(dim, values):
        return dim if isinstance(dim, int) else dim.evaluate(values)

    assume(one is not None and other is not None)
    try:
        broadcast_dim(one, other)
    except ValueError:
        for n, m in itertools.product(range(6), repeat=2):
            sizes = [actual(dim, {"n": n, "m": m}) for dim in (one, other)]
            assert 1 not in sizes
            assert sizes[0] != sizes[1]


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (("n", 4), (4,), ("n", 4)),
        (("n", 1), ("n", 4), ("n", 4)),
        (("n",), (1,), ("n",)),
        (("n",), (3,), (3,)),
        (("n",), ("m",), (None,)),
        (("n",), ("n+2",), ("n+2",)),
        ((None,), ("n+2",), ("n+2",)),
        ((None,), ("n",), (None,)),
        ((None,), (3,), (3,)),
        (("2*n",), ("n*2",), ("2*n",)),
        ((), ("n", "m"), ("n", "m")),
    ],
)
def test_symbolic_sizes_broadcast(left, right, result):
    assert infer("relax.add", tensor(*left), tensor(*right)) == [tensor(*result)]
    assert infer("relax.add", tensor(*right), tensor(*left)) == [tensor(*result)]


def test_sizes_that_can_never_be_one_must_be_equal():
    message = refusal("relax.add", tensor(2, "n+2"), tensor("n+3"))
    assert "dimension -1 is n+3 against n+2" in message.replace(" + ", "+")


def test_an_unranked_operand_makes_the_result_unranked():
    assert infer("relax.add", unranked(), tensor(2)) == [unranked()]
    assert infer("relax.less", tensor(2), unranked()) == [unranked("i1")]
    assert infer("relax.exp", unranked("f16")) == [unranked("f16")]


def test_a_fused_multiply_add_takes_equal_shapes_only():
    shape = tensor("n", None), tensor(None, 4), unranked()
    for operands in itertools.permutations(shape):
        assert infer("relax.ewise_fma", *operands) == [tensor("n", 4)]
    assert "operand 'x3' (tensor<1xf32>) must have the shape" in refusal(
        "relax.ewise_fma", unranked(), tensor(3), tensor(1)
    )
    assert "operand 'x2' (tensor<1x3xf32>) must have the shape" in refusal(
        "relax.ewise_fma", tensor(3), tensor(1, 3), tensor(3)
    )
