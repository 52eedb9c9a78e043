# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-fuse-tir: fused graphs compute what unfused ones and numpy do; how many kernels known graphs become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from relax_mlir import relax
from relax_mlir.bindings.legality import operations_in
from relax_mlir.dialects.tir.prim_func import is_prim_func
from relax_mlir.passes.relax_fuse_tir import FuseTir

import relax_mlir as rx

N = ("n", 6)


def floats(*shape: int, seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


def built(inputs: Any, body: Any) -> rx.Module:
    module = rx.Module()
    with module.function("main", inputs) as f:
        values = body(*f)
        f.returns(*(values if isinstance(values, tuple) else (values,)))
    return module


def lowered(module: rx.Module, stage: str = "fuse", fuse: str = "relax-fuse-tir") -> rx.Module:
    for each in rx.stages().replace("fuse", fuse).until(stage):
        each.pipeline("llvm").run(module)
    return module


def calls(module: rx.Module) -> list[str]:
    found = operations_in(module.operation)
    return [op.opview.func for op in found if op.name == "relax.call_tir"]


def kernels(inputs: Any, body: Any, fuse: str = "relax-fuse-tir") -> list[str]:
    return calls(lowered(built(inputs, body), fuse=fuse))


def run(executable: Any, *arrays: Any) -> list[Any]:
    results = executable["main"](*arrays)
    is_one = not isinstance(results, (list, tuple)) and type(results).__name__ not in ("Array", "List")
    return [numpy.from_dlpack(each) for each in ([results] if is_one else results)]


def both(module: rx.Module, fuse: str = "relax-fuse-tir") -> tuple[Any, Any]:
    """The module compiled with fusion and without."""
    fused = rx.compile(module, pipeline=rx.stages().replace("fuse", fuse))
    return fused, rx.compile(module, pipeline=rx.stages().drop("fuse"))


# ---- random graphs ----


class Value(NamedTuple):
    """A value of a random graph: in the graph, its shape there, and whether no sum lies before it."""

    value: Any
    shape: tuple[Any, ...]
    is_exact: bool


_UNARY: dict[str, Callable[..., Any]] = {
    "tanh": numpy.tanh,
    "negative": numpy.negative,
    "abs": numpy.abs,
    "sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
    "floor": numpy.floor,
}
_BINARY: dict[str, Callable[..., Any]] = {
    "add": numpy.add,
    "subtract": numpy.subtract,
    "multiply": numpy.multiply,
    "maximum": numpy.maximum,
}
_ROW, _SQUARE = floats(6, seed=8), floats(6, 6, seed=9)
Step = tuple[str, int, int]


def apply(space: Any, kind: str, left: Any, right: Any, n: Any) -> Any:
    """A step on the graph's values (`space` is relax) or on arrays (it is None)."""
    if kind in _UNARY:
        return getattr(space, kind)(left) if space else _UNARY[kind](left)
    if kind in _BINARY:
        return getattr(space, kind)(left, right) if space else _BINARY[kind](left, right)
    if kind == "scale":
        return space.multiply(left, space.const(0.3, "float32")) if space else left * numpy.float32(0.3)
    if kind == "add row":
        return space.add(left, space.const(_ROW)) if space else left + _ROW
    if kind == "permute":
        return space.permute_dims(left) if space else left.T
    if kind == "matmul":
        return space.matmul(left, space.const(_SQUARE)) if space else left @ _SQUARE
    if kind == "where":
        return space.where(space.greater(left, right), left, right) if space else numpy.maximum(left, right)
    if kind == "softmax":
        return space.nn.softmax(left, axis=0) if space else _softmax(left)
    if kind == "evens":
        return space.strided_slice(left, [1], [0], [6], [2]) if space else left[:, ::2]
    if kind == "flat":
        return space.reshape(left, ("n*6",)) if space else left.reshape(-1)
    if kind == "unflat":
        return space.reshape(left, N) if space else left.reshape(n, 6)
    if kind == "spread":
        return space.broadcast_to(left, N) if space else numpy.broadcast_to(left, (n, 6))
    name, axis, keepdims = kind.split()
    if space:
        return getattr(space, name)(left, axis=[int(axis)], keepdims=keepdims == "True")
    return getattr(numpy, name)(left, axis=int(axis), keepdims=keepdims == "True")


def _softmax(x: Any) -> Any:
    powers = numpy.exp(x - x.max(axis=0, keepdims=True)) if x.size else x
    return powers / powers.sum(axis=0, keepdims=True)


def kinds_for(left: Value, right: Value) -> list[str]:
    shape = left.shape
    kinds = [*_UNARY, "scale"]
    if shape == right.shape:
        kinds += [*_BINARY, "where"] * 2
    elif is_broadcast(shape, right.shape):
        kinds += [*_BINARY] * 2
    if shape and shape[-1] == 6:
        kinds += ["add row", "spread"] if shape != N else ["add row", "flat", "evens", "matmul", "softmax"]
    if len(shape) == 2:
        kinds += ["permute", "permute"]
        kinds += [f"{name} {axis} {keep}" for name in ("sum", "max") for axis in (0, 1) for keep in (True, False)]
    return [*kinds, "unflat"] if shape == ("n*6",) else kinds


def is_broadcast(large: tuple[Any, ...], small: tuple[Any, ...]) -> bool:
    """Whether the second shape fits into the first."""
    tail = large[len(large) - len(small) :]
    return len(small) <= len(large) and all(b in (a, 1) for a, b in zip(tail, small, strict=True))


def shape_of(value: Any) -> tuple[Any, ...]:
    return tuple(dim if isinstance(dim, int) else str(dim) for dim in rx.infer.decode(value.type).shape)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_random_graphs(data: Any) -> None:
    steps: list[Step] = []
    module = rx.Module()
    with module.function("main", [rx.tensor(N), rx.tensor(N), rx.tensor((6,)), rx.tensor(("n", 1))]) as f:
        values = [Value(value, tuple(shape), True) for value, shape in zip(f, (N, N, (6,), ("n", 1)), strict=True)]
        for _ in range(data.draw(st.integers(2, 16))):
            left, right = (data.draw(st.integers(0, len(values) - 1)) for _ in range(2))
            kind = data.draw(st.sampled_from(kinds_for(values[left], values[right])))
            made = apply(relax, kind, values[left].value, values[right].value, None)
            exact = values[left].is_exact and values[right].is_exact and not kind.startswith("sum")
            steps.append((kind, left, right))
            values.append(Value(made, shape_of(made), exact))
        picked = data.draw(st.lists(st.integers(4, len(values) - 1), min_size=1, max_size=4))
        f.returns(*(values[index].value for index in picked))
    epilogues = data.draw(st.booleans())
    fused, plain = both(module, "relax-fuse-tir{epilogues=true}" if epilogues else "relax-fuse-tir")
    for n in (1, 5, 37):
        arrays = [floats(n, 6), floats(n, 6, seed=4), floats(6, seed=5), floats(n, 1, seed=6)]
        results, expected = run(fused, *arrays), run(plain, *arrays)
        for kind, left, right in steps:
            arrays.append(apply(None, kind, arrays[left], arrays[right], n))
        scale = max(1, *(numpy.abs(each).max() for each in arrays))
        for index, result, same in zip(picked, results, expected, strict=True):
            if values[index].is_exact:
                numpy.testing.assert_array_equal(result, same)
            if not any(kind == "floor" for kind, *_ in steps):
                numpy.testing.assert_allclose(result, arrays[index], rtol=1e-3, atol=1e-4 * scale)
