# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen cudnn on an emulated cuDNN with strict checks of descriptors, against programs for the CPU."""

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
from gpu_emulator.cublas import EmulatedCublas
from gpu_emulator.cudnn import Activation, Convolution, EmulatedCudnn, Filter, Handle, Pooling, Tensor
from nvidia_parts import emulated, floats, module_of, parts, program
from relax_mlir import relax
from relax_mlir.support.external_bytes import packed, unpacked
from relax_mlir_nvidia import cublas_runtime as cublas
from relax_mlir_nvidia import cudnn_runtime as runtime
from relax_mlir_nvidia.libraries import use_library

TOLERANCE = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
FMA, TENSOR_OP, PRECOMPUTED, IMPLICIT = 3, 1, 1, 0


@pytest.fixture
def cudnn() -> Iterator[EmulatedCudnn]:
    with emulated(EmulatedCudnn) as library:
        yield library


def check(body: Any, arrays: Any, codegen: str = "cudnn", kernels: int = 0, taken: int = 1) -> None:
    """Check the counts of parts and remaining kernels, and the results against a program for the CPU in f32."""
    names = [each.dtype.name for each in arrays]
    shapes = [("n", *each.shape[1:]) if not number else each.shape for number, each in enumerate(arrays)]
    made = program(body, [rx.tensor(*each) for each in zip(shapes, names, strict=True)], codegen)
    assert parts(made) == taken and f"{kernels} kernels for cuda" in repr(made).replace("1 kernel for", "1 kernels for")
    found = rx.runtime.to_numpy(made.copying()["main"](*arrays))
    wide = [each.astype("float32") for each in arrays]
    expected = rx.compile(module_of(body, [rx.tensor(each.shape) for each in wide]))["main"](*wide)
    tolerance = TOLERANCE[names[0]]
    assert found.shape == expected.shape
    numpy.testing.assert_allclose(found.astype("float32"), expected, rtol=tolerance, atol=tolerance * 8)


def kind(name: str) -> Any:
    return ml_dtypes.bfloat16 if name == "bfloat16" else name


CONVOLUTIONS = [
    ("conv1d", (2, 4, 20), (6, 4, 3), {}),
    ("conv1d", (2, 20, 4), (6, 3, 2), {"data_layout": "NWC", "kernel_layout": "OWI", "groups": 2, "padding": 1}),
    ("conv2d", (2, 4, 9, 10), (6, 4, 3, 3), {"strides": (2, 1), "padding": (1, 0)}),
    ("conv2d", (2, 4, 9, 10), (8, 1, 3, 2), {"groups": 4, "dilation": (2, 3), "padding": (2, 1, 2, 1)}),
    ("conv2d", (1, 9, 10, 4), (6, 3, 3, 4), {"data_layout": "NHWC", "kernel_layout": "OHWI", "strides": 2}),
    ("conv2d", (2, 3, 7, 7), (5, 3, 1, 1), {}),
    ("conv3d", (1, 2, 4, 5, 6), (3, 2, 2, 3, 3), {"padding": 1, "strides": (1, 2, 1)}),
]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("name", "data", "weight", "attributes"), CONVOLUTIONS)
def test_convolutions(cudnn: EmulatedCudnn, dtype: str, name: str, data: Any, weight: Any, attributes: Any) -> None:
    def body(x: Any, w: Any) -> Any:
        return getattr(relax.nn, name)(x, w, **attributes)

    check(body, (floats(*data, dtype=kind(dtype)), floats(*weight, dtype=kind(dtype))))
    # A fast algorithm that fits the workspace. f32 is computed in f32.
    assert cudnn.used == [(IMPLICIT, FMA if dtype == "float32" else 0)]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_bias_and_activation_run_in_cudnn(
    cudnn: EmulatedCudnn, dtype: str, residual: bool, relu: bool, last: bool
) -> None:
    layouts = {"data_layout": "NHWC", "kernel_layout": "OHWI"} if last else {}
    shapes: list[tuple[int, ...]] = [(2, 4, 5, 6), (3, 4, 2, 2), (1, 3, 1, 1), (2, 3, 4, 5)]
    if last:
        shapes = [(2, 5, 6, 4), (3, 2, 2, 4), (3,), (2, 4, 5, 3)]

    def body(x: Any, w: Any, bias: Any, *more: Any) -> Any:
        y = relax.add(relax.nn.conv2d(x, w, **layouts), bias)
        y = relax.add(more[0], y) if more else y
        return relax.nn.relu(y) if relu else y

    arrays = [floats(*each, seed=number, dtype=dtype) for number, each in enumerate(shapes[: 3 + residual])]
    made = program(body, [rx.tensor(each.shape, dtype) for each in arrays], "cudnn")
    assert parts(made) == 1 and "0 kernels for cuda" in repr(made)
    found = made.copying()["main"](*arrays)
    wide = [each.astype("float32") for each in arrays]
    expected = rx.compile(module_of(body, [rx.tensor(each.shape) for each in wide]))["main"](*wide)
    numpy.testing.assert_allclose(found.astype("float32"), expected, rtol=4e-3, atol=4e-3)
    assert cudnn.used[0][0] == (IMPLICIT if relu else PRECOMPUTED), "a bias alone is known to one algorithm"


def test_a_bias_in_bf16_stays_with_the_target(cudnn: EmulatedCudnn) -> None:
    arrays = [floats(*each, dtype=ml_dtypes.bfloat16) for each in ((2, 4, 5, 6), (3, 4, 2, 2), (1, 3, 1, 1))]
    check(lambda x, w, b: relax.add(relax.nn.conv2d(x, w), b), arrays, kernels=1)


def test_a_residual_block(cudnn: EmulatedCudnn) -> None:
    """Compute a residual block with constant weights. The second convolution adds the first convolution's result."""
    first, second, short = floats(4, 3, 3, 3), floats(4, 4, 3, 3), floats(4, 3, 1, 1)
    biases = [floats(1, 4, 1, 1, seed=number) for number in range(3)]

    def body(x: Any) -> Any:
        y = relax.nn.relu(relax.add(relax.nn.conv2d(x, relax.const(first), padding=1), relax.const(biases[0])))
        y = relax.add(relax.nn.conv2d(y, relax.const(second), padding=1), relax.const(biases[1]))
        other = relax.add(relax.nn.conv2d(x, relax.const(short)), relax.const(biases[2]))
        return relax.nn.relu(relax.add(y, other))

    check(body, [floats(2, 3, 6, 6)], taken=3)
    assert cudnn.log.count("cudnnConvolutionBiasActivationForward") == 3


@pytest.mark.parametrize(("codegen", "math"), [("cudnn", FMA), ("cudnn{tf32=true}", TENSOR_OP)])
def test_tf32_is_asked_for(cudnn: EmulatedCudnn, codegen: str, math: int) -> None:
    check(relax.nn.conv2d, (floats(1, 2, 4, 4), floats(2, 2, 3, 3)), codegen)
    assert cudnn.used == [(IMPLICIT, math)]


POOLS = [
    ("max_pool2d", (2, 3, 8, 9), {"pool_size": (3, 2), "strides": (2, 1), "padding": (1, 0)}),
    ("max_pool1d", (2, 3, 9), {"pool_size": 3, "strides": 2, "padding": (1, 1)}),
    ("avg_pool2d", (2, 3, 8, 9), {"pool_size": 3, "padding": 1}),
    ("avg_pool2d", (2, 8, 9, 3), {"pool_size": 3, "padding": 1, "count_include_pad": True, "layout": "NHWC"}),
    ("avg_pool3d", (1, 2, 4, 5, 6), {"pool_size": 2, "strides": 2}),
]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("name", "shape", "attributes"), POOLS)
def test_pools(cudnn: EmulatedCudnn, dtype: str, name: str, shape: Any, attributes: Any) -> None:
    check(lambda x: getattr(relax.nn, name)(x, **attributes), [floats(*shape, dtype=kind(dtype))])


@pytest.mark.parametrize(("name", "shape", "axis"), [("softmax", (3, 40), -1), ("softmax", (2, 5, 3, 4), 1),
                                                     ("log_softmax", (2, 3, 7), -1), ("softmax", (6,), 0)])  # fmt: skip
def test_softmax(cudnn: EmulatedCudnn, name: str, shape: Any, axis: int) -> None:
    check(lambda x: getattr(relax.nn, name)(x, axis=axis), [8 * floats(*shape)])


def test_nothing_is_computed_of_nothing(cudnn: EmulatedCudnn) -> None:
    check(relax.nn.conv2d, (floats(0, 2, 4, 4), floats(2, 2, 3, 3)))
    assert cudnn.used == []


def test_descriptors_are_given_back(cudnn: EmulatedCudnn) -> None:
    def run() -> None:
        arrays = floats(2, 3, 8, 8), floats(4, 3, 3, 3), floats(1, 4, 1, 1)
        check(
            lambda x, w, b: relax.nn.max_pool2d(relax.nn.relu(relax.add(relax.nn.conv2d(x, w), b)), 2), arrays, taken=2
        )
        assert cudnn.left(Convolution) == 0

    run()
    assert [cudnn.left(each) for each in (Tensor, Filter, Convolution, Activation, Pooling, Handle)] == [0] * 5 + [1]


@pytest.mark.slow
def test_threads(cudnn: EmulatedCudnn) -> None:
    """Serialize threads, because each thread sets its stream on the common handle."""
    made = program(relax.nn.conv2d, [rx.tensor(("n", 2, 5, 5)), rx.tensor((3, 2, 3, 3))], "cudnn")
    barrier = threading.Barrier(4)

    def call(number: int) -> bool:
        x, w = floats(1 + number % 2, 2, 5, 5, seed=number), floats(3, 2, 3, 3, seed=number)
        views = numpy.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
        expected = numpy.einsum("ncyxij,kcij->nkyx", views, w)
        run = made.copying()["main"]
        barrier.wait()
        return all(numpy.allclose(run(x, w), expected, rtol=1e-4, atol=1e-4) for _ in range(4))

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(call, range(4))) == [True] * 4
    assert cudnn.refusals == []


# ---- refusals ----


@pytest.mark.parametrize("bias", [(1, 3, 1, 5), (5,), (1, 1, 1, 1)])
def test_sums_without_a_bias_shape_stay_on_the_target(cudnn: EmulatedCudnn, bias: Any) -> None:
    arrays = floats(2, 4, 5, 6), floats(3, 4, 2, 2), floats(*bias)
    check(lambda x, w, b: relax.add(relax.nn.conv2d(x, w), b), arrays, kernels=1)


def test_no_algorithm(cudnn: EmulatedCudnn, monkeypatch: pytest.MonkeyPatch) -> None:
    made = program(relax.nn.conv2d, [rx.tensor((1, 2, 4, 4)), rx.tensor((2, 2, 3, 3))], "cudnn")
    arrays = floats(1, 2, 4, 4), floats(2, 2, 3, 3)
    cudnn.fail["cudnnGetConvolutionForwardAlgorithm_v7"] = 3000
    with pytest.raises(
        RuntimeError, match=r"codegen 'cudnn', part '.*Algorithm_v7: CUDNN_STATUS_NOT_SUPPORTED \(3000\)"
    ):
        made.copying()["main"](*arrays)
    cudnn.fail = {}
    monkeypatch.setattr("gpu_emulator.cudnn.NEEDS", dict.fromkeys((0, 1, 7), 1 << 40))
    with pytest.raises(
        RuntimeError, match=r"no algorithm for a convolution of \(1, 2, 4, 4\) with \(2, 2, 3, 3\) in f32"
    ):
        made.copying()["main"](*arrays)
    monkeypatch.undo()
    cudnn.fail = {"cudnnConvolutionForward": 5000}
    with pytest.raises(RuntimeError, match="cudnnConvolutionForward gave 5000"):
        made.copying()["main"](*arrays)
    cudnn.fail = {}
    made.copying()["main"](*arrays)  # no thread has the lock of the handle


def test_without_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(runtime.CUDNN.place, str(tmp_path / "none.so"))
    module = module_of(relax.nn.softmax, [rx.tensor((2, 3))])
    needed = r"it needs cuDNN 9.0 or newer \(pip install nvidia-cudnn-cu13\): .*none.so"
    with pytest.raises(rx.RelaxError, match=needed):
        rx.compile(module, target="cuda", partition=["cudnn"], strict_partition=True)
    made = rx.compile(module, target="cuda", partition=rx.Partition(codegens=("cudnn",)), partition_elsewhere=True)
    made.save(tmp_path / "model.rxa")
    with pytest.raises(rx.runtime.ArtifactError, match=f"this machine cannot run it: {needed}"):
        rx.runtime.load(tmp_path / "model.rxa").copying()["main"](floats(2, 3))


def test_bytes_are_read_as_they_were_written() -> None:
    windows = [runtime.Windows(0, 2, 1, 1)] * 2
    step = runtime.CudnnStep("convolution", 3, "f16", 0, 1, 2, relu=True, windows=windows, groups=2, workspace=True)
    data = packed("cudnn", {"f": step})
    assert unpacked("cudnn", memoryview(data), dict[str, runtime.CudnnStep]) == {"f": step}
    with pytest.raises(rx.RelaxError, match="codegen 'cublas', but of 'cudnn'"):
        unpacked("cublas", memoryview(data), dict[str, cublas.ProductStep])


def test_a_model_with_both_libraries(cudnn: EmulatedCudnn) -> None:
    """Run a transformer's head after a convolution. Each library takes its operators, and the target has the rest."""
    weight, filters = floats(18, 5), floats(2, 1, 3, 3)

    def body(x: Any) -> Any:
        y = relax.reshape(relax.nn.conv2d(x, relax.const(filters)), (-1, 18))
        return relax.nn.softmax(relax.tanh(relax.matmul(y, relax.const(weight))))

    module = module_of(body, [rx.tensor((4, 1, 5, 5))])
    library = EmulatedCublas(cudnn.driver)
    with use_library(cublas.CUBLAS, library):
        made = rx.compile(module, target="cuda", partition=["cudnn", "cublas"], strict_partition=True)
        found = made.copying()["main"](floats(4, 1, 5, 5))
    assert "2 parts by cudnn, 1 part by cublas, 1 kernel for cuda" in repr(made)
    numpy.testing.assert_allclose(found, rx.compile(module)["main"](floats(4, 1, 5, 5)), rtol=1e-4, atol=1e-5)
    assert library.log.count("cublasLtMatmul") == 1 and not library.faults
