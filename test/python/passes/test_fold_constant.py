# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-fold-constant: what it computes is what the compiled program would, to the last bit, and no call does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.passes.canonicalize.folding import Evaluator
from relax_mlir.passes.relax_fold_constant import FoldConstant
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax

INTEGERS = ("int8", "uint8", "int16", "uint16")


def built(*arrays: Any, op: str, **attributes: Any) -> rx.Module:
    """A function without parameters: an operator on constants."""
    module = rx.Module()
    with module.function("main", []) as f:
        f.returns(rx.find_op(op)(*(relax.const(array) for array in arrays), **attributes))
    return module


def names(module: rx.Module) -> list[str]:
    body = module.body.operations[0].regions[0].blocks[0]
    return [op.operation.name for op in body.operations]


def check_bits(*arrays: Any, op: str, dtype: str, **attributes: Any) -> None:
    """The operator on constants, which is folded, beside itself on arguments."""
    module = rx.Module()
    with module.function("main", [rx.tensor(array.shape, array.dtype.name) for array in arrays]) as f:
        make = rx.find_op(op)
        f.returns(make(*map(relax.const, arrays), **attributes), make(*f, **attributes))
    folded, computed = (to_numpy(each, dtype) for each in rx.compile(module)["main"](*arrays))
    assert folded.dtype == computed.dtype and folded.shape == computed.shape
    assert folded.tobytes() == computed.tobytes()
    FoldConstant()(module)
    assert names(module).count(op) == 1


def any_integers(draw: Any, dtype: str, *shape: int) -> Any:
    seed = draw(st.integers(0, 1000))
    limits = numpy.iinfo(dtype)
    return numpy.random.default_rng(seed).integers(limits.min, limits.max, shape, dtype, endpoint=True)


@st.composite
def quantized(draw: Any) -> tuple[list[Any], int]:
    """Data, scale and zero point: the latter two one each, or one for each slice along an axis."""
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 7]), min_size=1, max_size=3)))
    axis = draw(st.integers(0, len(shape) - 1))
    slices = draw(st.sampled_from([(), (shape[axis],)]))
    dtype = draw(st.sampled_from(INTEGERS))
    scale = numpy.random.default_rng(draw(st.integers(0, 9))).uniform(1e-3, 2, slices)
    scale = numpy.asarray(scale, draw(st.sampled_from(["float32", "float16"])))
    return [any_integers(draw, dtype, *shape), scale, any_integers(draw, dtype, *slices)], axis


@draws(12)
@given(quantized(), st.sampled_from(["float32", "float16"]))
def test_dequantized_to_the_last_bit(case: Any, target: str) -> None:
    arrays, axis = case
    check_bits(*arrays, op="relax.dequantize", dtype=target, axis=axis, out_dtype=target)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("source", ["float32", "float16"])
def test_quantized_to_the_last_bit(source: str, dtype: str) -> None:
    special = [0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 6e4, -6e4, 1e-7]
    data = numpy.concatenate([special, numpy.arange(-20, 20) + 0.5, numpy.random.default_rng(0).normal(size=16) * 300])
    limits = numpy.iinfo(dtype)
    scale = numpy.array([0.5, 3.0], "float32")
    zero_point = numpy.array([limits.max // 2, limits.min], dtype)
    pairs = data.astype(source).reshape(-1, 2)
    check_bits(pairs, scale, zero_point, op="relax.quantize", dtype=dtype, axis=1, out_dtype=dtype)


def test_a_large_weight_is_neither_text_nor_computed_in_a_call() -> None:
    weight = numpy.random.default_rng(0).integers(-128, 128, (300, 200), "int8")
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 300))]) as f:
        scale = relax.const(numpy.full(200, 0.5, "f4"))
        dense = relax.dequantize(relax.const(weight), scale, relax.const(numpy.zeros(200, "i1")), axis=1)
        f.returns(relax.matmul(*f, relax.permute_dims(relax.permute_dims(dense))))
    program = rx.compile(module)
    x = numpy.random.default_rng(1).normal(size=(2, 300)).astype("f4")
    expected = x @ (weight.astype("f4") * numpy.float32(0.5))
    numpy.testing.assert_allclose(numpy.from_dlpack(program["main"](x)), expected, rtol=1e-4, atol=1e-3)
    FoldConstant()(module)
    assert names(module) == ["arith.constant", "relax.matmul", "func.return"]
    assert len(module.body.operations[0].get_asm(large_resource_limit=10)) < 1000


def test_constants_without_users_are_not_in_the_program(tmp_path: Path) -> None:
    """A convolution's weight is laid out anew where padding is wide: the old one is nobody's."""
    weight = numpy.random.default_rng(0).normal(size=(64, 64, 3, 3)).astype("f4")
    module = rx.Module()
    with module.function("main", [rx.tensor((1, 64, 4, 6))]) as f:
        f.returns(relax.nn.conv2d(*f, relax.const(weight), padding=9, dilation=9))
    rx.compile(module).save(tmp_path / "program.rxa")
    assert weight.nbytes < (tmp_path / "program.rxa").stat().st_size < weight.nbytes * 1.5


def test_growth_is_limited_in_all() -> None:
    eighth = numpy.ones((256, 512), "int8")
    module = rx.Module()
    with module.function("main", []) as f:
        scale, zero = relax.const(0.5), relax.const(0, "int8")
        f.returns(*(relax.dequantize(relax.const(eighth), scale, zero) for _ in range(4)))
    # Each takes 3/8 of a MiB more.
    FoldConstant(most_growth=1)(module)
    assert names(module).count("relax.dequantize") == 2


def test_who_knows_more_is_handed_in() -> None:
    """What stands in the program is what the evaluator says, and it is asked for its operators only."""
    asked = []

    def compute(op: Any, *arrays: Any) -> Any:
        asked.append(op.operation.name)
        return numpy.exp(arrays[0]) if arrays[0].size == 3 else None

    evaluator = Evaluator(("relax.exp",), compute)
    for size, left in ((3, []), (2, ["relax.exp"])):
        module = built(numpy.arange(size, dtype="f4"), op="relax.exp")
        FoldConstant(evaluator=evaluator)(module)
        assert [name for name in names(module) if name.startswith("relax.")] == left
    module = built(numpy.ones(3, "f4"), numpy.ones(3, "f4"), op="relax.add")
    FoldConstant(evaluator=evaluator)(module)
    assert "relax.add" in names(module) and set(asked) == {"relax.exp"}
