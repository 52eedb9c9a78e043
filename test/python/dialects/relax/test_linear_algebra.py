# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices, vectors and tensors: inferred types against numpy, symbolic sizes."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir.dialects.relax.linear_algebra  # noqa: F401  # declares the operators
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from inferring import infer
from relax_mlir.support.errors import RelaxError
from shorthand import refusal, tensor, unranked
from symbolic import evaluated, named

ELEMENTS = st.sampled_from(["f16", "bf16", "f32", "f64", "i8", "i64", "ui8", "i1"])
SIZES = {"i": 2, "j": 3, "k": 4, "B": 2, "a": 3}


def numpy_shape(function, *shapes):
    """Return the shape of a numpy function's result on zeros, or None if numpy refuses."""
    try:
        return function(*map(numpy.zeros, shapes)).shape
    except ValueError:
        return None


def inferred(name, *operands, **arguments):
    """Return the single result, or None if the builder refuses."""
    try:
        (result,) = infer(name, *operands, **arguments)
    except RelaxError:
        return None
    return result


@draws(60)
@given(mutually_broadcastable_shapes(signature="(m?,n),(n,p?)->(m?,p?)", max_dims=3, max_side=4), ELEMENTS, st.data())
def test_matmul_is_shaped_as_in_numpy(shapes, dtype, data):
    out_dtype = data.draw(st.none() | ELEMENTS)
    expected = tensor(*numpy_shape(numpy.matmul, *shapes.input_shapes), dtype=out_dtype or dtype)
    left, right = (tensor(*shape, dtype=dtype) for shape in shapes.input_shapes)
    assert infer("relax.matmul", left, right, out_dtype) == [expected]


@draws(60)
@given(*[st.lists(st.integers(1, 3), max_size=4)] * 2)
def test_matmul_refuses_what_numpy_refuses(left, right):
    expected = numpy_shape(numpy.matmul, left, right)
    result = inferred("relax.matmul", tensor(*left), tensor(*right))
    assert result == (expected if expected is None else tensor(*expected))


@draws(40)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 4))
def test_matmul_keeps_symbols(left, columns):
    symbolic, sizes = named(left)
    (result,) = infer("relax.matmul", symbolic, tensor("k", columns))
    assert evaluated(result, sizes) == tensor(*left[:-1], columns)


def test_matmul():
    assert infer("relax.matmul", tensor("n", 4), tensor(4, "m")) == [tensor("n", "m")]
    assert infer("relax.matmul", tensor("b", 1, 2, "k"), tensor(3, "m", 5)) == [tensor("b", 3, 2, 5)]
    assert infer("relax.matmul", tensor("b", 2, 4), tensor("c", 4, 5)) == [tensor(None, 2, 5)]
    assert infer("relax.matmul", tensor("k"), tensor(None)) == [tensor()]
    assert infer("relax.matmul", unranked(), tensor(4)) == [unranked()]
    assert infer("relax.matmul", tensor(4, dtype="i8"), tensor(4, dtype="ui8"), "int32") == [tensor(dtype="i32")]


@draws(30)
@given(st.integers(0, 5), st.integers(0, 5), ELEMENTS)
def test_outer_is_shaped_as_in_numpy(rows, columns, dtype):
    expected = numpy_shape(numpy.outer, (rows,), (columns,))
    operands = [tensor(rows, dtype=dtype), tensor(columns, dtype=dtype)]
    assert infer("relax.outer", *operands) == [tensor(*expected, dtype=dtype)]


def test_outer():
    assert infer("relax.outer", tensor("n"), tensor(None)) == [tensor("n", None)]
    assert infer("relax.outer", unranked(), tensor("m")) == [tensor(None, "m")]


@st.composite
def einsums(draw):
    """Draw subscripts and shapes that mostly fit: labels with their sizes or 1, sometimes an ellipsis."""
    batch = draw(mutually_broadcastable_shapes(num_shapes=3, max_dims=2, max_side=3)).input_shapes
    terms, shapes = [], []
    for extra in batch[: draw(st.integers(1, 3))]:
        labels = draw(st.lists(st.sampled_from(sorted(SIZES)), max_size=3))
        sizes = [draw(st.sampled_from([SIZES[label]] * 9 + [1])) for label in labels]
        if draw(st.booleans()):
            place = draw(st.integers(0, len(labels)))
            labels.insert(place, "...")
            sizes[place:place] = extra
        terms.append("".join(labels))
        shapes.append(tuple(sizes))
    subscripts = ",".join(terms)
    if draw(st.booleans()):
        used = sorted(set(subscripts) - set(",."))
        result = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        if draw(st.booleans()):
            result.insert(draw(st.integers(0, len(result))), "...")
        subscripts += f" -> {''.join(result)}"
    return subscripts, shapes


@draws(200)
@given(einsums(), ELEMENTS)
def test_einsum_is_shaped_as_in_numpy(drawn, dtype):
    subscripts, shapes = drawn
    expected = numpy_shape(lambda *operands: numpy.einsum(subscripts, *operands), *shapes)
    result = inferred("relax.einsum", [tensor(*shape, dtype=dtype) for shape in shapes], subscripts)
    assert result == (expected if expected is None else tensor(*expected, dtype=dtype))


@pytest.mark.parametrize(
    ("subscripts", "operands", "expected"),
    [
        ("ij,jk->ik", [tensor("n", 4), tensor(4, "m")], tensor("n", "m")),
        ("ij,jk", [tensor("n", "k"), tensor("k", "m")], tensor("n", "m")),
        ("...ij,...jk->...ik", [tensor("b", 1, "n", 4), tensor(7, 4, 5)], tensor("b", 7, "n", 5)),
        ("i,i->i", [tensor("n"), tensor("m")], tensor(None)),
        ("i,i->i", [tensor("n"), tensor(5)], tensor(5)),
        ("ii->i", [tensor("n", 5)], tensor(5)),
        ("ii->i", [tensor(5, "n")], tensor(5)),
        ("ii->i", [tensor(None, "n")], tensor("n")),
        ("ba", [tensor("n", "m")], tensor("m", "n")),
        ("ij,jk->ik", [unranked(), tensor(4, "m")], tensor(None, "m")),
        ("...j,jk->...k", [unranked(), tensor(4, "m")], unranked()),
        ("...j,j->j", [unranked(), tensor(4)], tensor(4)),
        (",->", [tensor(), tensor()], tensor()),
    ],
)
def test_einsum(subscripts, operands, expected):
    assert infer("relax.einsum", operands, subscripts) == [expected]


@pytest.mark.parametrize(
    ("subscripts", "message"),
    [
        ("i..j", "'i..j' has '.': labels are letters and '...'"),
        ("ij->->j", "'->j' has '-': labels are letters and '...'"),
        ("\u00e4j", "'\u00e4j' has '\u00e4': labels are letters and '...'"),
        ("...ijk", "does not fit operand #0: it names 3 dimensions of 2"),
        (None, "misses attribute 'subscripts' (a string)"),
    ],
)
def test_unreadable_subscripts(subscripts, message):
    assert message in refusal("relax.einsum", [tensor(2, 3)], subscripts)
