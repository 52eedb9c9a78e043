# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for WebGPU on a device: numbers that WGSL lacks, checks, sizes and memory that a call determines."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from real_webgpu import compiled, graph, skip_without
from relax_mlir import relax
from relax_mlir_webgpu.runtime.device import open_device


@pytest.fixture(autouse=True)
def _device() -> None:
    skip_without()


RANDOM = numpy.random.default_rng(3)
SPECIAL = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1, -1, 0.5, -2.5, 5e-324, -1e-310, 1.7e308, 2**53])


def doubles() -> Any:
    """Return doubles of all magnitudes."""
    bits = RANDOM.integers(0, 2**64, 500, dtype=numpy.uint64).view(numpy.float64)
    return numpy.concatenate([bits, RANDOM.normal(size=500)])


def integers() -> Any:
    return RANDOM.integers(-(2**63), 2**63, 1000) >> RANDOM.integers(0, 63, 1000)


def bits_agree(found: Any, wanted: Any) -> None:
    """Compare to the last bit, except for NaNs."""
    is_nan = numpy.isnan(wanted)
    numpy.testing.assert_array_equal(numpy.isnan(found), is_nan)
    kind = {8: numpy.uint64, 4: numpy.uint32, 2: numpy.uint16}[found.dtype.itemsize]
    numpy.testing.assert_array_equal(found.view(kind)[~is_nan], wanted.view(kind)[~is_nan])


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_f64_is_exact(name: str) -> None:
    x = numpy.concatenate([doubles(), numpy.repeat(SPECIAL, len(SPECIAL))])
    y = numpy.concatenate([doubles(), numpy.tile(SPECIAL, len(SPECIAL))])
    info = rx.tensor(x.shape, "f64")
    with numpy.errstate(all="ignore"):
        wanted = getattr(numpy, name)(x, y)
    bits_agree(compiled(getattr(relax, name), info, info)(x, y), wanted)


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
def test_a_nan_is_not_equal(dtype: str) -> None:
    """Compare with NaN, since some drivers' compilers evaluate != to false."""
    x = numpy.array([numpy.nan, 0.0, -0.0, 1.0, numpy.nan, numpy.inf], numpy.dtype(f"f{int(dtype[1:]) // 8}"))
    y = x[::-1].copy()
    info = rx.tensor(x.shape, dtype)
    f = compiled(lambda x, y: (relax.not_equal(x, y), relax.not_equal(x, x), relax.astype(x, dtype="bool")), info, info)
    for found, wanted in zip(f(x, y), (x != y, x != x, x.astype(bool)), strict=True):
        numpy.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["sqrt", "floor", "ceil", "trunc", "round"])
def test_f64_functions_are_exact(name: str) -> None:
    x = numpy.concatenate([doubles(), SPECIAL])
    with numpy.errstate(all="ignore"):
        wanted = getattr(numpy, name)(x)
    bits_agree(compiled(getattr(relax, name), rx.tensor(x.shape, "f64"))(x), wanted)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "floor_divide", "less", "maximum"])
def test_i64_is_exact(name: str) -> None:
    x, y = integers(), integers()
    y[y == 0] = 3
    info = rx.tensor(x.shape, "i64")
    numpy.testing.assert_array_equal(compiled(getattr(relax, name), info, info)(x, y), getattr(numpy, name)(x, y))


@pytest.mark.parametrize(
    ("name", "dtype"), [("f64", "float32"), ("f64", "int64"), ("f32", "float16"), ("i64", "float32")]
)
def test_conversions_round_to_even(name: str, dtype: str) -> None:
    x = integers() if name == "i64" else doubles()
    if name == "f32":
        with numpy.errstate(all="ignore"):
            x = x.astype(numpy.float32)
    if dtype == "int64":
        x = x[numpy.abs(x) < 2.0**62]
    found = compiled(lambda x: relax.astype(x, dtype=dtype), rx.tensor(x.shape, name))(x)
    with numpy.errstate(all="ignore"):
        wanted = x.astype(dtype)
    numpy.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float16", "bool"])
def test_elements_of_less_than_a_word(dtype: str) -> None:
    """Write parts of the same words in several threads."""
    x = RANDOM.integers(0, 2, (7, 331)).astype(dtype)
    names = {"float16": "f16", "bool": "i1", "uint8": "ui8", "int8": "i8", "int16": "i16"}
    f = compiled(lambda x: relax.permute_dims(x), rx.tensor(x.shape, names[dtype]))
    for _ in range(3):
        numpy.testing.assert_array_equal(f(x), x.T)


def test_a_check_names_the_operator_and_what_follows_does_nothing() -> None:
    def build(x: Any, indices: Any) -> Any:
        return relax.nn.softmax(relax.take(x, indices, axis=0), axis=-1)

    f = compiled(build, rx.tensor(("n", 300)), rx.tensor(("k",), "i64"))
    x = RANDOM.normal(size=(3, 300)).astype("float32")
    for wrong in (3, -4, 2**40):
        with pytest.raises(IndexError, match=rf"relax.take at .*: index {wrong} is out of range for axis 0 of size 3"):
            f(x, numpy.array([1, wrong]))
        found = f(x, numpy.array([1, -1]))
        powers = numpy.exp(x[[1, 2]])
        numpy.testing.assert_allclose(found, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)


def test_a_size_that_the_data_decide() -> None:
    f = compiled(lambda x: relax.unique(x), rx.tensor(("n",), "i32"))
    for count in (1, 7, 2000):
        x = RANDOM.integers(0, 50, count).astype("int32")
        numpy.testing.assert_array_equal(f(x), numpy.unique(x))


def test_host_loops_go_on_as_long_as_the_sizes_say() -> None:
    f = compiled(lambda x: relax.sort(x, axis=0), rx.tensor(("n", 2)))
    for count in (0, 1, 5, 1025, 5000):
        x = RANDOM.normal(size=(count, 2)).astype("float32")
        numpy.testing.assert_array_equal(f(x), numpy.sort(x, axis=0))


def test_a_view_of_dynamic_sizes_without_optimization() -> None:
    """Flatten contiguous elements, although canonicalize loses facts about views of views."""
    flat = compiled(relax.nn.batch_flatten, rx.tensor((8, "m", "m", 8), "f16"), opt_level=0)
    for m in (1, 3):
        x = RANDOM.normal(size=(8, m, m, 8)).astype("float16")
        numpy.testing.assert_array_equal(flat(x), x.reshape(8, -1))


def test_a_copy_to_itself_is_skipped_without_optimization() -> None:
    """Skip a copy to itself, which the host finds by the addresses."""
    f = compiled(lambda x: relax.split(relax.abs(x), [1], axis=0)[0], rx.tensor((1,)), opt_level=0)
    numpy.testing.assert_array_equal(f(numpy.array([-2], "float32")), [2])


def test_memory_grows_with_the_sizes() -> None:
    """Keep constants in place when memory grows."""
    weight = RANDOM.normal(size=(64, 64)).astype("float32")
    f = compiled(lambda x: relax.nn.relu(relax.matmul(x, relax.const(weight))), rx.tensor(("n", 64)))
    for count in (1, 3000, 2, 9000):
        x = RANDOM.normal(size=(count, 64)).astype("float32")
        numpy.testing.assert_allclose(f(x), numpy.maximum(x @ weight, 0), rtol=1e-4, atol=1e-4)


def test_more_blocks_than_one_dimension_has_room_for() -> None:
    f = compiled(lambda x: relax.sum(x, axis=1), rx.tensor(("n", 3)))
    x = RANDOM.integers(0, 9, (70000 * 8, 3)).astype("float32")
    numpy.testing.assert_array_equal(f(x), x.sum(axis=1))


def test_programs_are_saved_and_pickled(tmp_path: Any) -> None:
    executable = rx.compile(graph(relax.nn.relu, rx.tensor((9,))), "webgpu")
    x = RANDOM.normal(size=9).astype("float32")
    executable.save(tmp_path / "relu.rxa")
    for other in (rx.runtime.load(tmp_path / "relu.rxa"), pickle.loads(pickle.dumps(executable))):
        numpy.testing.assert_array_equal(other["main"](x), numpy.maximum(x, 0))


def test_arguments_are_checked_as_elsewhere() -> None:
    f = compiled(relax.add, rx.tensor(("n", 3)), rx.tensor(("n", 3)))
    with pytest.raises(ValueError, match="argument #1"):
        f(numpy.zeros((2, 3), "float32"), numpy.zeros((4, 3), "float32"))
    with pytest.raises(TypeError):
        f(numpy.zeros((2, 3), "int32"), numpy.zeros((2, 3), "float32"))


def test_out_of_memory_errors_state_the_bytes() -> None:
    f = compiled(lambda x: relax.broadcast_to(x, shape=(1 << 16, 1 << 14)), rx.tensor((1,)))
    with pytest.raises(MemoryError, match=r"the program needs 4\d+ bytes in one buffer of the device"):
        f(numpy.ones(1, "float32"))


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "sinh", "cosh", "asinh", "acosh", "atanh"])
def test_functions_of_f32(name: str) -> None:
    """Compare f32 with numpy's f64, with special numbers and angles of all magnitudes."""
    numpys = {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
    x = numpy.concatenate([RANDOM.normal(size=500) * 3, RANDOM.normal(size=50) * 1e30, SPECIAL])
    with numpy.errstate(all="ignore"):
        x = x.astype("float32")
        wanted = getattr(numpy, numpys.get(name, name))(x.astype("float64")).astype("float32")
    found = compiled(getattr(relax, name), rx.tensor(x.shape))(x)
    numpy.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_powers_of_f32() -> None:
    x = numpy.concatenate([numpy.abs(RANDOM.normal(size=500)), numpy.repeat(SPECIAL, len(SPECIAL))])
    y = numpy.concatenate([RANDOM.normal(size=500) * 8, numpy.tile(SPECIAL, len(SPECIAL))])
    with numpy.errstate(all="ignore"):
        x, y = x.astype("float32"), y.astype("float32")
        wanted = numpy.power(x.astype("float64"), y.astype("float64")).astype("float32")
    found = compiled(relax.power, rx.tensor(x.shape), rx.tensor(y.shape))(x, y)
    numpy.testing.assert_allclose(found, wanted, rtol=4e-6)


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_indices_of_all_sizes(mode: str) -> None:
    indices = integers()
    wanted = indices % 7 if mode == "wrap" else numpy.clip(indices, 0, 6)
    f = compiled(lambda x, i: relax.take(x, i, axis=0, mode=mode), rx.tensor((7,)), rx.tensor(("n",), "i64"))
    numpy.testing.assert_array_equal(f(numpy.arange(7, dtype="float32"), indices), wanted.astype("float32"))


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64", "f16", "f32"])
def test_numbers_below_zero_are_stored(dtype: str) -> None:
    """Store negative numbers, since WGSL has no u32(-1)."""
    f = compiled(lambda x: relax.full_like(x, relax.const(-7, dtype)), rx.tensor(("n",), dtype))
    x = numpy.zeros(5, {"i": "int", "f": "float"}[dtype[0]] + dtype[1:])
    numpy.testing.assert_array_equal(f(x), x - 7)


def test_an_i64_as_f16() -> None:
    x = numpy.concatenate([integers(), numpy.arange(65500, 65540), [2049, 2051, -2049]])
    with numpy.errstate(over="ignore"):
        wanted = x.astype("float16")
    found = compiled(lambda x: relax.astype(x, dtype="f16"), rx.tensor(x.shape, "i64"))(x)
    numpy.testing.assert_array_equal(found, wanted)


def test_a_lost_device() -> None:
    """Report the loss at each call. Programs that are loaded later run on another device."""
    x = RANDOM.normal(size=9).astype("float32")
    executable = rx.compile(graph(relax.nn.relu, rx.tensor((9,))), "webgpu")
    executable["main"](x)
    open_device().destroy()
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"^the WebGPU device is lost; load the program again: "):
            executable["main"](x)
    found = pickle.loads(pickle.dumps(executable))["main"](x)
    numpy.testing.assert_array_equal(found, numpy.maximum(x, 0))


def test_calls_leave_no_buffers() -> None:
    """Check that no buffers remain, except the program's memory, which grows twice here, and the record of checks."""
    f = compiled(relax.nn.relu, rx.tensor(("n",)))
    f(numpy.ones(5, "float32"))
    buffers = _buffers()
    for count in (9, 1 << 12, 1 << 16):
        f(numpy.ones(count, "float32"))
    assert _buffers() == buffers


def _buffers() -> int:
    import wgpu

    gc.collect()
    return int(wgpu.diagnostics.object_counts.get_dict()["Buffer"]["count"])
