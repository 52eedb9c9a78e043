# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen cublas on an emulated cuBLASLt, which follows NVIDIA's documentation of descriptors, against NumPy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import pytest
import relax_mlir as rx
from gpu_emulator.cublas import Desc, EmulatedCublas, Handle, Layout, Preference
from gpu_emulator.tensors import CudaTensor, to_numpy
from nvidia_parts import emulated, floats, module_of, parts, program
from relax_mlir import relax
from relax_mlir.support.external_bytes import packed, unpacked
from relax_mlir_nvidia import cublas_runtime as runtime
from relax_mlir_nvidia import libraries as nvidia
from relax_mlir_nvidia.libraries import use_library

TOLERANCE = {"float32": 1e-5, "float64": 1e-12, "float16": 2e-3, "bfloat16": 2e-2}


@pytest.fixture
def cublas() -> Iterator[EmulatedCublas]:
    with emulated(EmulatedCublas) as library:
        yield library


def gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x**3)))


def check(library: EmulatedCublas, executable: Any, arrays: Any, expected: Any, calls: int = 1) -> None:
    """Check the results of a program, and that the library has computed them."""
    before = library.log.count("cublasLtMatmul")
    found = executable.copying()["main"](*arrays)
    found = numpy.asarray(rx.runtime.to_numpy(found))
    assert library.log.count("cublasLtMatmul") - before == calls, library.refusals
    tolerance = TOLERANCE.get(found.dtype.name, 0)
    wanted = numpy.asarray(expected).astype("float64")
    numpy.testing.assert_allclose(found.astype("float64"), wanted, rtol=tolerance, atol=tolerance * 8)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(("one", "other"), [(False, False), (True, False), (False, True), (True, True)])
def test_elements_and_transposed_operands(cublas: EmulatedCublas, dtype: str, one: bool, other: bool) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    a, b = floats(*((5, 3) if one else (3, 5)), dtype=kind), floats(*((4, 5) if other else (5, 4)), dtype=kind)

    def body(x: Any, y: Any) -> Any:
        return relax.matmul(relax.permute_dims(x) if one else x, relax.permute_dims(y, [1, 0]) if other else y)

    made = program(body, [rx.tensor(each.shape, dtype) for each in (a, b)], "cublas")
    assert parts(made) == 1 and "0 kernels for cuda" in repr(made)
    wide = [each.astype("float64") for each in (a.T if one else a, b.T if other else b)]
    check(cublas, made, (a, b), wide[0] @ wide[1])


@pytest.mark.parametrize(
    ("a", "b", "calls"),
    [
        ((2, 3, 4, 5), (2, 3, 5, 6), 1),
        ((2, 3, 4, 5), (5, 6), 1),  # the rows of all batches are rows of one matrix
        ((4, 5), (3, 5, 6), 1),
        ((2, 1, 4, 5), (3, 5, 6), 2),  # a call for each item of the outer axis
        ((2, 3, 4, 5), (1, 3, 5, 6), 2),
        ((7, 1, 4, 5), (1, 1, 5, 6), 1),
        ((3, 2, 2, 1, 5), (2, 1, 5, 1), 3),
        ((0, 4, 5), (0, 5, 6), 0),
    ],
)
def test_batches(cublas: EmulatedCublas, a: tuple[int, ...], b: tuple[int, ...], calls: int) -> None:
    x, y = floats(*a), floats(*b, seed=3)
    made = program(relax.matmul, [rx.tensor(a), rx.tensor(b)], "cublas")
    check(cublas, made, (x, y), x @ y, calls)


def test_batches_of_transposed_matrices(cublas: EmulatedCublas) -> None:
    """Multiply transposed batches one by one: their rows are not contiguous."""
    x, y = floats(3, 5, 4), floats(5, 6)
    made = program(
        lambda a, b: relax.matmul(relax.permute_dims(a, [0, 2, 1]), b),
        [rx.tensor((3, 5, 4)), rx.tensor((5, 6))],
        "cublas",
    )
    check(cublas, made, (x, y), x.swapaxes(1, 2) @ y)
    layouts = [each for each in cublas.descriptors.values() if isinstance(each, Layout)]
    assert [each.batch for each in layouts] == [(3, 20), (3, 0), (3, 24)]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("bias", [None, (6,), (1, 1, 6)])
@pytest.mark.parametrize("after", ["", "relu", "gelu_tanh"])
def test_bias_and_activation_run_in_cublas(cublas: EmulatedCublas, dtype: str, bias: Any, after: str) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    x, w = floats(2, 3, 4, dtype=kind), floats(4, 6, dtype=kind)
    added = None if bias is None else floats(*bias, seed=9, dtype=kind)

    def body(data: Any, weight: Any, *more: Any) -> Any:
        y = relax.matmul(data, weight)
        y = relax.add(more[0], y) if more else y
        return getattr(relax.nn, after)(y) if after else y

    arrays = [x, w] if added is None else [x, w, added]
    made = program(body, [rx.tensor(each.shape, dtype) for each in arrays], "cublas")
    assert "0 kernels for cuda" in repr(made) and parts(made) == 1
    expected = x.astype("float64") @ w.astype("float64") + (0 if added is None else added.astype("float64"))
    expected = {"": lambda y: y, "relu": lambda y: numpy.maximum(y, 0), "gelu_tanh": gelu_tanh}[after](expected)
    check(cublas, made, arrays, expected)


def test_weights_are_on_the_device_once_and_sizes_are_any(cublas: EmulatedCublas, tmp_path: Path) -> None:
    weight, other = floats(8, 6), floats(6, 4, seed=1)

    def body(x: Any) -> Any:
        return relax.matmul(relax.nn.relu(relax.matmul(x, relax.const(weight))), relax.const(other))

    made = program(body, [rx.tensor(("n", 8))], "cublas")
    assert parts(made) == 2, "each product is a part"
    made.save(tmp_path / "model.rxa")
    made = rx.runtime.load(tmp_path / "model.rxa")
    for rows in (3, 7, 3, 1):
        x = floats(rows, 8)
        check(cublas, made, (x,), numpy.maximum(x @ weight, 0) @ other, 2)
    driver = cublas.driver
    uploaded = [each.arguments[2] for each in driver.calls("cuMemcpyHtoDAsync_v2")]
    of_three_rows = 2
    assert uploaded.count(192) == uploaded.count(96) - of_three_rows == 1, "when it is loaded, once"
    assert cublas.log.count("cublasLtMatmulAlgoGetHeuristic") == 2 * 3, "once for each size"
    assert cublas.left(Handle) == 1


def test_descriptors_are_given_back(cublas: EmulatedCublas) -> None:
    made = program(relax.matmul, [rx.tensor((2, 3)), rx.tensor((3, 4))], "cublas")
    check(cublas, made, (floats(2, 3), floats(3, 4)), floats(2, 3) @ floats(3, 4))
    assert (cublas.left(Desc), cublas.left(Layout), cublas.left(Preference)) == (1, 3, 1)
    del made
    assert (cublas.left(Desc), cublas.left(Layout), cublas.left(Preference)) == (0, 0, 0)


def test_bytes(cublas: EmulatedCublas) -> None:
    rng = numpy.random.default_rng(0)
    x, w = (rng.integers(-128, 128, shape).astype("int8") for shape in ((3, 16), (8, 16)))

    def body(a: Any, b: Any) -> Any:
        return relax.matmul(a, relax.permute_dims(b, [1, 0]), out_dtype="int32")

    made = program(body, [rx.tensor(("n", 16), "int8"), rx.tensor((8, 16), "int8")], "cublas")
    check(cublas, made, (x, w), x.astype("int64") @ w.T.astype("int64"))


def test_halves_that_give_floats(cublas: EmulatedCublas) -> None:
    x, w = floats(3, 16, dtype="float16"), floats(16, 4, dtype="float16")

    def body(a: Any, b: Any) -> Any:
        return relax.matmul(a, b, out_dtype="float32")

    made = program(body, [rx.tensor(each.shape, "float16") for each in (x, w)], "cublas")
    check(cublas, made, (x, w), x.astype("float64") @ w.astype("float64"))


@pytest.mark.parametrize(("codegen", "compute"), [("cublas", 68), ("cublas{tf32=true}", 77)])
def test_tf32_is_asked_for(cublas: EmulatedCublas, codegen: str, compute: int) -> None:
    made = program(relax.matmul, [rx.tensor((2, 3)), rx.tensor((3, 4))], codegen)
    made.copying()["main"](floats(2, 3), floats(3, 4))
    assert [each.compute for each in cublas.descriptors.values() if isinstance(each, Desc)] == [compute]


def test_nothing_is_summed(cublas: EmulatedCublas) -> None:
    made = program(relax.matmul, [rx.tensor((2, "k")), rx.tensor(("k", 4))], "cublas")
    check(cublas, made, (floats(2, 3), floats(3, 4)), floats(2, 3) @ floats(3, 4))
    check(cublas, made, (floats(2, 0), floats(0, 4)), numpy.zeros((2, 4)), 0)


def test_the_callers_stream(cublas: EmulatedCublas, monkeypatch: pytest.MonkeyPatch) -> None:
    import tvm_ffi

    made = program(relax.matmul, [rx.tensor((2, 3)), rx.tensor((3, 4))], "cublas")
    driver, used = cublas.driver, []
    x, w = floats(2, 3), floats(3, 4)
    given = CudaTensor(driver, x), CudaTensor(driver, w)
    made["main"](*given)
    stream = driver.handle()
    driver.streams.add(stream)
    do = driver.do
    monkeypatch.setattr(driver, "do", lambda where, *rest, **more: (used.append(where), do(where, *rest, **more))[1])
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda:0"), stream):
        y = made["main"](*given)
    assert set(used) == {stream}
    numpy.testing.assert_allclose(to_numpy(driver, y), x @ w, rtol=1e-5)


def test_threads_and_devices() -> None:
    """Use a list of calls in one thread at a time, with a handle for each device."""
    with emulated(EmulatedCublas, devices=2) as cublas:
        module = module_of(lambda x, w: relax.nn.relu(relax.matmul(x, w)), [rx.tensor(("n", 3)), rx.tensor((3, 4))])
        made = [rx.compile(module, target="cuda", partition=["cublas"], device=f"cuda:{number}") for number in (0, 1)]
        barrier = threading.Barrier(4)

        def call(number: int) -> bool:
            barrier.wait()
            x, w = floats(2 + number % 2, 3, seed=number), floats(3, 4, seed=number)
            run = made[number % 2].copying()["main"]
            return all(numpy.allclose(run(x, w), numpy.maximum(x @ w, 0), rtol=1e-4) for _ in range(3))

        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(call, range(4))) == [True] * 4
        assert cublas.left(Handle) == 2


# ---- refusals ----


@pytest.mark.parametrize(
    ("dtype", "bias", "operators"),
    [("float64", (4,), 1), ("float32", (2, 4), 1), ("float32", (2, 1), 1), ("float32", (4,), 0)],
)
def test_biases_that_cublas_cannot_add_stay_on_the_target(
    cublas: EmulatedCublas, dtype: str, bias: Any, operators: int
) -> None:
    arrays = x, w, b = floats(2, 3, dtype=dtype), floats(3, 4, dtype=dtype), floats(*bias, dtype=dtype)
    parameters = [rx.tensor(each.shape, dtype) for each in arrays]
    made = program(lambda a, b, c: relax.add(relax.matmul(a, b), c), parameters, "cublas")
    assert f", {operators} kernel" in repr(made) and parts(made) == 1
    check(cublas, made, (x, w, b), x.astype("float64") @ w + b)


def test_values_that_others_see_are_not_taken(cublas: EmulatedCublas) -> None:
    x, w = floats(2, 3), floats(3, 4)

    def body(a: Any, b: Any) -> Any:
        y = relax.matmul(a, b)
        return y, relax.nn.relu(y)

    made = program(body, [rx.tensor((2, 3)), rx.tensor((3, 4))], "cublas")
    plain, after = made.copying()["main"](x, w)
    numpy.testing.assert_allclose(plain, x @ w, rtol=1e-5)
    numpy.testing.assert_array_equal(after, numpy.maximum(plain, 0))


@pytest.mark.slow
def test_a_product_that_the_library_has_no_algorithm_for(cublas: EmulatedCublas) -> None:
    made = program(relax.matmul, [rx.tensor((2, 3)), rx.tensor((3, 4))], "cublas")
    cublas.fail["cublasLtMatmulAlgoGetHeuristic"] = 15
    for _ in range(2):
        with pytest.raises(
            RuntimeError,
            match=r"codegen 'cublas', part '.*cuBLAS has no algorithm for a product of 2 x 3 and 3 x 4 elements of "
            r"f32: cublasLtMatmulAlgoGetHeuristic: the functionality is not supported \(15\)",
        ):
            made.copying()["main"](floats(2, 3), floats(3, 4))
    cublas.fail = {"cublasLtMatmul": 13}
    with pytest.raises(RuntimeError, match=r"codegen 'cublas', part '.*: cublasLtMatmul gave 13"):
        made.copying()["main"](floats(2, 3), floats(3, 4))
    cublas.fail = {}
    check(cublas, made, (floats(2, 3), floats(3, 4)), floats(2, 3) @ floats(3, 4))


def test_without_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = module_of(relax.matmul, [rx.tensor((2, 3)), rx.tensor((3, 4))])
    monkeypatch.setenv(runtime.CUBLAS.place, str(tmp_path / "none.so"))
    needed = r"it needs cuBLAS 12.0 or newer \(pip install nvidia-cublas\): .*none.so"
    with pytest.warns(RuntimeWarning, match=f"codegen 'cublas' cannot run here .*: {needed}"):
        made = rx.compile(module, target="cuda", partition=["cublas"])
    with pytest.raises(rx.RelaxError, match=needed):
        rx.compile(module, target="cuda", partition=["cublas"], strict_partition=True)
    made.save(tmp_path / "model.rxa")
    with pytest.raises(rx.runtime.ArtifactError, match=f"this machine cannot run it: {needed}"):
        rx.runtime.load(tmp_path / "model.rxa").copying()["main"](floats(2, 3), floats(3, 4))


def test_old_libraries_and_other_libraries_are_refused(cublas: EmulatedCublas, monkeypatch: pytest.MonkeyPatch) -> None:
    cublas.version = 111003
    with pytest.raises(rx.RelaxError, match=r"cuBLAS 11.10 in .*is too old: it needs cuBLAS 12.0 or newer"):
        nvidia.Library(runtime.CUBLAS, cublas, "libcublasLt.so")
    monkeypatch.setenv(runtime.CUBLAS.place, "libc.so.6")
    monkeypatch.setattr(nvidia, "_replacements", {})
    assert "is not a suitable library" in runtime.CublasRuntime().requires(memoryview(b""))


@pytest.mark.parametrize("cut", [4, 20, -2])
def test_bytes_that_are_damaged(cut: int) -> None:
    step = runtime.ProductStep(2, 0, 1, None, (False, True), "relu", ("f32", "f32"))
    data = packed("cublas", {"f": step})
    assert unpacked("cublas", memoryview(data), dict[str, runtime.ProductStep]) == {"f": step}
    with pytest.raises(rx.RelaxError, match=r"cut short|no bytes"):
        unpacked("cublas", memoryview(data[:cut]), dict[str, runtime.ProductStep])


def test_the_library_in_place_is_the_tests(cublas: EmulatedCublas) -> None:
    assert nvidia.library_of(runtime.CUBLAS).version == (13, 10)
    with use_library(runtime.CUBLAS, cublas) as other:
        assert nvidia.library_of(runtime.CUBLAS) is other
