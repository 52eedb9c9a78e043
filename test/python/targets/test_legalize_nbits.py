# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax.matmul_nbits, compiled and run, with known weights (panels) and with weights as arguments."""

from __future__ import annotations

import re
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
    """Weights of a number of columns and steps, with the matrix that they represent in f64.

    zeros: "codes", "floats", "offset", or "" for the default. parts: factors of integer scales and offsets, or 0.
    """

    def __init__(
        self, columns: int, depth: int, bits: int, block: int, zeros: str = "", dtype: str = "float32", parts: int = 0
    ):
        random = numpy.random.default_rng([columns, depth, bits, block])
        blocks = -(-depth // block)
        shape, outer = (columns, blocks), (columns, parts)
        self.bits, self.block, self.depth = bits, block, depth
        self.operands = {
            "codes": random.integers(0, 256, (columns, blocks, block * bits // 8)).astype("uint8"),
            "scale": (0.05 * random.normal(size=shape)).astype(dtype),
        }
        if zeros == "codes":
            self.operands["zero_point"] = random.integers(0, 2**bits, shape).astype("uint8")
        elif zeros == "floats":
            self.operands["zero_point"] = (2 ** (bits - 1) + random.normal(size=shape)).astype(dtype)
        elif zeros == "offset":
            self.operands["offset"] = random.normal(size=shape).astype(dtype)
        if parts:
            self.operands["scale"] = random.integers(-32, 32, shape).astype("int8")
            self.operands["outer_scale"] = (0.002 * random.normal(size=outer)).astype(dtype)
        if parts and zeros == "offset":
            self.operands["offset"] = random.integers(0, 64, shape).astype("uint8")
            self.operands["outer_offset"] = (0.05 * random.normal(size=outer)).astype(dtype)
        self.bias = random.normal(size=columns).astype("float32")

    @property
    def matrix(self) -> Any:
        """Return the matrix as [depth, columns]."""
        codes, scale, offset = self._numbers()
        return self._by_columns(codes * scale + offset)

    @property
    def magnitude(self) -> Any:
        """Return the sum of the magnitudes that are added and subtracted for each weight."""
        codes, scale, offset = self._numbers()
        return self._by_columns(abs(codes * scale) + abs(offset))

    def _numbers(self) -> tuple[Any, Any, Any]:
        """Return codes, scales and offsets as f64 [columns, blocks, codes]."""
        scale = self._of_blocks("scale")
        if "offset" in self.operands:
            offset = self._of_blocks("offset")
        else:
            middle = numpy.full(scale.shape, 2.0 ** (self.bits - 1))
            offset = -scale * (self._of_blocks("zero_point") if "zero_point" in self.operands else middle)
        return _codes(self.operands["codes"], self.bits, self.block), scale, offset

    def _of_blocks(self, name: str) -> Any:
        outer = self.operands.get(f"outer_{name}", numpy.ones((1, 1))).astype("float64")
        numbers = self.operands[name].astype("float64")
        return (numbers * outer.repeat(numbers.shape[1] // outer.shape[1], 1))[..., None]

    def _by_columns(self, numbers: Any) -> Any:
        return numbers.reshape(len(numbers), -1)[:, : self.depth].T

    def held(self, has_bias: bool) -> dict[str, Any]:
        return self.operands | ({"bias": self.bias} if has_bias else {})

    def expected(self, x: Any, has_bias: bool) -> Any:
        return x.astype("float64") @ self.matrix + (self.bias if has_bias else 0)


def _codes(packed: Any, bits: int, block: int) -> Any:
    if bits == 6:
        return _codes(packed[..., : block // 2], 4, block) + 16 * _codes(packed[..., block // 2 :], 2, block)
    parts = [packed >> shift & (2**bits - 1) for shift in range(0, 8, bits)]
    return numpy.stack(parts, -1).reshape(*packed.shape[:2], block).astype("float64")


def product(weights: Weights, shape: Any, dtype: str = "float32", bias: bool = False, activation_bits: int = 0) -> Any:
    """Return the product of an input by known weights."""
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype)]) as f:
        (x,) = f
        held = {name: relax.const(each) for name, each in weights.held(bias).items()}
        how = {"bits": weights.bits, "block_size": weights.block, "activation_bits": activation_bits}
        f.returns(relax.matmul_nbits(x, **held, **how))
    return module


def program(weights: Weights, shape: Any, dtype: str = "float32", bias: bool = False, **options: Any) -> Any:
    """Compile the product of an input by known weights."""
    return rx.compile(product(weights, shape, dtype, bias), **options)


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


#: A few rows, remainders of tiles, and rows that are multiplied in several passes.
ROWS = (1, 2, 3, 7, 8, 9, 47, 130)


_KINDS = [
    (4, 32, 64, 70, "", 0), (4, 16, 40, 64, "codes", 0), (4, 256, 300, 130, "floats", 0), (8, 32, 70, 5, "", 0),
    (8, 16, 16, 65, "codes", 0), (2, 16, 33, 64, "floats", 0), (2, 64, 100, 3, "codes", 0),
    (6, 16, 64, 70, "", 2), (6, 48, 100, 33, "offset", 0), (4, 32, 256, 70, "offset", 2),
    (4, 32, 96, 130, "offset", 0), (8, 32, 96, 9, "offset", 3),
]  # fmt: skip


@pytest.mark.parametrize(("bits", "block", "depth", "columns", "zeros", "parts"), _KINDS)
def test_products_do_not_depend_on_the_batch(
    bits: int, block: int, depth: int, columns: int, zeros: str, parts: int
) -> None:
    """Multiply some rows at once. Each row has the same bits as in a call with one row."""
    weights, bias = Weights(columns, depth, bits, block, zeros, parts=parts), columns % 2 == 0
    compiled = program(weights, ("m", depth), bias=bias)
    single = [to_numpy(compiled["main"](row)) for row in random(ROWS[-1], depth)[:, None]]
    for rows in ROWS:
        x = random(ROWS[-1], depth)[:rows]
        found = to_numpy(compiled["main"](x))
        check(found, weights, x, bias)
        numpy.testing.assert_array_equal(found, numpy.concatenate(single[:rows]))


@draws(20)
@given(
    st.sampled_from([2, 4, 6, 8]), st.sampled_from([16, 32, 48, 128]), st.integers(1, 200), st.integers(1, 140),
    st.integers(1, 40), st.sampled_from(["", "codes", "floats", "offset"]), st.booleans(),
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


@pytest.mark.parametrize(
    ("bits", "zeros", "parts"), [(2, "codes", 0), (4, "codes", 0), (8, "codes", 0), (6, "", 3), (4, "offset", 3)]
)
def test_weights_of_the_call(bits: int, zeros: str, parts: int) -> None:
    """Unpack weights that are arguments in each call."""
    weights, x = Weights(10, 40, bits, 16, zeros, parts=parts), random(3, 40)
    held = weights.held(True)
    arrays = [x, *held.values()]
    module = rx.Module()
    with module.function("main", [rx.tensor(each.shape, str(each.dtype)) for each in arrays]) as f:
        given, *values = f
        f.returns(relax.matmul_nbits(given, **dict(zip(held, values, strict=True)), bits=bits, block_size=16))
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
    nbytes = sum(each.nbytes for each in weights.operands.values())
    assert nbytes < (tmp_path / "out.rxa").stat().st_size < 1.2 * nbytes + 60_000


@pytest.mark.parametrize("cpu", ["haswell", "x86-64", "triple=aarch64-linux-gnu", "triple=riscv64-linux-gnu"])
def test_code_for_other_machines(cpu: str) -> None:
    """Make code of the same loops with another machine's vectors."""
    pytest.importorskip("llvmlite", reason="llvmlite, which compiles for other CPUs, is not installed")
    option = cpu if "=" in cpu else f"cpu={cpu}"
    module = rx.Module()
    weights = Weights(70, 64, 4, 32)
    with module.function("main", [rx.tensor(("m", 64))]) as f:
        f.returns(relax.matmul_nbits(*f, *map(relax.const, weights.operands.values())))
    text = str(rx.lower(module, f"llvm{{{option}}}", pipeline=rx.stages(f"llvm{{{option}}}").until("legalize")))
    lanes = {"cpu=haswell": 8, "cpu=x86-64": 4}.get(option, 4 if "aarch64" in cpu else 2)
    assert f"vector<{lanes}xf32>" in text


def test_the_derivative_by_x_is_the_matrix() -> None:
    weights, x, factors = Weights(10, 40, 4, 16, "codes"), random(3, 40), random(3, 10)
    module = rx.Module()
    with module.function("main", [rx.tensor((3, 40)), rx.tensor((3, 10))]) as f:
        given, by = f
        held = {name: relax.const(each) for name, each in weights.held(True).items()}
        product = relax.matmul_nbits(given, **held, bits=4, block_size=16)
        f.returns(relax.sum(relax.multiply(product, by)))
    found = to_numpy(rx.compile(rx.grad(module, wrt=["arg0"]))["main_adjoint"](x, factors)[1])
    numpy.testing.assert_allclose(found, factors @ weights.matrix.T, rtol=1e-4, atol=1e-5)


# ---- rows that are rounded to 8 bits ----


def check_rounded(weights: Weights, rows: Any, bias: bool, target: str, dtype: str = "float32") -> None:
    """Check that results have the bits of the reference."""
    module = product(weights, ("m", weights.depth), dtype, bias, 8)
    compiled, expected = rx.compile(module, target), rx.reference(module)["main"]
    for count in rows:
        x = random(count, weights.depth, dtype=dtype)
        numpy.testing.assert_array_equal(to_numpy(compiled["main"](x)), expected(x))


@pytest.mark.parametrize(("bits", "block", "depth", "columns", "zeros", "parts"), _KINDS)
def test_rounded_rows(bits: int, block: int, depth: int, columns: int, zeros: str, parts: int) -> None:
    weights = Weights(columns, depth, bits, block, zeros, parts=parts)
    check_rounded(weights, ROWS, columns % 2 == 0, "llvm")


@pytest.mark.parametrize("target", ["llvm{cpu=haswell}", "llvm{vector-bytes=32}", "llvm{vector-bytes=16}"])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_rounded_rows_with_other_instructions(target: str, bits: int) -> None:
    check_rounded(Weights(70, 96, bits, 32, "codes"), (1, 5, 40), True, target)


@pytest.mark.parametrize("target", ["llvm", "llvm{cpu=haswell}"])
def test_extremes_of_rounded_rows(target: str) -> None:
    """Sums of the largest digits and codes are exact. Blocks of zeros and tiny numbers have a scale."""
    weights = Weights(20, 1024, 8, 512)
    weights.operands["codes"][:10] = 255
    x = random(12, 1024)
    x[0], x[1], x[2], x[3, :512] = 5, 0, 1e-42, 0
    x[4, 7], x[5, 600], x[6] = numpy.inf, numpy.nan, 3e38
    module = product(weights, ("m", 1024), activation_bits=8)
    compiled, expected = rx.compile(module, target), rx.reference(module)["main"]
    for count in (7, 12):
        found = to_numpy(compiled["main"](x[:count]))
        numpy.testing.assert_array_equal(found, expected(x[:count]))
        assert numpy.isnan(found[4:6]).all()


def test_rounded_rows_of_half_precision() -> None:
    check_rounded(Weights(70, 64, 4, 32, "floats", dtype="float16"), (1, 9), False, "llvm", "float16")


@pytest.mark.parametrize("rows", [1, 40])
def test_threads_do_not_change_rounded_rows(rows: int) -> None:
    weights, x = Weights(1000, 512, 4, 32, "codes"), random(rows, 512)
    compiled = rx.compile(product(weights, ("m", 512), activation_bits=8), "llvm{cores=4}")
    found = set()
    for count in (1, 2, 4):
        compiled.threads = count
        found.add(to_numpy(compiled["main"](x)).tobytes())
    assert len(found) == 1


def test_rounded_rows_are_close_to_exact_rows() -> None:
    """Compare with the product of x as it is: digits have an error of half a step of 1 / 127 of a block's maximum."""
    weights, x = Weights(100, 256, 4, 32, "offset"), random(20, 256)
    expected = weights.expected(x, False)
    found = to_numpy(rx.compile(product(weights, ("m", 256), activation_bits=8))["main"](x))
    steps = abs(x).reshape(20, 8, 32).max(-1).repeat(32, -1) / 127
    assert (abs(found - expected) <= steps / 2 @ abs(weights.matrix) + 1e-3).all()
    assert abs(found - expected).max() > 1e-3


@pytest.mark.parametrize(
    ("target", "instruction"),
    [
        ("llvm{cpu=icelake-server}", "vpdpbusd"), ("llvm{cpu=alderlake}", "vpdpbusd"), ("llvm{cpu=haswell}", ""),
        ("llvm{cpu=neoverse-v1 triple=aarch64-linux-gnu}", "usdot"),
        ("llvm{cpu=cortex-a76 triple=aarch64-linux-gnu}", "sdot"),
    ],
)  # fmt: skip
def test_instructions_of_rounded_rows(target: str, instruction: str) -> None:
    pytest.importorskip("llvmlite", reason="llvmlite, which compiles for other CPUs, is not installed")
    module = product(Weights(70, 64, 4, 32, "codes"), ("m", 64), activation_bits=8)
    text = str(rx.lower(module, target, pipeline=rx.stages(target).until("legalize")))
    assert set(re.findall(r"vpdp\w+|[a-z]*dot(?=\.)", text)) == ({instruction} if instruction else set())


def test_the_derivative_of_rounded_rows_is_the_matrix() -> None:
    """Rounding counts as the identity, as in relax.quantize."""
    weights, x, factors = Weights(10, 64, 4, 16, "codes"), random(3, 64), random(3, 10)
    module = rx.Module()
    with module.function("main", [rx.tensor((3, 64)), rx.tensor((3, 10))]) as f:
        given, by = f
        held = {name: relax.const(each) for name, each in weights.held(True).items()}
        made = relax.matmul_nbits(given, **held, bits=4, block_size=16, activation_bits=8)
        f.returns(relax.sum(relax.multiply(made, by)))
    found = to_numpy(rx.compile(rx.grad(module, wrt=["arg0"]))["main_adjoint"](x, factors)[1])
    expected = factors @ weights.matrix.T
    # The largest number of a block also moves the scale.
    is_largest = abs(x).reshape(-1, 16) == abs(x).reshape(-1, 16).max(-1, keepdims=True)
    others = ~is_largest.reshape(3, 64)
    numpy.testing.assert_allclose(found[others], expected[others], rtol=1e-3, atol=1e-4)
