# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes with bounds: the last value that is taken, and the first that is refused with the attribute's name."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from inferring import infer
from shorthand import refusal, tensor


class Bound(NamedTuple):
    op: str
    operands: tuple[Any, ...]
    attribute: str
    taken: tuple[Any, ...]
    refused: tuple[Any, ...]
    others: dict[str, Any] = {}  # noqa: RUF012  # it is not written to


INDICES = tensor(2, 1, dtype="i64")
IMAGE, WEIGHT = tensor(1, 4, 8, 8), tensor(4, 4, 3, 3)
BOUNDS = [
    Bound("relax.nn.max_pool2d", (IMAGE,), "padding", (0,), (-1,), {"pool_size": 2}),
    Bound("relax.nn.pixel_shuffle", (IMAGE,), "upscale_factor", (1, 2), (0,)),
    Bound("relax.split", (tensor(4),), "indices_or_sections", (1,), (0,), {"axis": 0}),
    Bound("relax.nn.dropout", (tensor(4),), "rate", (0.0, 1.0), (-0.001, 1.001)),
    Bound("relax.one_hot", (tensor(3, dtype="i64"), 1.0, 0.0), "depth", (1,), (0,)),
    Bound("relax.gather_nd", (tensor(2, 3), INDICES), "batch_dims", (0, 1), (-1,)),
    Bound("relax.nn.conv2d", (IMAGE, WEIGHT), "groups", (1,), (0,)),
    Bound("relax.repeat", (tensor(4),), "repeats", (0, 1), (-1,), {"axis": 0}),
    Bound("relax.tile", (tensor(4),), "repeats", ((0,), (1,)), ((-1,),)),
    Bound("relax.nn.group_norm", (IMAGE, tensor(4), tensor(4)), "num_groups", (1, 4), (0,),
          {"channel_axis": 1, "axes": [2, 3]}),
    Bound("relax.nn.layer_norm", (IMAGE, tensor(8), tensor(8)), "epsilon", (0.0,), (-1e-9,), {"axes": [-1]}),
]  # fmt: skip


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: f"{bound.op}.{bound.attribute}")
def test_bounds(bound: Bound) -> None:
    for value in bound.taken:
        assert infer(bound.op, *bound.operands, **bound.others, **{bound.attribute: value}), value
    for value in bound.refused:
        message = refusal(bound.op, *bound.operands, **bound.others, **{bound.attribute: value})
        assert bound.attribute in message, message
