# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax.matmul_nbits, compiled and run, with known weights (panels) and with weights as arguments."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax


class Weights:
    """Weights of a number of columns and steps, with the matrix that they represent in f64."""

    def __init__(self, columns: int, depth: int, bits: int, block: int, zeros: str = "", dtype: str = "float32"):
        random = numpy.random.default_rng([columns, depth, bits, block])
        blocks = -(-depth // block)
        self.bits, self.block, self.depth = bits, block, depth
        self.codes = random.integers(0, 256, (columns, blocks, block * bits // 8)).astype("uint8")
        self.scale = (0.05 * random.normal(size=(columns, blocks))).astype(dtype)
        self.zero_point = None
        if zeros == "codes":
            self.zero_point = random.integers(0, 2**bits, (columns, blocks)).astype("uint8")
        elif zeros == "floats":
            self.zero_point = (2 ** (bits - 1) + random.normal(size=(columns, blocks))).astype(dtype)
        self.bias = random.normal(size=columns).astype("float32")

    @property
    def matrix(self) -> Any:
        """Return the matrix as [depth, columns]."""
        return self._real(lambda numbers, middle: numbers - middle, self.scale)

    @property
    def magnitude(self) -> Any:
        """Return the sum of the magnitudes that are added and subtracted for each weight."""
        return self._real(lambda numbers, middle: numbers + abs(middle), abs(self.scale))

    def _real(self, combine: Any, scale: Any) -> Any:
        parts = [self.codes >> shift & (2**self.bits - 1) for shift in range(0, 8, self.bits)]
        numbers = numpy.stack(parts, -1).reshape(*self.codes.shape[:2], self.block).astype("float64")
        middle = 2 ** (self.bits - 1) if self.zero_point is None else self.zero_point[..., None].astype("float64")
        real = combine(numbers, middle) * scale[..., None].astype("float64")
        return real.reshape(len(real), -1)[:, : self.depth].T

    def held(self, has_bias: bool) -> list[Any]:
        return [self.codes, self.scale, self.zero_point, self.bias if has_bias else None]

    def expected(self, x: Any, has_bias: bool) -> Any:
        return x.astype("float64") @ self.matrix + (self.bias if has_bias else 0)


def program(weights: Weights, shape: Any, dtype: str = "float32", bias: bool = False, **options: Any) -> Any:
    """Compile the product of an input by known weights."""
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype)]) as f:
        (x,) = f
        held = [None if each is None else relax.const(each) for each in weights.held(bias)]
        f.returns(relax.matmul_nbits(x, *held, bits=weights.bits, block_size=weights.block))
    return rx.compile(module, **options)


def random(*shape: int, dtype: str = "float32") -> Any:
    return numpy.random.default_rng(shape).normal(size=shape).astype(dtype)


def check(actual: Any, weights: Weights, x: Any, bias: bool = False, tolerance: float = 1e-6) -> None:
    """Check that the error is at most that of sums in f32."""
    expected = weights.expected(x, bias)
    assert actual.shape == expected.shape
    assert actual.dtype == x.dtype
    largest = numpy.abs(x).astype("float64") @ weights.magnitude + (numpy.abs(weights.bias) if bias else 0)
    error = (numpy.abs(actual.astype("float64") - expected) / largest).max()
    assert error < tolerance, error


#: A few rows, remainders of tiles, and many rows; columns of less than a panel, of several panels, with a remainder.
ROWS = (1, 2, 3, 7, 32, 33, 47)


@pytest.mark.parametrize(
    ("bits", "block", "depth", "columns", "zeros"),
    [
        (4, 32, 64, 70, ""), (4, 16, 40, 64, "codes"), (4, 256, 300, 130, "floats"), (8, 32, 70, 5, ""),
        (8, 16, 16, 65, "codes"), (2, 16, 33, 64, "floats"), (2, 64, 100, 3, "codes"),
    ],
)  # fmt: skip
def test_all_of_them(bits: int, block: int, depth: int, columns: int, zeros: str) -> None:
    weights, bias = Weights(columns, depth, bits, block, zeros), columns % 2 == 0
    compiled = program(weights, ("m", depth), bias=bias)
    for rows in ROWS:
        x = random(rows, depth)
        check(to_numpy(compiled["main"](x)), weights, x, bias)


@draws(20)
@given(
    st.sampled_from([2, 4, 8]), st.sampled_from([16, 32, 48, 128]), st.integers(1, 200), st.integers(1, 140),
    st.integers(1, 40), st.sampled_from(["", "codes", "floats"]), st.booleans(),
)  # fmt: skip
def test_any_sizes(bits: int, block: int, depth: int, columns: int, rows: int, zeros: str, bias: bool) -> None:
    weights, x = Weights(columns, depth, bits, block, zeros), random(rows, depth)
    check(to_numpy(program(weights, x.shape, bias=bias)["main"](x)), weights, x, bias)


@pytest.mark.parametrize("shape", [(64,), (3, 64), (2, 3, 64), (0, 64)])
def test_ranks(shape: tuple[int, ...]) -> None:
    weights, x = Weights(9, 64, 4, 32), random(*shape)
    known = (*(f"n{axis}" for axis in range(len(shape) - 1)), 64)
    actual = to_numpy(program(weights, known)["main"](x))
    assert actual.shape == (*shape[:-1], 9)
    if x.size:
        check(actual, weights, x)


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_vectors_of_other_machines(vector_bytes: int) -> None:
    weights = Weights(100, 96, 4, 32, "codes")
    compiled = program(weights, ("m", 96), target=f"llvm{{vector-bytes={vector_bytes}}}")
    for rows in (1, 5, 40):
        x = random(rows, 96)
        check(to_numpy(compiled["main"](x)), weights, x)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_half_precision_of_x_or_scales(dtype: str) -> None:
    weights, x = Weights(70, 64, 4, 32, "floats", dtype="float16"), random(5, 64, dtype=dtype)
    check(
        to_numpy(program(weights, ("m", 64), dtype)["main"](x)), weights, x, tolerance=1e-3 if x.itemsize == 2 else 2e-6
    )


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_weights_of_the_call(bits: int) -> None:
    """Unpack weights that are arguments in each call."""
    weights, x = Weights(10, 40, bits, 16, "codes"), random(3, 40)
    arrays = [x, *weights.held(True)]
    module = rx.Module()
    with module.function("main", [rx.tensor(each.shape, str(each.dtype)) for each in arrays]) as f:
        f.returns(relax.matmul_nbits(*f, bits=bits, block_size=16))
    check(to_numpy(rx.compile(module)["main"](*arrays)), weights, x, True)


@pytest.mark.parametrize("rows", [1, 6, 40])
def test_any_number_of_threads_gives_the_same_bits(rows: int) -> None:
    weights, x = Weights(1000, 512, 4, 32, "codes"), random(rows, 512)
    compiled = program(weights, ("m", 512), target="llvm{cores=4}")
    found = []
    for count in (1, 2, 4):
        compiled.threads = count
        found.append(to_numpy(compiled["main"](x)).tobytes())
    assert len(set(found)) == 1
    check(numpy.frombuffer(found[0], "float32").reshape(rows, 1000), weights, x)


def test_codes_are_not_numbers_in_the_program(tmp_path: Any) -> None:
    weights = Weights(512, 1024, 4, 128)
    program(weights, ("m", 1024)).save(tmp_path / "out.rxa")
    nbytes = weights.codes.nbytes + weights.scale.nbytes
    assert nbytes < (tmp_path / "out.rxa").stat().st_size < 1.2 * nbytes + 60_000


@pytest.mark.parametrize("cpu", ["haswell", "x86-64", "triple=aarch64-linux-gnu", "triple=riscv64-linux-gnu"])
def test_code_for_other_machines(cpu: str) -> None:
    """Make code of the same loops with another machine's vectors."""
    pytest.importorskip("llvmlite", reason="what makes code for other CPUs is not installed")
    option = cpu if "=" in cpu else f"cpu={cpu}"
    module = rx.Module()
    weights = Weights(70, 64, 4, 32)
    with module.function("main", [rx.tensor(("m", 64))]) as f:
        held = [relax.const(each) for each in (weights.codes, weights.scale)]
        f.returns(relax.matmul_nbits(*f, *held))
    text = str(rx.lower(module, f"llvm{{{option}}}", pipeline=rx.stages(f"llvm{{{option}}}").until("legalize")))
    lanes = {"cpu=haswell": 8, "cpu=x86-64": 4}.get(option, 4 if "aarch64" in cpu else 2)
    assert f"vector<{lanes}xf32>" in text


def test_the_derivative_by_x_is_the_matrix() -> None:
    weights, x, factors = Weights(10, 40, 4, 16, "codes"), random(3, 40), random(3, 10)
    module = rx.Module()
    with module.function("main", [rx.tensor((3, 40)), rx.tensor((3, 10))]) as f:
        given, by = f
        held = [None if each is None else relax.const(each) for each in weights.held(True)]
        product = relax.matmul_nbits(given, *held, bits=4, block_size=16)
        f.returns(relax.sum(relax.multiply(product, by)))
    found = to_numpy(rx.compile(rx.grad(module, wrt=["arg0"]))["main_adjoint"](x, factors)[1])
    numpy.testing.assert_allclose(found, factors @ weights.matrix.T, rtol=1e-4, atol=1e-5)
