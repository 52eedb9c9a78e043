# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One block of Llama: bf16 weights and products; f32 sums, norms, softmax and rotation; heads that share keys."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy

import relax_mlir as rx
from relax_mlir import relax


class Sizes(NamedTuple):
    tokens: int = 128
    width: int = 512
    heads: int = 8
    shared: int = 4
    hidden: int = 1408

    @property
    def head(self) -> int:
        return self.width // self.heads


def weights(sizes: Sizes, seed: int = 0) -> dict[str, numpy.ndarray]:
    random = numpy.random.default_rng(seed)
    width, keys, hidden = sizes.width, sizes.shared * sizes.head, sizes.hidden
    shapes = {"q": (width, width), "k": (width, keys), "v": (width, keys), "o": (width, width)}
    shapes |= {"gate": (width, hidden), "up": (width, hidden), "down": (hidden, width)}
    made = {
        name: random.normal(0, shape[0] ** -0.5, shape).astype(ml_dtypes.bfloat16) for name, shape in shapes.items()
    }
    norms = {name: random.uniform(0.5, 1.5, width).astype("float32") for name in ("norm", "norm2")}
    return made | norms


def block(sizes: Sizes, constants: dict[str, numpy.ndarray]) -> rx.Module:
    tokens, width, heads, shared, _ = sizes
    head, half = sizes.head, sizes.head // 2
    angles = numpy.arange(tokens)[:, None] / 10000 ** (numpy.arange(half) / half)
    cos, sin = (numpy.tile(f(angles), 2).astype("float32")[:, None] for f in (numpy.cos, numpy.sin))
    mask = numpy.where(numpy.tri(tokens, dtype=bool), 0, -1e9).astype("float32")
    scale = numpy.float32(head**-0.5)

    module = rx.Module()
    with module.function("main", {"x": rx.tensor((tokens, width), "f32")}) as f:
        (x,) = f
        known = {name: relax.const(array) for name, array in constants.items()}

        def product(value: Any, weight: Any) -> Any:
            return relax.matmul(relax.astype(value, "bf16"), weight, out_dtype="f32")

        def by_heads(value: Any, count: int, *, rotate: bool) -> Any:
            value = relax.reshape(value, (tokens, count, head))
            if rotate:
                left = relax.strided_slice(value, [2], [0], [half])
                right = relax.strided_slice(value, [2], [half], [head])
                turned = relax.concat(relax.negative(right), left, axis=2)
                value = relax.add(relax.multiply(value, relax.const(cos)), relax.multiply(turned, relax.const(sin)))
            return relax.permute_dims(relax.astype(value, "bf16"), (1, 0, 2))

        normed = relax.nn.rms_norm(x, known["norm"])
        q = by_heads(product(normed, known["q"]), heads, rotate=True)
        k = by_heads(product(normed, known["k"]), shared, rotate=True)
        v = by_heads(product(normed, known["v"]), shared, rotate=False)
        rows = heads // shared * tokens
        scores = relax.matmul(relax.reshape(q, (shared, rows, head)), relax.permute_dims(k, (0, 2, 1)), out_dtype="f32")
        scores = relax.reshape(relax.multiply(scores, relax.const(scale)), (heads, tokens, tokens))
        shares = relax.nn.softmax(relax.add(scores, relax.const(mask)))
        mixed = relax.matmul(relax.reshape(relax.astype(shares, "bf16"), (shared, rows, tokens)), v, out_dtype="f32")
        mixed = relax.permute_dims(relax.reshape(mixed, (heads, tokens, head)), (1, 0, 2))
        x = relax.add(x, product(relax.reshape(mixed, (tokens, width)), known["o"]))
        normed = relax.nn.rms_norm(x, known["norm2"])
        gated = relax.multiply(relax.nn.silu(product(normed, known["gate"])), product(normed, known["up"]))
        f.returns(relax.add(x, product(gated, known["down"])))
    return module


def tokens(sizes: Sizes) -> numpy.ndarray:
    return numpy.random.default_rng(2).standard_normal((sizes.tokens, sizes.width)).astype("float32")
