# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that are launched as CUDA graphs because an estimate says that this is faster, on the emulator."""

from __future__ import annotations

import ctypes
import pickle
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy
import pytest
import tvm_ffi
from emulated_gpu import device_of_a_test
from gpu_emulator.driver import EmulatedCuda
from gpu_emulator.tensors import CudaTensor, to_numpy
from relax_mlir.runtime import Artifact, ArtifactError, Executable, load
from relax_mlir.runtime.cuda.driver import use_library
from relax_mlir.runtime.cuda.graphs import is_faster
from relax_mlir.runtime.manifest import PassedValue, Recorded, Signature, Site
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax

W = (numpy.random.default_rng(0).normal(size=(8, 8)) / 3).astype("float32")
X = numpy.random.default_rng(1).normal(size=(6, 8)).astype("float32")
PLACES = numpy.array([0, 5, -1])
LAUNCH, GRAPH = "cuLaunchKernel", "cuGraphLaunch"
PRODUCTS = 16


@pytest.fixture
def device() -> Iterator[EmulatedCuda]:
    with device_of_a_test() as library:
        yield library


@lru_cache(maxsize=1)
def programs() -> Artifact:
    """Many small kernels, behind one that may fail; a few; and many that are called with weights."""
    module = rx.Module()
    with module.function("main", [rx.tensor((6, 8)), rx.tensor((3,), "int64")]) as f:
        x, places = f
        rows = relax.take(x, places, axis=0)
        for _ in range(PRODUCTS):
            rows = relax.matmul(rows, relax.const(W))
        f.returns(rows)
    with module.function("few", [rx.tensor((6, 8))]) as f:
        (x,) = f
        f.returns(relax.matmul(x, relax.const(W)))
    return rx.compile(module, target="cuda")._artifact


def product(x: Any, places: Any = PLACES) -> Any:
    for _ in range(PRODUCTS):
        x = x @ W
    return x[places]


def given(device: EmulatedCuda, x: Any = X, places: Any = PLACES) -> tuple[Any, Any]:
    return CudaTensor(device, x), CudaTensor(device, places)


def launched(device: EmulatedCuda, call: Callable[[], Any]) -> tuple[bool, bool, Any]:
    """Return whether a call launched kernels and graphs, and its result."""
    before = [len(device.calls(name)) for name in (LAUNCH, GRAPH)]
    result = call()
    kernels, graphs = (len(device.calls(name)) - count for name, count in zip((LAUNCH, GRAPH), before, strict=True))
    return bool(kernels), bool(graphs), result


def is_right(device: EmulatedCuda, result: Any, x: Any = X, places: Any = PLACES) -> bool:
    return numpy.allclose(to_numpy(device, result), product(x, places), rtol=1e-3, atol=1e-5)


def warmed(device: EmulatedCuda, graphs: bool | None = None) -> Executable:
    """Return a program with a recorded graph for its function."""
    run = Executable(programs(), graphs=graphs)
    for _ in range(3):
        run["main"](*given(device))
    assert device.calls(GRAPH)
    return run


def test_profitable_graphs_are_recorded_at_the_third_call(device: EmulatedCuda) -> None:
    run = Executable(programs())
    assert run.graphs == ("main",)
    for expected in ((True, False), (True, False), (True, True), (False, True), (False, True)):
        kernels, graphs, y = launched(device, lambda: run["main"](*given(device)))
        assert (kernels, graphs) == expected and is_right(device, y)
        if not graphs:  # a function that is called once or twice has no memory of its own
            assert len(device.calls("cuMemAlloc_v2")) == 2
    for _ in range(4):
        assert launched(device, lambda: run.copying()["few"](X))[:2] == (True, False)


def test_the_answer_is_asked_for_no_estimate(device: EmulatedCuda) -> None:
    never, always = Executable(programs(), graphs=False), Executable(programs(), graphs=True)
    assert never.graphs == () and set(always.graphs) == {"main", "few"}
    for _ in range(4):
        assert launched(device, lambda: never["main"](*given(device)))[:2] == (True, False)
        assert launched(device, lambda: always.copying()["few"](X))[1]


def test_the_manifest_tells_what_the_estimate_needs() -> None:
    graphs = {each.name: each.graph for each in programs().signatures}
    moved = 6 * 8 * 4 + 3 * 8 + 3 * 8 * 4
    assert graphs["main"] is not None and graphs["main"][:3] == (PRODUCTS + 1, 3, moved)
    assert graphs["main"].memory > moved and graphs["few"] == (1, 2, 2 * 6 * 8 * 4, 2 * 6 * 8 * 4, 2)


def signature(launches: int, moved: int, work: int = 0, copies: int = 2, memory: int = 0) -> Signature:
    sites = (Site(0, "kernel", (), (), (), "", (), (), work),)
    return Signature("f", (), (), sites, graph=Recorded(launches, copies, moved, max(moved, memory), 2))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (signature(100, 1000), True),
        (signature(3, 1000), False),
        # Weights that are arguments.
        (signature(50, 50 << 20), False),
        (signature(100, 1 << 20), True),
        # Each tensor is a copy.
        (signature(100, 1000, copies=150), False),
        # The device has more to do than the host.
        (signature(100, 1000, work=10**9), False),
        (signature(100, 1000, work=10**7), True),
        (signature(100, 1000, memory=1 << 30), False),
        (Signature("f", (), ()), False),
        # One tensor may be passed twice.
        (
            signature(100, 1000)._replace(
                inputs=(PassedValue("tensor", "x"), PassedValue("tensor", "y", written=True))
            ),
            False,
        ),
        (signature(100, 1000)._replace(inputs=(PassedValue("tensor", "x"), PassedValue("tensor", "y"))), True),
    ],
)
def test_an_estimate(function: Signature, expected: bool) -> None:
    assert is_faster(function, 1e12) == expected


def test_the_estimate_depends_on_the_devices_bandwidth(device: EmulatedCuda) -> None:
    function = signature(100, 20 << 20)
    assert is_faster(function, 8e12) and not is_faster(function, 2e11)


@pytest.mark.parametrize(("graphs", "expected"), [(None, (True, False)), (True, (False, True))])
def test_another_stream_does_not_wait(device: EmulatedCuda, graphs: bool | None, expected: tuple[bool, bool]) -> None:
    """Decide by an estimate. With graphs=True a call uses the graph after the last launch."""
    device.streams |= {4711, 4712}
    run = warmed(device, graphs)
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), 4711):
        run["main"](*given(device))
        device.busy = {4711}
        assert launched(device, lambda: run["main"](*given(device)))[:2] == (False, True)
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), 4712):
        kernels, by_graph, y = launched(device, lambda: run["main"](*given(device)))
        assert (kernels, by_graph) == expected and is_right(device, y)
        device.busy = set()
        assert launched(device, lambda: run["main"](*given(device)))[:2] == (False, True)
    del y
    device.streams -= {4711, 4712}


@pytest.mark.slow
def test_threads_share_a_function(device: EmulatedCuda) -> None:
    run, barrier = Executable(programs()), threading.Barrier(3)

    def call(number: int) -> bool:
        barrier.wait()
        drawn = [(X + number + turn, numpy.array([number, turn, -1])) for turn in range(4)]
        return all(is_right(device, run["main"](*given(device, *each)), *each) for each in drawn)

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(call, range(3))) == [True] * 3
    assert device.calls(GRAPH) and len(device.calls("cuGraphInstantiateWithFlags")) == 1


def test_the_stream_of_each_thread_is_one_for_each(device: EmulatedCuda) -> None:
    run = warmed(device)
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), 2):
        run["main"](*given(device))
        assert launched(device, lambda: run["main"](*given(device)))[:2] == (False, True)
        device.busy = {2}
        assert launched(device, lambda: run["main"](*given(device)))[:2] == (True, False)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_another_threads_capture_continues(device: EmulatedCuda, mode: int) -> None:
    """Continue another thread's capture: in the usual mode it fails if any thread allocates memory or queries an
    event."""
    run = Executable(programs())
    with use_library(device) as driver, driver.current(driver.context(0)):
        stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
        device.cuStreamCreate(ctypes.byref(stream), 1)
        device.cuStreamBeginCapture_v2(stream, mode)

        def call() -> None:
            for _ in range(4):
                run["main"](*arguments)
            with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), 2):
                run["main"](*arguments)

        arguments = given(device)
        thread = threading.Thread(target=call)
        thread.start()
        thread.join(600)
        assert len(device.calls(GRAPH)) == 3 and device.calls("cuEventQuery")
        call()
        assert device.cuStreamEndCapture(stream, ctypes.byref(graph)) == 0
        device.cuGraphDestroy(graph)
        device.cuStreamDestroy_v2(stream)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("cuStreamCreate", 2), ("cuStreamBeginCapture_v2", 900), ("cuStreamEndCapture", 901), ("cuMemAlloc_v2", 2),
        ("cuGraphInstantiateWithFlags", 801), ("cuGraphLaunch", 2), ("cuEventCreate", 2), ("cuStreamWaitEvent", 400),
        ("cuMemcpyDtoDAsync_v2", 1),
    ],
)  # fmt: skip
def test_after_a_refused_capture_graphs_stay_off(device: EmulatedCuda, name: str, code: int) -> None:
    """From then on: nothing has asked for a graph."""
    run = Executable(programs())
    for _ in range(2):
        run["main"](*given(device))
    device.fail[name] = code
    kernels, _, y = launched(device, lambda: run["main"](*given(device)))
    assert kernels and is_right(device, y) and run.graphs == () and not device.stack()
    assert not device._capturing and not device.streams
    device.fail.clear()
    assert launched(device, lambda: run["main"](*given(device)))[:2] == (True, False)
    run.synchronize()


def test_a_graph_that_fails_later_is_left(device: EmulatedCuda) -> None:
    run = warmed(device)
    device.fail[GRAPH] = 2
    assert is_right(device, run["main"](*given(device)))
    assert run.graphs == ()


@pytest.mark.parametrize("name", ["cuEventRecord", LAUNCH])
def test_errors_outside_of_a_capture_are_raised(device: EmulatedCuda, name: str) -> None:
    run = Executable(programs())
    for _ in range(2):
        run["main"](*given(device))
    device.fail[name] = 719
    with pytest.raises(RuntimeError, match=f"{name}: CUDA_ERROR_LAUNCH_FAILED"):
        run["main"](*given(device))
    device.fail.clear()
    assert run.graphs == (() if name == LAUNCH else ("main",))
    assert is_right(device, run["main"](*given(device))) and not device.stack()


def test_without_graphs_in_the_driver_kernels_are_launched_one_at_a_time(device: EmulatedCuda) -> None:
    del device.cuGraphInstantiateWithFlags
    run = Executable(programs())
    assert run.graphs == ()
    for _ in range(4):
        assert is_right(device, run["main"](*given(device)))


def test_a_profile_is_of_kernels_and_counts_no_call(device: EmulatedCuda) -> None:
    run = Executable(programs())
    run.profile("main", X, PLACES, repeat=3, warmup=0)
    assert launched(device, run.ready("main", X, PLACES))[:2] == (False, True)


def test_the_first_failure_is_reported(device: EmulatedCuda) -> None:
    """Two calls on the device before the host looks: the graph's flag is its own, the record is the thread's."""
    run = warmed(device)
    run["main"](*given(device, X, numpy.array([0, 77, 2])))
    program = run._on_device
    assert program is not None and program.graphs is not None
    _, graph, _, memory, *_ = program.graphs._table[16:24]
    no_flag, places = numpy.zeros(1, "int32"), numpy.array([0, 99, 2])
    with use_library(device) as driver, driver.current(driver.context(0)):
        for place, array in ((0, no_flag), (256 + 256, places)):  # x is between
            device.cuMemcpyHtoD_v2(memory + place, array.ctypes.data, array.nbytes)
        device.cuGraphLaunch(graph, None)
    with pytest.raises(IndexError, match="index 77 is out of range"):
        run.synchronize()
    assert is_right(device, run["main"](*given(device)))


@pytest.mark.parametrize("graphs", ["yes", 1, 0, [], 1.0])
def test_wrong_values_of_graphs_are_refused(device: EmulatedCuda, graphs: Any, tmp_path: Path) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        (x,) = f
        f.returns(relax.negative(x))
    program = rx.compile(module)
    program.save(tmp_path / "x.rxa")
    reason = re.escape(f"graphs={graphs!r}: expected True, False, or None, which asks an estimate for each function")
    for target in ("llvm", "cuda"):
        with pytest.raises(RelaxError, match=reason):
            rx.compile(module, target=target, graphs=graphs)
    with pytest.raises(RelaxError, match=reason):
        load(tmp_path / "x.rxa", graphs=graphs)
    with pytest.raises(RelaxError, match="graphs=True: the program is compiled for"):
        rx.compile(module, graphs=True)
    assert program.graphs == ()


def test_the_answer_goes_where_the_program_goes(device: EmulatedCuda) -> None:
    for graphs, expected in ((None, ("main",)), (False, ()), (True, ("main", "few"))):
        assert pickle.loads(pickle.dumps(Executable(programs(), graphs=graphs))).graphs == expected


@pytest.mark.parametrize("wrong", [{"launches": -1}, {"bytes": "many"}, {"copies": None}, 5])
def test_a_damaged_manifest_is_refused(wrong: Any) -> None:
    artifact = programs()
    entry = next(each for each in artifact.entries if each["name"] == "main")
    entry = {**entry, "graph": {**entry["graph"], **wrong} if isinstance(wrong, dict) else wrong}
    with pytest.raises(ArtifactError, match=r"damaged: .*graph"):
        replace(artifact, entries=(entry,))
