# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-canonicalize on slices of joined tensors, transposes and quantized numbers: the same results to the last
bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy
import pytest
from before_after import changed, keeps_results, op_names
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st

import relax_mlir as rx
from relax_mlir import relax

PASS = "relax-canonicalize"
_BOUNDS = st.one_of(st.integers(-9, 9), st.sampled_from([2**63 - 1, -(2**63) + 1]))


def built(shapes: Sequence[Any], body: Any, dtype: str = "float32") -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


def exactly(module: rx.Module) -> list[str]:
    """Return the remaining operators, after a comparison of the results to the last bit."""
    return op_names(keeps_results(module, PASS, tolerance=0, sizes={"n": 4, "m": 3}))


def part(x: Any, axis: int, begin: Any, end: Any, **attributes: Any) -> Any:
    return relax.strided_slice(x, axes=[axis], begin=[begin], end=[end], **attributes)


@draws(40)
@given(st.data(), st.lists(st.sampled_from([0, 1, 3, "n", "m"]), min_size=1, max_size=4))
def test_slices_of_joined_tensors(data: Any, sizes: list[Any]) -> None:
    stride = data.draw(st.sampled_from([None, [1], [2], [-1]]))
    begin, end = data.draw(_BOUNDS), data.draw(_BOUNDS)
    shapes = [(2, size) for size in sizes]
    exactly(built(shapes, lambda *x: part(relax.concat(list(x), axis=-1), 1, begin, end, strides=stride)))


@draws(40)
@given(st.data(), st.sampled_from([5, "n"]))
def test_slices_of_slices(data: Any, size: Any) -> None:
    axes = [data.draw(st.sampled_from([0, -1])) for _ in range(2)]
    bounds = [data.draw(_BOUNDS) for _ in range(4)]

    def body(x: Any) -> Any:
        return part(part(x, axes[0], *bounds[:2]), axes[1], *bounds[2:])

    exactly(built([(6, size)], body))


@draws(40)
@given(st.data(), st.sampled_from([6, "n"]))
def test_joined_slices(data: Any, size: Any) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, 6), min_size=1, max_size=4)))
    whole = [0, *cuts, 2**63 - 1]
    pairs = list(pairwise(whole))
    if data.draw(st.booleans()):
        pairs = data.draw(st.permutations(pairs))
    axis = data.draw(st.sampled_from([0, 1]))
    shape = (size, 3) if axis == 0 else (3, size)
    exactly(built([shape], lambda x: relax.concat([part(x, axis, *pair) for pair in pairs], axis=axis)))


@draws(40)
@given(st.data())
def test_bounds_that_are_constants(data: Any) -> None:
    begin, end = ([data.draw(_BOUNDS) for _ in range(2)] for _ in range(2))
    strides = [data.draw(st.sampled_from([1, 2, -1, -3])) for _ in range(2)]
    bounds = [numpy.array(each, "int64") for each in (begin, end, strides)]
    module = built([(4, "n")], lambda x: relax.dynamic_strided_slice(x, *map(relax.const, bounds)))
    assert exactly(module) in (["relax.strided_slice"], [])


@draws(40)
@given(st.data(), st.lists(st.sampled_from([1, 1, 3, "n"]), min_size=1, max_size=4))
def test_permutations(data: Any, shape: list[Any]) -> None:
    one, other = (data.draw(st.permutations(range(len(shape)))) for _ in range(2))
    between = data.draw(st.sampled_from(["nn.relu", "astype", "negative", ""]))

    def body(x: Any) -> Any:
        y = relax.permute_dims(x, axes=one)
        if between:
            y = rx.find_op(f"relax.{between}")(y, **({"dtype": "float16"} if between == "astype" else {}))
        return relax.permute_dims(y, axes=other)

    names = exactly(built([shape], body))
    assert names.count("relax.permute_dims") <= 1


def test_slices_of_a_concat_read_its_operands() -> None:
    def body(a: Any, b: Any, c: Any) -> Any:
        joined = relax.concat([a, b, c])
        return part(joined, 0, 3, "m + 3"), part(joined, 0, 0, 2), part(joined, 0, 2, 4)

    module = built([(3,), ("m",), (2,)], body)
    # The middle tensor unchanged, two elements of the first. If m is 0, the last slice has elements of all three.
    assert exactly(module) == ["relax.concat", "relax.strided_slice", "relax.strided_slice"]


def test_taken_apart_at_the_seams() -> None:
    def body(a: Any, b: Any) -> Any:
        return relax.split(relax.concat([a, b], axis=1), [3], axis=-1)

    assert exactly(built([(2, 3), (2, 5)], body)) == []
    assert exactly(built([(2, 5), (2, 3)], body)) == ["relax.concat", "relax.split"]


def test_taken_apart_elsewhere() -> None:
    """Keep splits of tensors that are not joined, splits into fewer parts, and splits along another axis."""
    assert exactly(built([(4, 3)], lambda x: relax.split(x, 2))) == ["relax.split"]
    three = built([(2,), (2,), (4,)], lambda *x: relax.split(relax.concat(list(x)), 2))
    assert exactly(three) == ["relax.concat", "relax.split"]
    across = built([(2, 4), (2, 4)], lambda *x: relax.split(relax.concat(list(x), axis=1), 2, axis=0))
    assert exactly(across) == ["relax.concat", "relax.split"]


def test_joined_again() -> None:
    cuts = [(0, 1), (1, 3), (3, 4)]
    assert exactly(built([("n", 4)], lambda x: relax.concat([part(x, 1, *cut) for cut in cuts], axis=1))) == []
    halves = built([(2, 8)], lambda x: relax.concat([part(x, 1, 4, 8), part(x, 1, 0, 4)], axis=1))
    assert len(exactly(halves)) == 3


def test_a_bound_that_is_a_size() -> None:
    """Use a size as a bound, like a model's Slice. The type of the cast is the inferred type."""
    text = """
      func.func @main(%x: tensor<2x9xf32>, %y: tensor<?xf32, #relax.sym<["n"]>>)
          -> tensor<?x9xf32, #relax.sym<["min(2, n)", 9]>> {
        %b = arith.constant dense<0> : tensor<2xi64>
        %s = arith.constant dense<1> : tensor<2xi64>
        %d = "relax.shape_expr"() {dims = ["n", 9223372036854775807]} : () -> !relax.shape<["n", 9223372036854775807]>
        %e = "relax.shape_to_tensor"(%d) : (!relax.shape<["n", 9223372036854775807]>) -> tensor<2xi64>
        %0 = "relax.dynamic_strided_slice"(%x, %b, %e, %s)
          : (tensor<2x9xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
        %1 = "relax.match_cast"(%0) : (tensor<?x?xf32>) -> tensor<?x9xf32, #relax.sym<["min(2, n)", 9]>>
        return %1 : tensor<?x9xf32, #relax.sym<["min(2, n)", 9]>>
      }
    """
    assert exactly(rx.Module.parse(text)) == ["relax.strided_slice"]


# ---- quantized ----


def requantized(dtype: str, scale: float, zero: int, middle: str, move: Any, other: float | None = None) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor((2, 128), dtype)]) as f:
        step, offset = relax.const(numpy.float32(scale)), relax.const(numpy.array(zero, dtype))
        y = move(relax.dequantize(*f, step, offset, out_dtype=middle))
        again = step if other is None else relax.const(numpy.float32(other))
        f.returns(relax.quantize(y, again, offset, out_dtype=dtype))
    return module


def all_of(dtype: str) -> Any:
    limits = numpy.iinfo(dtype)
    return numpy.linspace(limits.min, limits.max, 256).astype(dtype).reshape(2, 128)


@draws(30)
@given(
    st.sampled_from(["int8", "uint8", "int16", "uint16"]), st.floats(2**-9, 60, width=32), st.data(),
    st.sampled_from(["float32", "float16"]),
)  # fmt: skip
def test_dequantized_and_quantized_again(dtype: str, scale: float, data: Any, middle: str) -> None:
    limits = numpy.iinfo(dtype)
    zero = data.draw(st.sampled_from([0, int(limits.min), int(limits.max), 3]))
    module = requantized(dtype, scale, zero, middle, lambda x: x)
    after = keeps_results(module, PASS, [all_of(dtype)], tolerance=0)
    assert bool(op_names(after)) == (middle == "float16" and "16" in dtype)


def test_moved_between() -> None:
    def move(x: Any) -> Any:
        return relax.strided_slice(relax.permute_dims(relax.reshape(x, (4, 64))), axes=[0], begin=[1], end=[9])

    module = requantized("int8", 0.25, 3, "float32", move)
    after = keeps_results(module, PASS, [all_of("int8")], tolerance=0)
    assert not {"relax.quantize", "relax.dequantize"} & set(op_names(after))


@pytest.mark.parametrize("scale", [1e-38, 1e35, numpy.inf, numpy.nan, -0.5, 0.0])
def test_requantization_with_loss_stays(scale: float) -> None:
    assert len(op_names(changed(requantized("int8", scale, 0, "float32", lambda x: x), PASS))) == 2


def test_other_numbers_between() -> None:
    for move, other in ((relax.exp, None), (lambda x: x, 0.75), (relax.nn.relu, 0.75)):
        module = requantized("int8", 0.5, 0, "float32", move, other)
        assert op_names(keeps_results(module, PASS, [all_of("int8")])).count("relax.quantize") == 1

    def twice(x: Any) -> Any:
        return relax.add(relax.reshape(x, (2, 128)), x)

    assert op_names(changed(requantized("int8", 0.5, 0, "float32", twice), PASS)).count("relax.quantize") == 1


LIMITS: dict[str, Callable[[Any], Any]] = {
    "relu": relax.nn.relu,
    "relu6": lambda x: relax.clip(x, 0, 6),
    "hardtanh": lambda x: relax.clip(x, -1.0, 1.0),
    "beyond": lambda x: relax.clip(x, -1e30, 1e30),
    "infinite": lambda x: relax.clip(x, -numpy.inf, 2.3),
    "maximum": lambda x: relax.maximum(x, relax.const(numpy.float32(-1.7))),
    "minimum": lambda x: relax.minimum(relax.const(numpy.full((1, 1), 0.9, "float32")), x),
    "moved": lambda x: relax.nn.relu(relax.reshape(relax.clip(x, -3.0, 2.0), (256,))),
}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@draws(12)
@given(st.data())
def test_limited_between(dtype: str, data: Any) -> None:
    """Turn limits on reals into limits on integers, to the last bit for every byte."""
    limits = numpy.iinfo(dtype)
    zero = data.draw(st.integers(int(limits.min), int(limits.max)))
    scale = data.draw(st.sampled_from([0.023529412, 0.5, 1.0]) | st.floats(2**-12, 1e4, width=32))

    def body(x: Any) -> Any:
        step, offset = relax.const(numpy.float32(scale)), relax.const(numpy.array(zero, dtype))
        made = [limit(relax.dequantize(x, step, offset)) for limit in LIMITS.values()]
        return tuple(relax.quantize(each, step, offset, out_dtype=dtype) for each in made)

    after = keeps_results(built([(2, 128)], body, dtype), PASS, [all_of(dtype)], tolerance=0)
    assert not {"relax.quantize", "relax.dequantize", "relax.nn.relu"} & set(op_names(after))


def test_limits_that_bytes_have_anyway_go() -> None:
    for dtype, zero in (("int8", -128), ("uint8", 0)):
        assert exactly(requantized(dtype, 0.5, zero, "float32", relax.nn.relu)) == []
        assert exactly(requantized(dtype, 0.5, zero, "float16", relax.nn.relu)) == []
        limited = requantized(dtype, 0.5, zero, "float32", lambda x: relax.clip(x, 0, 50))
        assert exactly(limited)[-1:] == ["relax.minimum"]


@pytest.mark.parametrize(
    "limit",
    [
        lambda x: relax.clip(x, 1.0, -1.0),
        lambda x: relax.maximum(x, relax.const(numpy.float32(numpy.nan))),
        lambda x: relax.maximum(x, relax.const(numpy.linspace(0, 1, 128, dtype="float32"))),
        lambda x: relax.add(relax.nn.relu(x), x),
    ],
)
def test_limits_that_are_none(limit: Callable[[Any], Any]) -> None:
    module = requantized("int8", 0.5, 3, "float32", limit)
    assert op_names(changed(module, PASS)).count("relax.quantize") == 1


def test_limits_with_a_zero_point_for_each_channel() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((3, 256), "int8")]) as f:
        scale, zero = relax.const(numpy.array([0.5, 1, 2], "f4")), relax.const(numpy.array([-7, 0, 90], "i1"))
        y = relax.clip(relax.nn.relu(relax.dequantize(*f, scale, zero, axis=0)), 0, 6)
        f.returns(relax.quantize(y, scale, zero, axis=0, out_dtype="int8"))
    after = keeps_results(module, PASS, [numpy.tile(all_of("int8").reshape(1, 256), (3, 1))], tolerance=0)
    assert set(op_names(after)) == {"relax.maximum", "relax.minimum"}


def test_one_scale_for_each_channel() -> None:
    def by(axis: int, moved: bool) -> list[str]:
        module = rx.Module()
        with module.function("main", [rx.tensor((3, 3), "int8")]) as f:
            scale, zero = relax.const(numpy.array([0.5, 1, 2], "f4")), relax.const(numpy.zeros(3, "i1"))
            y = relax.dequantize(*f, scale, zero, axis=0)
            y = relax.permute_dims(y) if moved else y
            f.returns(relax.quantize(y, scale, zero, axis=axis, out_dtype="int8"))
        return op_names(keeps_results(module, PASS, tolerance=0))

    assert by(0, moved=False) == by(-2, moved=False) == []
    assert len(by(1, moved=False)) == 2
    # Moved channels belong to another axis.
    assert len(by(0, moved=True)) == 3


@pytest.mark.parametrize(
    ("shape", "axis", "begin", "end", "wanted", "is_split"),
    [
        ((3, 24), 1, 8, 16, (3, 2, 4), True),
        ((3, 24), -1, -8, 1000, (3, 2, 4), True),
        ((12, 5), 0, 4, 8, (2, 2, 5), True),
        ((2, 12, 5), 1, 0, 6, (2, 3, 2, 1, 5), True),
        (("n", 24), 1, 8, 16, ("n", 2, 4), True),
        # Not at the seams of the parts, not only this axis, joined with another one.
        ((3, 24), 1, 6, 14, (3, 2, 4), False),
        ((3, 22), 1, 8, 16, (3, 2, 4), False),
        ((4, 24), 1, 8, 16, (2, 2, 8), False),
        ((3, 24), 1, 8, 16, (24,), False),
    ],
)
def test_an_axis_is_split_before_it_is_cut(
    shape: Any, axis: int, begin: int, end: int, wanted: Any, is_split: bool
) -> None:
    left = exactly(built([shape], lambda x: relax.reshape(part(x, axis, begin, end), wanted)))
    order = [name for name in left if name in ("relax.reshape", "relax.strided_slice")]
    assert order == sorted(order, reverse=not is_split)
