# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices of GGUF files as operands of relax.matmul_nbits, against `gguf.dequantize`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax, runtime
from relax_mlir_llm.gguf_weights import Matrix, is_quantized, nbits_operands

CODED = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL", "IQ4_XS", "MXFP4", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K")
FLOATS = ("F32", "F16", "BF16")
COLUMNS, DEPTH = 21, 512
#: Bytes of the f16 numbers in a block.
_HALVES = {
    **{"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "IQ4_NL": [0], "IQ4_XS": [0]},
    **{"Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "F16": [0]},
}


def tensor(name: str, columns: int = COLUMNS, depth: int = DEPTH) -> Any:
    """Return random bytes of a tensor, with finite numbers."""
    random = numpy.random.default_rng([len(name), columns, depth])
    block, nbytes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    count = columns * depth // block
    if name in ("F32", "BF16"):
        floats = random.normal(size=count).astype("float32")
        return gguf.quantize(floats, gguf.GGMLQuantizationType.BF16) if name == "BF16" else floats.view("uint8")
    blocks = random.integers(0, 256, (count, nbytes)).astype("uint8")
    if name == "MXFP4":
        blocks[:, 0] = random.integers(1, 140, count)
    for at in _HALVES.get(name, ()):
        blocks[:, at : at + 2] = (0.01 * random.normal(size=(count, 1))).astype("float16").view("uint8")
    return blocks.reshape(-1)


def dequantized(name: str, data: Any, columns: int = COLUMNS) -> Any:
    whole = gguf.dequantize(data.view("uint8").reshape(columns, -1), gguf.GGMLQuantizationType[name])
    return whole.reshape(columns, -1)


def units_times(operands: Any, columns: int = COLUMNS, depth: int = DEPTH, *, is_known: bool = True) -> list[Any]:
    """Return products of all unit vectors, and of one: the weights, transposed. Weights are constants or arguments."""
    arrays = {name: value for name, value in operands.items() if not isinstance(value, int)}
    attributes = {name: value for name, value in operands.items() if isinstance(value, int)}
    module = rx.Module()
    infos = [] if is_known else [rx.tensor(each.shape, str(each.dtype)) for each in arrays.values()]
    with module.function("main", [rx.tensor(("n", depth)), *infos]) as f:
        x, *given = f
        values = given or [relax.const(each) for each in arrays.values()]
        f.returns(relax.matmul_nbits(x, **dict(zip(arrays, values, strict=True)), **attributes))
    compiled, units = rx.compile(module), numpy.eye(depth, dtype="float32")
    arguments = [] if is_known else list(arrays.values())
    return [runtime.to_numpy(compiled["main"](rows, *arguments)) for rows in (units, units[7:8])]


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "arguments"])
@pytest.mark.parametrize("name", CODED)
def test_every_weight_is_exact(name: str, is_known: bool) -> None:
    data = tensor(name)
    expected = dequantized(name, data)
    assert numpy.isfinite(expected).all() and (expected != 0).any(axis=1).all()
    many, one = units_times(nbits_operands(name, data, COLUMNS, DEPTH), is_known=is_known)
    numpy.testing.assert_array_equal(many, expected.T)
    numpy.testing.assert_array_equal(one, expected.T[7:8])


@pytest.mark.parametrize("name", [*CODED, *FLOATS])
def test_rows_of_a_tied_matrix(name: str) -> None:
    """Read rows, and multiply them by the matrix: the program contains the codes once."""
    data = tensor(name)
    operands = nbits_operands(name, data, COLUMNS, DEPTH)
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",), "int32")]) as f:
        (indices,) = f
        matrix = Matrix(operands)
        rows = matrix.rows(indices)
        f.returns(rows, matrix.product(rows))
    compiled, expected, places = rx.compile(module), dequantized(name, data), numpy.array([3, 20, 0, -1], "int32")
    for some in (places, places[:1]):
        found, products = map(runtime.to_numpy, compiled["main"](some))
        numpy.testing.assert_array_equal(found, expected[some])
        wanted = expected[some].astype("float64") @ expected.T.astype("float64")
        numpy.testing.assert_allclose(products, wanted, atol=1e-5 * numpy.abs(wanted).max())
    with pytest.raises(IndexError, match="index 21 is out of range for axis 0 of size 21"):
        compiled["main"](numpy.array([21], "int32"))


@pytest.mark.parametrize("name", CODED)
def test_a_tied_matrix_is_in_the_program_once(name: str, tmp_path: Path) -> None:
    columns = 1024
    operands = nbits_operands(name, tensor(name, columns), columns, DEPTH)
    nbytes = sum(each.nbytes for each in operands.values() if not isinstance(each, int))
    module = rx.Module()
    for function in ("prefill", "decode"):
        with module.function(function, [rx.tensor(("n",), "int32")]) as f:
            (indices,) = f
            matrix = Matrix(operands)
            f.returns(matrix.product(matrix.rows(indices)))
    rx.compile(module).save(tmp_path / "tied.rxa")
    assert nbytes < (tmp_path / "tied.rxa").stat().st_size < 1.2 * nbytes + 100_000


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name: str) -> None:
    data = tensor(name)
    operands = nbits_operands(name, data, COLUMNS, DEPTH)
    assert list(operands) == ["weights"] and not is_quantized(name)
    weights: Any = operands["weights"]
    assert weights.nbytes == data.nbytes
    numpy.testing.assert_array_equal(weights.astype("float32"), dequantized(name, data))


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *(("Q4_0", 4.5), ("Q4_1", 5), ("Q8_0", 8.5), ("Q4_K", 4.625), ("Q6_K", 6.5625)),
        # These types have more bits than in the file, for there are no codes of 3 and 5 bits, or of other numbers.
        *(("Q5_0", 6.5), ("Q5_1", 7), ("IQ4_NL", 8.5), ("IQ4_XS", 8.3125), ("Q2_K", 3.125), ("Q3_K", 4.5625)),
        ("MXFP4", 7),
        ("Q5_K", 6.625),
    ],
)
def test_bits_per_weight(name: str, most: float) -> None:
    operands: Any = nbits_operands(name, tensor(name), COLUMNS, DEPTH)
    nbytes = sum(each.nbytes for each in operands.values() if not isinstance(each, int))
    assert is_quantized(name)
    assert 8 * nbytes / (COLUMNS * DEPTH) == most


def test_refusals() -> None:
    data = tensor("Q4_1")
    with pytest.raises(rx.RelaxError, match=r"GGUF type IQ2_XXS are not supported, only F32, .*Q6_K.*llama-quantize"):
        nbits_operands("IQ2_XXS", data, COLUMNS, DEPTH)
    with pytest.raises(rx.RelaxError, match=r"Q4_K tensor of 21 rows of 544 numbers: .* whole blocks of 256"):
        nbits_operands("Q4_K", data, COLUMNS, 544)
    with pytest.raises(rx.RelaxError, match=r"has 6720 bytes, got 6719. Is the file truncated\?"):
        nbits_operands("Q4_1", data[:-1], COLUMNS, DEPTH)
