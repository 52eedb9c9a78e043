# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-fuse-attention: attention equals two products and a softmax."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from before_after import op_names
from relax_mlir.passes.graph.relax_fuse_attention import FuseAttention

import relax_mlir as rx
from relax_mlir import relax


def exported(heads: int, own: int, length: Any, guarded: bool, scale: float, mask: Any) -> rx.Module:
    """Return torch's operators for scaled_dot_product_attention. Keys and values of `own` heads are repeated."""
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


@pytest.mark.parametrize(("length", "guarded"), [(9, False), ("n", False), ("n", True)])
def test_a_query_that_sees_no_key(length: Any, guarded: bool) -> None:
    """Return NaN for a softmax of nothing, or zeros if the model replaces it."""
    module = exported(2, 2, length, guarded, 0.25, (length, length))
    for count in (9,) if length == 9 else (4, 9, 140):
        arrays = arrays_of(2, 2, count, (count, count))
        arrays[3][2] = -numpy.inf
        result = numpy.from_dlpack(rx.compile(module)["main"](*arrays))
        plain = numpy.from_dlpack(rx.compile(module, opt_level=1)["main"](*arrays))
        numpy.testing.assert_array_equal(numpy.isnan(result), numpy.isnan(plain))
        assert (result[:, :, 2] == 0).all() if guarded else numpy.isnan(result[:, :, 2]).all()
        assert (result[:, :, 3] != 0).all()


def cached(heads: int, own: int) -> rx.Module:
    """Return a layer with keys and values of earlier tokens, in the form of exporters."""
    module = rx.Module()
    kept = rx.tensor(("b", own, "past", 16))
    given = {
        "q": rx.tensor(("b", heads, "s", 16)),
        "k": rx.tensor(("b", own, "s", 16)),
        "v": rx.tensor(("b", own, "s", 16)),
    }
    given |= {"past.key": kept, "past.value": kept, "mask": rx.tensor(("b", 1, "s", "past + s"))}
    with module.function("main", given) as f:
        q, k, v, past_key, past_value, mask = f
        keys, values = (relax.concat(pair, axis=2) for pair in ((past_key, k), (past_value, v)))
        seen = keys, values
        if own != heads:
            wide, flat = (("b", own, heads // own, "past + s", 16), ("b", heads, "past + s", 16))
            seen = tuple(relax.reshape(relax.broadcast_to(relax.expand_dims(x, axis=[2]), wide), flat) for x in seen)
        scores = relax.matmul(q, relax.permute_dims(seen[0], axes=[0, 1, 3, 2]))
        scores = relax.add(relax.multiply(scores, relax.const(0.25, "f32")), mask)
        f.returns(relax.matmul(relax.nn.softmax(scores), seen[1]), keys, values)
    return module


@pytest.mark.parametrize("own", [4, 2])
def test_caches_are_read_where_they_lie(own: int) -> None:
    """Run one program for a prompt and for single tokens: equal to the program without fusion, with and without a
    growing buffer."""
    module, random = cached(4, own), numpy.random.default_rng(7)
    program = rx.compile(module, donate=["past*"])
    step, cache = program["main"], program["main"].cache(room=200)
    plain = rx.compile(module, opt_level=1)["main"]
    past = [numpy.empty((2, own, 0, 16), "f4")] * 2
    for count in (150, 1, 1, 3, 9, 1):
        fresh = [random.normal(size=(2, each, count, 16)).astype("f4") for each in (4, own, own)]
        mask = numpy.triu(numpy.full((count, past[0].shape[2] + count), -numpy.inf, "f4"), past[0].shape[2] + 1)
        mask = numpy.broadcast_to(mask, (2, 1, *mask.shape)).copy()
        expected, *past = map(numpy.from_dlpack, plain(*fresh, *past, mask))
        actual = numpy.from_dlpack(step(*fresh, cache, mask))
        numpy.testing.assert_allclose(actual, expected, rtol=2e-5, atol=2e-6)


def test_a_cache_is_not_copied() -> None:
    text = str(rx.lower(cached(4, 2), pipeline=rx.stages("llvm").until("attention")))
    assert text.count('"relax.nn.attention_cached"') == 1 and text.count('"relax.permute_dims"') == 2
    assert "relax.broadcast_to" not in text
