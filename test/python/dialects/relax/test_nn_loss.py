# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses: inferred types against numpy, symbolic sizes, the builder's refusals."""

from __future__ import annotations

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import infer
from shorthand import refusal, tensor, unranked

SHAPES = st.lists(st.integers(1, 4), max_size=5)
FLOATS = st.sampled_from(["f16", "bf16", "f32", "f64"])
INTEGERS = st.sampled_from(["i8", "i32", "i64", "ui8", "ui64"])


def numpy_nll_loss(predictions, targets, weights, reduction):
    """Compute the loss by definition: minus the prediction of the target class, times the class's weight."""
    classes = min(1, predictions.ndim - 1)
    picked = numpy.take_along_axis(predictions, numpy.expand_dims(targets, classes), classes).squeeze(classes)
    losses = -picked * weights[targets]
    return {"none": losses, "sum": losses.sum(), "mean": losses.mean()}[reduction]


@draws(60)
@given(SHAPES, st.integers(1, 4), st.sampled_from(["none", "sum", "mean"]), st.booleans(), FLOATS, INTEGERS)
def test_shapes_of_nll_loss_equal_numpys(shape, classes, reduction, weighted, dtype, index):
    predictions = (*shape[:1], classes, *shape[1:])
    expected = numpy_nll_loss(
        numpy.zeros(predictions), numpy.zeros(shape, dtype=int), numpy.zeros(classes), reduction
    ).shape
    weights = [tensor(classes, dtype=dtype)] if weighted else []
    operands = [tensor(*predictions, dtype=dtype), tensor(*shape, dtype=index), *weights]
    assert infer("relax.nn.nll_loss", *operands, reduction=reduction) == [tensor(*expected, dtype=dtype)]


@draws(40)
@given(SHAPES, FLOATS)
def test_cross_entropy_is_one_number(shape, dtype):
    operand = tensor(*shape, dtype=dtype)
    assert infer("relax.nn.cross_entropy_with_logits", operand, operand) == [tensor(dtype=dtype)]


def test_the_mean_is_the_default():
    assert infer("relax.nn.nll_loss", tensor("n", 10), tensor("n", dtype="i64")) == [tensor()]


def test_losses_keep_the_symbols_of_either_operand():
    targets = tensor(None, "w", dtype="i64")
    assert infer("relax.nn.nll_loss", tensor("n", 10, None), targets, reduction="none") == [tensor("n", "w")]
    assert infer("relax.nn.nll_loss", unranked(), targets, reduction="none") == [tensor(None, "w")]
    assert infer("relax.nn.nll_loss", tensor("n", 10), unranked("i64"), reduction="none") == [tensor("n")]
    assert infer("relax.nn.nll_loss", unranked(), unranked("i64"), reduction="none") == [unranked()]


def test_operands_that_may_fit_are_taken():
    assert infer("relax.nn.cross_entropy_with_logits", tensor("n", 4), tensor("m", None)) == [tensor()]
    assert infer("relax.nn.cross_entropy_with_logits", unranked(), tensor("m", 3)) == [tensor()]
    assert infer("relax.nn.nll_loss", unranked(), tensor("n", dtype="i64"), unranked()) == [tensor()]


@pytest.mark.parametrize(
    ("predictions", "targets"),
    [((3, 5), (4,)), ((3, 5), ()), ((5,), (1,)), ((3, 5, 2), (3,)), ((3, 5, 2), (3, 5)), (("n", 5), ("n+1",))],
)
def test_targets_that_do_not_fit_are_refused(predictions, targets):
    message = refusal("relax.nn.nll_loss", tensor(*predictions), tensor(*targets, dtype="i32"))
    assert "operand 'targets'" in message
    assert "without classes" in message


def test_the_builder_names_what_is_wrong():
    predictions, targets = tensor(3, 5), tensor(3, dtype="i64")
    assert "must have the same number of classes, got 5 and 4" in refusal(
        "relax.nn.nll_loss", predictions, targets, tensor(4)
    )
    assert "attribute 'reduction' expects one of 'none', 'sum', 'mean'" in refusal(
        "relax.nn.nll_loss", predictions, targets, reduction="avg"
    )
