# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-fuse-attention: what two products and a softmax gave, attention gives."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from before_after import op_names
from relax_mlir.passes.relax_fuse_attention import FuseAttention

import relax_mlir as rx
from relax_mlir import relax


def exported(heads: int, own: int, length: Any, guarded: bool, scale: float, mask: Any) -> rx.Module:
    """What torch writes for scaled_dot_product_attention; keys and values of `own` heads are repeated."""
    module = rx.Module()
    shapes = [(2, heads, length, 16), (2, own, length, 16), (2, own, length, 16)]
    masks = [] if mask is None else [tuple(mask)]
    with module.function("main", [rx.tensor(shape) for shape in (*shapes, *masks)]) as f:
        query, key, value, *added = f
        if own != heads:
            sizes = (2, own, heads // own, length, 16)
            key, value = (
                relax.reshape(relax.broadcast_to(relax.expand_dims(each, axis=[2]), sizes), (2, heads, length, 16))
                for each in (key, value)
            )
        turned = relax.permute_dims(key, axes=[0, 1, 3, 2])
        scores = relax.matmul(relax.multiply(query, relax.const(scale, "f32")), turned)
        for each in added:
            scores = relax.add(each, scores)
        powers = relax.nn.softmax(scores)
        if guarded:
            powers = relax.where(relax.isnan(powers), relax.const(0.0, "f32"), powers)
        f.returns(relax.matmul(powers, value))
    return module


def arrays_of(heads: int, own: int, length: int, mask: Any) -> list[Any]:
    random = numpy.random.default_rng(5)
    arrays = [random.normal(size=(2, each, length, 16)).astype("f4") for each in (heads, own, own)]
    if mask is None:
        return arrays
    hidden = random.random([length if size == "n" else size for size in mask]) < 0.3
    return [*arrays, numpy.where(hidden, -numpy.inf, 0.5).astype("f4")]


@pytest.mark.parametrize(
    ("heads", "own", "length", "guarded", "mask"),
    [
        (3, 3, 9, False, None),
        (3, 3, "n", False, (2, 1, "n", "n")),
        (4, 2, "n", True, (1, 1, "n", "n")),
        (4, 1, 33, True, (33, 33)),
        (2, 2, 150, False, (2, 2, 150, 150)),
        (2, 2, 20, False, (2, 1, 1, 20)),
    ],
)
def test_attention_gives_what_was_given(heads: int, own: int, length: Any, guarded: bool, mask: Any) -> None:
    module = exported(heads, own, length, guarded, 0.3, mask)
    arrays = arrays_of(heads, own, 33 if length == "n" else length, mask)
    before = numpy.from_dlpack(rx.compile(module, opt_level=1)["main"](*arrays))
    FuseAttention()(module)
    names = set(op_names(module))
    assert ("relax.nn.attention" if mask is None else "relax.nn.attention_bias") in names
    assert not names & {"relax.matmul", "relax.nn.softmax", "relax.isnan"}
    after = numpy.from_dlpack(rx.compile(module)["main"](*arrays))
    assert numpy.isfinite(before).all()
    numpy.testing.assert_allclose(after, before, rtol=2e-5, atol=2e-6)


def test_a_query_that_sees_no_key_gives_zeros() -> None:
    module = exported(2, 2, 9, True, 0.25, (9, 9))
    arrays = arrays_of(2, 2, 9, (9, 9))
    arrays[3][4] = -numpy.inf
    result = numpy.from_dlpack(rx.compile(module)["main"](*arrays))
    assert (result[:, :, 4] == 0).all() and (result[:, :, 5] != 0).all()
