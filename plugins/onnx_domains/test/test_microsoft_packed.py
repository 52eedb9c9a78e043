# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of few bits, against onnxruntime. They stay packed in the compiled program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import onnx
import pytest
import relax_mlir as rx
from against_onnxruntime import Compared, one_node
from compiling import array
from fixed_inputs import with_constants

_DOMAIN = "com.microsoft"
_RANDOM = numpy.random.default_rng(5)


def _floats(*shape: int, dtype: Any = "float32") -> Any:
    return _RANDOM.normal(size=shape).astype(dtype)


def _bytes(*shape: int) -> Any:
    return _RANDOM.integers(0, 256, shape).astype("uint8")


def _product(
    bits: int,
    block: int,
    columns: int,
    depth: int,
    zeros: str = "",
    bias: bool = False,
    dtype: str = "float32",
    **more: Any,
) -> Any:
    """Return a model of one product. `zeros` are packed, floats or none."""
    blocks = -(-depth // block)
    held: dict[str, Any] = {
        "b": _bytes(columns, blocks, block * bits // 8),
        "scale": (0.05 * _floats(columns, blocks)).astype(dtype),
        "zero": None,
        "index": more.pop("index", None),
        "bias": _floats(columns, dtype=dtype) if bias else None,
    }
    if zeros == "packed":
        held["zero"] = _bytes(columns, -(-blocks * bits // 8))
    elif zeros == "floats":
        held["zero"] = (_floats(columns, blocks) + 2 ** (bits - 1)).astype(dtype)
    node = one_node(
        "MatMulNBits", {"x": _floats(2, 3, depth, dtype=dtype), **held}, domain=_DOMAIN, bits=bits, block_size=block,
        N=columns, K=depth, **more,
    )  # fmt: skip
    return with_constants(node, {name: value for name, value in held.items() if value is not None})


@pytest.mark.parametrize("zeros", ["", "packed", "floats"])
@pytest.mark.parametrize("bits, block, depth", [(4, 32, 64), (4, 16, 40), (8, 32, 64), (2, 16, 48), (2, 64, 100)])
def test_products(bits: int, block: int, depth: int, zeros: str) -> None:
    model = _product(bits, block, 12, depth, zeros)
    if bits == 8 and zeros == "floats":
        _check_with_numpy(model, bits, block, depth)  # onnxruntime has no kernel for these
        return
    compared = Compared(model, {"x": (None, "m", depth)}, atol=1e-3)
    compared(_floats(2, 3, depth))
    compared(_floats(1, 1, depth))


def _codes(packed: Any, bits: int) -> Any:
    """Return a row of codes for each row of bytes."""
    parts = [packed >> shift & (2**bits - 1) for shift in range(0, 8, bits)]
    return numpy.stack(parts, -1).reshape(len(packed), -1).astype("float32")


def _check_with_numpy(model: Any, bits: int, block: int, depth: int) -> None:
    held = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    zero = held["zero"]
    zeros = _codes(zero, bits) if zero.dtype == numpy.uint8 else zero
    group = held.get("index", numpy.arange(depth) // block)
    weights = (_codes(held["b"], bits)[:, :depth] - zeros[:, group]) * held["scale"][:, group]
    x = _floats(2, 3, depth)
    result = array(rx.compile(rx.from_onnx(model, shapes={"x": (None, None, depth)}))["main"](x))
    numpy.testing.assert_allclose(result, x @ weights.T, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("level, atol", [(0, 1e-3), (1, 1e-3), (4, 0.2)])
def test_a_bias_and_the_accuracy(level: int, atol: float) -> None:
    """Set the accuracy level, which permits onnxruntime to be less accurate."""
    model = _product(4, 32, 8, 64, "packed", bias=True, accuracy_level=level)
    Compared(model, {"x": (None, None, 64)}, atol=atol)(_floats(2, 5, 64))


@pytest.mark.parametrize("zeros", ["", "floats", "packed"])
def test_groups_in_any_order(zeros: str) -> None:
    index = _RANDOM.permutation(numpy.arange(64, dtype="int32") // 32)
    model = _product(4, 32, 8, 64, zeros, index=index)
    if zeros == "packed":
        _check_with_numpy(model, 4, 32, 64)  # for both together onnxruntime gives something else
    else:
        Compared(model, {"x": (None, None, 64)}, atol=1e-3)(_floats(1, 4, 64))


def test_half_precision() -> None:
    model = _product(4, 32, 8, 64, "packed", dtype="float16")
    Compared(model, {"x": (None, None, 64)}, rtol=1e-2, atol=3e-2)(_floats(2, 3, 64, dtype="float16"))


def test_scales_and_zero_points_with_one_dimension() -> None:
    """Use the shapes of older exporters."""
    model = _product(4, 32, 8, 96, "packed")
    for held in model.graph.initializer:
        if held.name in ("scale", "zero"):
            size = numpy.prod(held.dims)
            del held.dims[:]
            held.dims.append(int(size))
    Compared(model, {"x": (None, None, 96)}, atol=1e-3)(_floats(2, 3, 96))


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_weights_stay_packed(tmp_path: Path, bits: int) -> None:
    model = _product(bits, 128, 512, 1024, "packed")
    rx.compile(rx.from_onnx(model, shapes={"x": (None, None, 1024)})).save(tmp_path / "out.rxa")
    weights = 512 * 1024 * bits // 8 + 512 * 8 * 4
    assert weights < (tmp_path / "out.rxa").stat().st_size < 1.2 * weights + 60_000


@pytest.mark.parametrize(
    "change, expected",
    [
        ({"bits": 3}, "must be one of 2, 4, 8, got 3"),
        ({"block_size": 24}, "must be a power of two from 16 on, got 24"),
        ({"block_size": 8}, "got 8"),
        ({"N": 0}, "must be 1 or more"),
        ({"K": 65}, "input #1 has the shape"),
        ({"weight_prepacked": 1}, "export with 0"),
    ],
)
def test_unsupported_packing_attributes_are_refused(change: dict[str, int], expected: str) -> None:
    model = _product(4, 32, 8, 64, weight_prepacked=0)
    for attribute in model.graph.node[0].attribute:
        attribute.i = change.get(attribute.name, attribute.i)
    with pytest.raises(rx.RelaxError, match=expected):
        rx.from_onnx(model)


# ---- gathered ----


def _table(data: Any, scale: Any, zero: Any, indices: Any, **attributes: Any) -> Any:
    inputs = {"data": data, "i": indices, "scale": scale, "zero": zero}
    model = one_node("GatherBlockQuantized", inputs, domain=_DOMAIN, **attributes)
    return with_constants(model, {name: inputs[name] for name in ("data", "scale", "zero") if inputs[name] is not None})


@pytest.mark.parametrize("has_zeros", [False, True])
@pytest.mark.parametrize("bits, block, width", [(4, 32, 64), (8, 16, 48), (4, 16, 40), (2, 32, 64)])
def test_rows_of_bytes(bits: int, block: int, width: int, has_zeros: bool) -> None:
    blocks = -(-width // block)
    zero = _bytes(10, -(-blocks * bits // 8)) if has_zeros else None
    indices = numpy.array([[0, 9, -1], [3, 3, 5]], "int64")
    model = _table(
        _bytes(10, width * bits // 8), _floats(10, blocks), zero, indices,
        bits=bits, block_size=block, gather_axis=0, quantize_axis=1,
    )  # fmt: skip
    compared = Compared(model)
    compared(indices)
    compared(numpy.array([[7]], "int64"))


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize("gather, quantize", [(0, 1), (1, 0), (0, 2), (2, 1)])
def test_codes_of_four_bits(dtype: str, gather: int, quantize: int) -> None:
    kind = getattr(ml_dtypes, dtype)
    shape = [6, 6, 6]
    shape[quantize] = 40
    blocks = [*shape]
    blocks[quantize] = 3
    data, zero = (_RANDOM.integers(0, 8, each).astype("int8").astype(kind) for each in (shape, blocks))
    indices = numpy.array([[5, 0], [-6, 2]], "int32")
    model = _table(data, _floats(*blocks), zero, indices, block_size=16, gather_axis=gather, quantize_axis=quantize)
    model.ir_version = 11
    Compared(model)(indices)


def test_the_axes_must_differ() -> None:
    model = _table(_bytes(4, 32), _floats(4, 1), None, numpy.array([1], "int64"), block_size=32, quantize_axis=0)
    with pytest.raises(rx.RelaxError, match="another axis"):
        rx.from_onnx(model)


def test_a_product_with_a_fixed_answer() -> None:
    """Multiply by codes 0 to 15 in order, the first of two in the lower half of a byte."""
    codes = numpy.arange(16, dtype="uint8")
    packed = (codes[0::2] | codes[1::2] << 4).reshape(1, 1, 8)
    inputs = {"x": numpy.eye(16, dtype="float32"), "b": packed, "scale": numpy.full((1, 1), 0.5, "float32")}
    model = one_node("MatMulNBits", inputs, domain=_DOMAIN, symbolic=False, bits=4, block_size=16, N=1, K=16)
    result = array(rx.compile(rx.from_onnx(model))["main"](*inputs.values()))
    numpy.testing.assert_array_equal(result[:, 0], (codes.astype("float32") - 8) / 2)


# ---- MatMulBnb4 ----


def _bnb4(kind: int, columns: int, depth: int, block: int, is_constant: bool, **more: int) -> tuple[Any, list[Any]]:
    """Return a model of a product with bitsandbytes' codes, and its data."""
    count = columns * depth
    held = {"b": _bytes((count + 1) // 2), "scale": abs(_floats(-(-count // block)))}
    x = _floats(2, 3, depth)
    model = one_node(
        "MatMulBnb4", {"x": x, **held}, domain=_DOMAIN, symbolic=is_constant, N=columns, K=depth, block_size=block,
        quant_type=kind, **more,
    )  # fmt: skip
    return (with_constants(model, held), [x]) if is_constant else (model, [x, *held.values()])


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize(("columns", "depth", "block"), [(8, 16, 16), (5, 24, 32), (3, 7, 16)])
def test_codes_of_bitsandbytes(kind: int, columns: int, depth: int, block: int) -> None:
    """Continue blocks in the next row. For an odd number of codes half of the last byte is unused."""
    for is_constant in (True, False):
        model, given = _bnb4(kind, columns, depth, block, is_constant)
        Compared(model)(*given)


def test_codes_of_bitsandbytes_that_are_not_known() -> None:
    with pytest.raises(rx.RelaxError, match=r"must be 0 \(FP4\) or 1 \(NF4\), got 2"):
        rx.from_onnx(_bnb4(2, 8, 16, 16, True)[0])
    with pytest.raises(rx.RelaxError, match="weights that are not transposed are for training"):
        rx.from_onnx(_bnb4(1, 8, 16, 16, True, transB=0)[0])
