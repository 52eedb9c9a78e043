# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax.const: numbers and arrays of every element type become constants that print, parse and keep their bytes."""

from __future__ import annotations

import ml_dtypes
import numpy
import pytest
from relax_mlir.dialects.core.infos import DTYPE_BY_NAME
from relax_mlir.dialects.relax.constants import array_of_attribute, elements_attribute

import relax_mlir as rx
from relax_mlir import relax

NAMES = sorted({"bool", "float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"}
               | {f"{sign}int{bits}" for sign in ("", "u") for bits in (4, 8, 16, 32, 64)})  # fmt: skip


def constant(*args: object) -> tuple[str, str]:
    """Return the type of a constant and the text of its module, after verification and a round trip."""
    module = rx.Module()
    with module.function("f") as f:
        value = relax.const(*args)
        type_ = str(value.type)
        f.returns(value)
    module.verify()
    text = str(module)
    assert str(rx.Module.parse(text)) == text == str(rx.Module.parse(module.bytecode()))
    return type_, text


@pytest.mark.parametrize("name", NAMES)
def test_every_element_type(name: str) -> None:
    type_, text = constant([[1, 0], [1, 1]], name)
    assert type_ == f"tensor<2x2x{DTYPE_BY_NAME[name]}>"
    shown = {"i": "[1, 0], [1, 1]", "u": "[1, 0], [1, 1]"}.get(DTYPE_BY_NAME[name][0])
    shown = "[true, false], [true, true]" if name == "bool" else shown
    assert shown is None or f"dense<[{shown}]>" in text
    if shown is None:
        assert "1.000000e+00, 0.000000e+00" in text


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (1.5, "tensor<f32>"),
        (3, "tensor<i64>"),
        (True, "tensor<i1>"),
        ([1.0, 2.0], "tensor<2xf32>"),
        (numpy.float64(2), "tensor<f64>"),
        (numpy.zeros((0, 3), numpy.int8), "tensor<0x3xi8>"),
        (numpy.asfortranarray(numpy.arange(6, dtype=numpy.int32).reshape(2, 3)), "tensor<2x3xi32>"),
        (numpy.ones(2, ml_dtypes.bfloat16), "tensor<2xbf16>"),
    ],
)
def test_types_without_a_dtype_are_relax_s(value: object, type_: str) -> None:
    assert constant(value)[0] == type_


def test_fortran_order_keeps_its_values() -> None:
    text = constant(numpy.asfortranarray(numpy.arange(6, dtype=numpy.int32).reshape(2, 3)))[1]
    assert "dense<[[0, 1, 2], [3, 4, 5]]>" in text


@pytest.mark.parametrize("dtype", ["float32", "uint8", "bool"])
def test_large_constants_keep_their_bytes(dtype: str) -> None:
    array = (numpy.arange(5000) % 7).astype(dtype)
    type_, text = constant(array)
    assert type_ == f"tensor<5000x{DTYPE_BY_NAME[dtype]}>"
    assert array.tobytes().hex().upper()[:64] in text.upper() or dtype == "bool"


def test_a_kilobyte_is_inline() -> None:
    assert "dense<" in constant(numpy.arange(256, dtype="int32"))[1]
    assert "dense_resource<" in constant(numpy.arange(257, dtype="int32"))[1]


@pytest.mark.parametrize(("value", "dtype"), [("a", None), (object(), None), (1.0, "flot"), (1.0, "index2")])
def test_const_refuses_invalid_values(value: object, dtype: str | None) -> None:
    module = rx.Module()
    with pytest.raises(rx.RelaxError, match=r"relax\.const"), module.function("f"):
        relax.const(value, dtype)


def strided(kind: str, dtype: object, sizes: tuple[int, int]) -> numpy.ndarray:
    """Return an array whose elements are not in order in memory."""
    rows, columns = sizes
    numbers = numpy.random.default_rng(rows).integers(0, 100, rows * columns).astype(dtype)
    return {
        "transposed": lambda: numbers.reshape(columns, rows).T,
        "reversed": lambda: numbers.reshape(rows, columns)[:, ::-1],
        "every other": lambda: numpy.repeat(numbers, 2).reshape(rows, 2 * columns)[:, ::2],
        "last first": lambda: numbers.reshape(columns, 1, rows).transpose(2, 1, 0),
        "in blocks": lambda: numbers.reshape(rows, columns // 4, 4).transpose(1, 0, 2),
        "repeated": lambda: numpy.broadcast_to(numbers[:columns], (rows, columns)),
        "repeated along the last": lambda: numpy.broadcast_to(numbers[:rows, None], (rows, columns)),
    }[kind]()


@pytest.mark.parametrize("sizes", [(513, 132), (1, 80_000), (20_000, 4), (64, 1024)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "bfloat16"])
@pytest.mark.parametrize(
    "kind", ["transposed", "reversed", "every other", "last first", "in blocks", "repeated", "repeated along the last"]
)
def test_large_arrays_with_gaps_keep_their_elements(kind: str, dtype: str, sizes: tuple[int, int]) -> None:
    """Copy arrays with gaps, which passes produce, a few columns at a time."""
    array = strided(kind, ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype, sizes)
    with rx.Module(), rx.ir.Location.unknown():
        attribute = elements_attribute(array, rx.ir.Type.parse(DTYPE_BY_NAME[dtype]))
        held = array_of_attribute(attribute, DTYPE_BY_NAME[dtype], array.shape)
    assert (held == array).all()
