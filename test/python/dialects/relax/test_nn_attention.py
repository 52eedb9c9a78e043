# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention: inferred types against numpy, symbolic sizes, the builder's refusals."""

from __future__ import annotations

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import infer
from shorthand import refusal, tensor, unranked

SIZES = st.integers(1, 5)
FLOATS = st.sampled_from(["f16", "bf16", "f32", "f64"])


def numpy_attention(query, key, value, bias=0.0):
    """Compute attention by definition, with each head of key and value repeated for the queries' heads."""
    heads = query.shape[2]
    key = key.repeat(heads // key.shape[2], axis=2)
    value = value.repeat(heads // value.shape[2], axis=2)
    scores = numpy.einsum("bqhd,bkhd->bhqk", query, key) + bias
    return numpy.einsum("bhqk,bkhd->bqhd", scores, value)


@st.composite
def attention_shapes(draw):
    batch, queries, keys, size, value_size = (draw(SIZES) for _ in range(5))
    key_heads, value_heads = draw(SIZES), draw(SIZES)
    heads = key_heads * value_heads * draw(st.integers(1, 2))
    return ((batch, queries, heads, size), (batch, keys, key_heads, size), (batch, keys, value_heads, value_size))


@draws(40)
@given(attention_shapes(), FLOATS)
def test_shapes_of_attention_equal_numpys(shapes, dtype):
    expected = numpy_attention(*map(numpy.zeros, shapes)).shape
    assert infer("relax.nn.attention", *(tensor(*shape, dtype=dtype) for shape in shapes)) == [
        tensor(*expected, dtype=dtype)
    ]


@draws(40)
@given(attention_shapes(), st.tuples(*[st.booleans()] * 3))
def test_a_bias_broadcasts_as_in_numpy(shapes, ones):
    (batch, queries, heads, _), (_, keys, *_), _ = shapes
    bias = [1 if one else size for one, size in zip(ones, (batch, heads, queries), strict=True)]
    expected = numpy_attention(*map(numpy.zeros, shapes), numpy.zeros((*bias, keys))).shape
    operands = [tensor(*shape) for shape in (*shapes, (*bias, keys))]
    assert infer("relax.nn.attention_bias", *operands) == [tensor(*expected)]


@draws(40)
@given(attention_shapes(), st.integers(0, 3))
def test_a_bias_that_numpy_cannot_broadcast_is_refused(shapes, axis):
    (batch, queries, heads, _), (_, keys, *_), _ = shapes
    bias = [batch, heads, queries, keys]
    bias[axis] = 2 * bias[axis] + 1
    operands = [tensor(*shape) for shape in (*shapes, bias)]
    message = refusal("relax.nn.attention_bias", *operands)
    assert f"in dimension {axis} (" in message
    assert f"got {bias[axis]}" in message


def test_symbolic_sizes_stay():
    assert infer("relax.nn.attention", tensor("b", "q", 8, 64), tensor("b", "k", 2, 64), tensor("b", "k", 2, "d")) == [
        tensor("b", "q", 8, "d")
    ]


def test_attention_sizes_come_from_any_operand():
    query, key, value = tensor(None, "q", "h", 64), tensor(2, "k", 2, 64), tensor(None, None, None, 32)
    assert infer("relax.nn.attention", query, key, value) == [tensor(2, "q", "h", 32)]


def test_unranked_operands_leave_sizes_unknown():
    query = tensor(2, "q", 8, 64)
    assert infer("relax.nn.attention", query, unranked(), unranked()) == [tensor(2, "q", 8, None)]


def test_attributes_are_kept():
    shape = tensor(1, 4, 2, 8)
    arguments = {"scale": 0.5, "causal_mask": "BottomRight", "window_size": 3}
    assert infer("relax.nn.attention", shape, shape, shape, **arguments) == [shape]
    bias = tensor(1, 1, 1, 4)
    assert infer("relax.nn.attention_bias", shape, shape, shape, bias, **arguments) == [shape]


VAR_LEN = (tensor(1, "q", 8, 64), tensor(1, "k", 2, 64), tensor(1, "k", 2, 32), tensor("n+1", dtype="i32"))


@pytest.mark.parametrize("longest", [tensor(dtype="i32"), tensor(1, dtype="i32")])
def test_sequences_of_several_lengths(longest):
    # The keys' lengths are as the queries' ...
    assert infer("relax.nn.attention_var_len", *VAR_LEN, longest) == [tensor(1, "q", 8, 32)]
    # ... or stated, in Relax's order: starts and longest of the queries, then of the keys.
    starts = tensor(None, dtype="i32")
    assert infer("relax.nn.attention_var_len", *VAR_LEN, longest, starts, longest, scale=0.125) == [
        tensor(1, "q", 8, 32)
    ]


def test_the_batch_of_concatenated_sequences_is_1():
    query, key, value, starts = VAR_LEN
    query = query._replace(shape=(None, *query.shape[1:]))
    assert infer("relax.nn.attention_var_len", query, key, value, starts, tensor(dtype="i32")) == [
        tensor(1, "q", 8, 32)
    ]


def test_the_builder_names_what_is_wrong():
    shape = tensor(2, 4, 8, 16)
    assert "'key' (tensor<3x4x8x16xf32>) must have the same batch size, got 2 and 3" in refusal(
        "relax.nn.attention", shape, tensor(3, 4, 8, 16), shape
    )
    assert "one of 'TopLeft', 'BottomRight', got 'topleft'; did you mean 'TopLeft'?" in refusal(
        "relax.nn.attention", shape, shape, shape, causal_mask="topleft"
    )
