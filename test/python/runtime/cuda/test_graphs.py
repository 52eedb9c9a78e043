# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of known sizes launched as CUDA graphs, on the emulator: they are recorded once, and replayed."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy
import pytest
from emulated_gpu import device_of_a_test
from gpu_emulator.driver import EmulatedCuda
from gpu_emulator.tensors import CudaTensor, to_numpy
from relax_mlir.runtime import Artifact, ArtifactError, Executable, load
from relax_mlir.runtime.cuda.driver import use_library
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax

W = numpy.random.default_rng(0).normal(size=(8, 8)).astype("float32")
X = numpy.random.default_rng(1).normal(size=(6, 8)).astype("float32")
BRANCH = """
func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %b = tensor.extract %c[] : tensor<i1>
  %r = scf.if %b -> (tensor<4xf32>) {
    %1 = "relax.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %1 : tensor<4xf32>
  } else {
    %2 = "relax.negative"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}"""
IN_PLACE = """
func.func @double(%x: memref<4xf32>) attributes {tir.prim_func} {
  linalg.add ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%x : memref<4xf32>)
  return
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.call_tir_inplace"(%x) {func = @double, inplace_indices = [0]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.negative"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"""
LAUNCH, GRAPH = "cuLaunchKernel", "cuGraphLaunch"


@pytest.fixture
def device() -> Iterator[EmulatedCuda]:
    with device_of_a_test() as library:
        yield library


@lru_cache(maxsize=1)
def picking() -> Artifact:
    """Return picked rows, which may fail, times weights, and a softmax of them, as two results."""
    module = rx.Module()
    with module.function("main", [rx.tensor((6, 8)), rx.tensor((3,), "int64")]) as f:
        x, places = f
        rows = relax.matmul(relax.take(x, places, axis=0), relax.const(W))
        f.returns(relax.nn.softmax(rows), relax.sum(x, axis=[0]))
    with module.function("any", [rx.tensor(("n", 8))]) as f:
        (x,) = f
        f.returns(relax.nn.softmax(x))
    return rx.compile(module, target="cuda")._artifact


def picked(x: Any, places: Any) -> Any:
    powers = numpy.exp(x[places] @ W)
    return powers / powers.sum(1, keepdims=True)


def count(device: EmulatedCuda, call: Callable[[], Any]) -> tuple[int, int, Any]:
    """Return the numbers of kernels and graphs that the host launches in a call, and the result."""
    before = [len(device.calls(name)) for name in (LAUNCH, GRAPH)]
    result = call()
    return len(device.calls(LAUNCH)) - before[0], len(device.calls(GRAPH)) - before[1], result


def test_a_graph_is_recorded_once_and_replayed(device: EmulatedCuda) -> None:
    """Pass other arrays at other addresses each time: a graph with the first addresses would repeat the first
    result."""
    run = Executable(picking(), graphs=True)
    recorded = 0
    kept = []
    for number in range(4):
        x, places = X + number, numpy.array([number, 5, -1])
        given = CudaTensor(device, x), CudaTensor(device, places)
        kernels, graphs, (y, total) = count(device, lambda given=given: run["main"](*given))  # type: ignore[misc]
        recorded += kernels
        assert graphs == 1 and bool(kernels) == (number == 0)
        kept.append((y, total, x, places))
    assert recorded > 2
    for y, total, x, places in kept:  # results are tensors of their own
        numpy.testing.assert_allclose(to_numpy(device, y), picked(x, places), rtol=1e-4)
        numpy.testing.assert_allclose(to_numpy(device, total), x.sum(0), rtol=1e-4)
    # The emulator runs no machine code; the runtime loads PTX instead.
    assert {each.name for each in device.log if each.result} <= {"cuModuleLoadDataEx"}


def test_without_the_option_nothing_is_recorded(device: EmulatedCuda) -> None:
    run = Executable(picking(), graphs=False)
    kernels, graphs, _ = count(device, lambda: [run.copying()["main"](X, numpy.array([0, 1, 2])) for _ in range(2)])
    assert kernels and not graphs and not device.calls("cuStreamBeginCapture_v2")


def test_unknown_sizes_are_launched_kernel_by_kernel(device: EmulatedCuda) -> None:
    run = Executable(picking(), graphs=True)
    for size in (3, 5):
        kernels, graphs, y = count(device, lambda size=size: run.copying()["any"](X[:size]))  # type: ignore[misc]
        assert kernels and not graphs
        numpy.testing.assert_allclose(y.sum(1), numpy.ones(size), rtol=1e-5)


def test_branches_on_device_values_are_launched_kernel_by_kernel(device: EmulatedCuda) -> None:
    """Launch kernels one by one for a branch on a device value: a graph would record one branch."""
    run = Executable(rx.compile(rx.Module.parse(BRANCH), target="cuda")._artifact, graphs=True)
    x = X[0, :4]
    for flag in (True, False, True):
        assert (run.copying()["main"](numpy.array(flag), x) == (x + x if flag else -x)).all()
    assert not device.calls(GRAPH)


def test_a_replayed_graph_writes_to_the_callers_arrays(device: EmulatedCuda) -> None:
    run = Executable(rx.compile(rx.Module.parse(IN_PLACE), target="cuda")._artifact, graphs=True)
    for number in range(3):
        x = numpy.full(4, number, "float32")
        assert (run.copying()["main"](x) == -2 * number).all() and (x == 2 * number).all()
    assert len(device.calls(GRAPH)) == 3


def test_an_assertion_in_a_graph_does_not_affect_later_calls(device: EmulatedCuda) -> None:
    run = Executable(picking(), graphs=True)
    call = run.copying()["main"]
    for _ in range(3):
        with pytest.raises(IndexError, match=r"index 77 is out of range for axis 0 of size 6"):
            call(X, numpy.array([0, 77, 2]))
        numpy.testing.assert_allclose(call(X, numpy.array([0, 1, 2]))[0], picked(X, [0, 1, 2]), rtol=1e-4)
    assert len(device.calls(GRAPH)) == 6


def test_an_assertion_is_raised_in_the_thread_that_launched_the_graph(device: EmulatedCuda) -> None:
    """Another thread has recorded the graph."""
    run = Executable(picking(), graphs=True)
    thread = threading.Thread(target=lambda: run.copying()["main"](X, numpy.array([0, 1, 2])))
    thread.start()
    thread.join(600)
    run["main"](CudaTensor(device, X), CudaTensor(device, numpy.array([0, 6, 2])))
    other = threading.Thread(target=lambda: results.append(run.synchronize()))  # type: ignore[func-returns-value]
    results: list[None] = []
    other.start()
    other.join(600)
    assert results == [None]
    with pytest.raises(IndexError, match="index 6 is out of range"):
        run.synchronize()


def test_a_graph_is_launched_on_the_callers_stream(device: EmulatedCuda) -> None:
    import tvm_ffi

    run = Executable(picking(), graphs=True)
    given = CudaTensor(device, X), CudaTensor(device, numpy.array([0, 1, 2]))
    run["main"](*given)
    own = run["main"]
    device.streams.add(4711)
    start = len(device.log)
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), 4711):
        own(*given)
    calls = [each for each in device.log[start:] if each.name not in ("cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2")]
    names = [each.name for each in calls]
    # The launch uses the graph's memory after the previous launch on another stream, which it knows by an event.
    ordered = [names.index(name) for name in ("cuStreamWaitEvent", "cuMemcpyDtoDAsync_v2", GRAPH, "cuEventRecord")]
    assert ordered == sorted(ordered)
    waited, recorded = (calls[ordered[place]] for place in (0, -1))
    assert waited.arguments[0] == 4711 and recorded.arguments == (waited.arguments[1], 4711)
    assert all(each.arguments[-1] == 4711 for each in calls if "Async" in each.name or each.name == GRAPH)
    device.streams.discard(4711)


def test_a_callers_own_recording_gets_the_kernels(device: EmulatedCuda) -> None:
    """Launch kernels inside of a caller's recording, such as torch.cuda.graph: a graph with allocations cannot be
    nested."""
    import ctypes

    import tvm_ffi

    run = Executable(picking(), graphs=True)
    given = CudaTensor(device, X), CudaTensor(device, numpy.array([0, 1, 2]))
    run["main"](*given)
    with use_library(device) as driver, driver.current(driver.context(0)):
        stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
        device.cuStreamCreate(ctypes.byref(stream), 1)
        device.cuStreamBeginCapture_v2(stream, 1)
        with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), stream.value):
            kernels, graphs, results = count(device, lambda: run["main"](*given))
        assert kernels and not graphs
        assert device.cuStreamEndCapture(stream, ctypes.byref(graph)) == 0
        del results
        device.cuGraphDestroy(graph)
        device.cuStreamDestroy_v2(stream)


def test_threads_share_a_function(device: EmulatedCuda) -> None:
    run = Executable(picking(), graphs=True)
    barrier = threading.Barrier(4)

    def call(number: int) -> bool:
        barrier.wait()
        good = []
        for turn in range(4):
            x, places = X + number + turn, numpy.array([number, turn, 2])
            try:
                y, _ = run.copying()["main"](x, places if number else places + 60)
                good.append(bool(number) and numpy.allclose(y, picked(x, places), rtol=1e-3))
            except IndexError:
                good.append(not number)
        return all(good) and not device.stack()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(call, range(4))) == [True] * 4
    assert device.calls(GRAPH) and len(device.calls("cuGraphInstantiateWithFlags")) == 1


def test_a_profile_is_of_kernels(device: EmulatedCuda) -> None:
    run = Executable(picking(), graphs=True)
    given = X, numpy.array([0, 1, 2])
    run.copying()["main"](*given)
    profile = run.profile("main", *given, repeat=2, warmup=0)
    assert {"take", "matmul", "nn_softmax"} <= {each.kernel for each in profile.kernels if each.seconds}
    assert count(device, lambda: run.copying()["main"](*given))[:2] == (0, 1)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("cuStreamCreate", 2), ("cuStreamBeginCapture_v2", 900), ("cuStreamEndCapture", 901), ("cuMemAlloc_v2", (2, 2)),
        ("cuGraphInstantiateWithFlags", 801), ("cuGraphLaunch", 719), ("cuEventCreate", 2), ("cuStreamWaitEvent", 400),
        ("cuEventRecord", 400),
    ],
)  # fmt: skip
def test_errors_of_the_driver_are_raised_by_name(device: EmulatedCuda, name: str, code: Any) -> None:
    """Raise the driver's error by name, and record in the next call if the driver allows it."""
    run = Executable(picking(), graphs=True)
    device.fail[name] = code if isinstance(code, tuple) else (1, code)
    if name == "cuMemAlloc_v2":
        device.fail[name] = (len(device.calls(name)) + 1, 2)
    with pytest.raises((RuntimeError, MemoryError)) as caught:
        run.copying()["main"](X, numpy.array([0, 1, 2]))
    message = str(caught.value)
    label = "main, as a CUDA graph (graphs=False launches kernels one by one)"
    assert message.startswith(f"{label}: {name.removesuffix('_v2')}: CUDA_ERROR_"), message
    device.fail.clear()
    y, _ = run.copying()["main"](X, numpy.array([0, 1, 2]))
    numpy.testing.assert_allclose(y, picked(X, [0, 1, 2]), rtol=1e-4)
    assert device.calls(GRAPH)[-1].result == 0 and not device.stack()


def test_a_launch_that_fails_while_it_is_recorded(device: EmulatedCuda) -> None:
    run = Executable(picking(), graphs=True)
    device.fail[LAUNCH] = (2, 701)
    with pytest.raises(RuntimeError, match="cuLaunchKernel: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"):
        run.copying()["main"](X, numpy.array([0, 1, 2]))
    assert not device._capturing and not device.streams and not device.graphs
    y, _ = run.copying()["main"](X, numpy.array([0, 1, 2]))
    numpy.testing.assert_allclose(y, picked(X, [0, 1, 2]), rtol=1e-4)


def test_the_option_goes_where_the_program_goes(device: EmulatedCuda, tmp_path: Path) -> None:
    Executable(picking()).save(tmp_path / "x.rxa")
    run = load(tmp_path / "x.rxa", graphs=True)
    again = pickle.loads(pickle.dumps(run))
    for each in (run, again):
        assert count(device, lambda each=each: each.copying()["main"](X, numpy.array([0, 1, 2])))[1] == 1  # type: ignore[misc]


def test_where_there_are_no_graphs_it_is_said(device: EmulatedCuda) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        (x,) = f
        f.returns(relax.negative(x))
    with pytest.raises(
        RelaxError, match="graphs=True: the program is compiled for cpu, a kind of device without graphs"
    ):
        Executable(rx.compile(module)._artifact, graphs=True)
    del device.cuGraphInstantiateWithFlags
    with pytest.raises(ArtifactError, match=r"no cuGraphInstantiateWithFlags: it is too old, CUDA 11.4 is the oldest"):
        Executable(picking(), graphs=True)
