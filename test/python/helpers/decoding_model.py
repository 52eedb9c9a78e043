# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model that appends rows to keys and values: attention over all tokens so far, and the same in numpy."""

from __future__ import annotations

from typing import Any

import numpy

import relax_mlir as rx
from relax_mlir import relax

HEADS, SIZE = 2, 3
WIDTH = HEADS * SIZE
_RANDOM = numpy.random.default_rng(11)
QUERY, KEY, VALUE = (_RANDOM.standard_normal((WIDTH, WIDTH), "float32") / WIDTH for _ in range(3))


def growing(dtype: str = "float32") -> rx.Module:
    """Build main(x, keys, values) with x of [batch, new, WIDTH]. Each token sees the tokens of earlier calls."""

    def heads(x: Any, weight: Any) -> Any:
        product = relax.matmul(x, relax.const(weight))
        split = relax.reshape(product, relax.shape_expr(dims=("batch", "new", HEADS, SIZE)))
        return relax.permute_dims(split, axes=[0, 2, 1, 3])

    def kept(x: Any) -> Any:
        return relax.astype(x, dtype=dtype)

    module = rx.Module()
    rows = rx.tensor(("batch", HEADS, "past", SIZE), dtype)
    infos = {"x": rx.tensor(("batch", "new", WIDTH)), "keys": rows, "values": rows}
    with module.function("main", infos) as f:
        x, keys, values = f
        keys = relax.concat(keys, kept(heads(x, KEY)), axis=2)
        values = relax.concat(values, kept(heads(x, VALUE)), axis=2)
        single = [relax.astype(each, dtype="float32") for each in (keys, values)]
        scores = relax.matmul(heads(x, QUERY), relax.permute_dims(single[0], axes=[0, 1, 3, 2]))
        f.returns(relax.matmul(relax.nn.softmax(scores), single[1]), keys, values)
    return module


def expected(x: Any, keys: Any, values: Any) -> tuple[Any, Any, Any]:
    def heads(weight: Any) -> Any:
        return (x @ weight).reshape(*x.shape[:2], HEADS, SIZE).transpose(0, 2, 1, 3)

    keys, values = (
        numpy.concatenate([kept, heads(weight).astype(kept.dtype)], axis=2)
        for kept, weight in ((keys, KEY), (values, VALUE))
    )
    powers = numpy.exp(heads(QUERY) @ keys.astype("float32").transpose(0, 1, 3, 2))
    return powers / powers.sum(axis=-1, keepdims=True) @ values.astype("float32"), keys, values
