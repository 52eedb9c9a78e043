# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several threads call one program for a device at the same time, on the emulator."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
from device_programs import KERNELS, by_hand, launch
from fake_driver import FakeDriver
from gpu_emulator.driver import Checks, EmulatedCuda
from gpu_emulator.tensors import CudaTensor, to_numpy
from relax_mlir.runtime import Executable, tensor
from relax_mlir.runtime.cuda.driver import use_library

import relax_mlir as rx
from relax_mlir import relax

THREADS = 4


@pytest.fixture
def device() -> Iterator[EmulatedCuda]:
    # After a failed kernel, later kernels read unwritten memory.
    library = EmulatedCuda(checks=Checks(unwritten=False))
    with use_library(library):
        yield library
    library.check()
    assert not library.stack()


def at_once(body: Callable[[int], Any]) -> list[Any]:
    """Return the result for each number from as many threads, which start together."""
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> Any:
        barrier.wait()
        return body(number)

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(run, range(THREADS)))


def program(body: Callable[..., Any]) -> rx.Executable:
    module = rx.Module()
    with module.function("main", [rx.tensor((6, 8)), rx.tensor((3,), "int64")]) as f:
        f.returns(body(*f))
    return rx.compile(module, target="cuda")


def picked(x: Any, places: Any) -> Any:
    return relax.nn.softmax(relax.gather_elements(x, relax.broadcast_to(relax.reshape(places, (3, 1)), (3, 8)), axis=0))


def test_each_gets_its_own_results(device: EmulatedCuda) -> None:
    run = program(lambda x, places: relax.nn.softmax(relax.take(x, places, axis=0)))

    def call(number: int) -> bool:
        x = numpy.random.default_rng(number).normal(size=(6, 8)).astype("float32")
        places = numpy.array([number, 5, 0])
        expected = numpy.exp(x[places]) / numpy.exp(x[places]).sum(1, keepdims=True)
        given = CudaTensor(device, x), CudaTensor(device, places)
        for _ in range(3):
            if not numpy.allclose(to_numpy(device, run["main"](*given)), expected, rtol=1e-4):
                return False
            if not numpy.allclose(run.copying()["main"](x, places), expected, rtol=1e-4):
                return False
        return not device.stack()  # of this thread

    assert at_once(call) == [True] * THREADS


def test_an_error_is_that_of_the_thread_whose_call_it_was(device: EmulatedCuda) -> None:
    run = program(picked)
    x = numpy.random.default_rng(0).normal(size=(6, 8)).astype("float32")
    expected = numpy.exp(x[[1, 2, 3]]) / numpy.exp(x[[1, 2, 3]]).sum(1, keepdims=True)

    def call(number: int) -> str:
        seen = ""
        is_bad = number % 2 == 1
        places = numpy.array([1, 2, 60 + number if is_bad else 3])
        for _ in range(4):
            try:
                y = run.copying()["main"](x, places)
                seen += "good " if numpy.allclose(y, expected, rtol=1e-4) else "wrong "
            except IndexError as error:
                seen += "raised " if f" {60 + number} is out of range" in str(error) else f"{error} "
        return seen + ("" if not device.stack() else "kept")

    assert at_once(call) == ["good " * 4, "raised " * 4] * (THREADS // 2)
    good = run.copying()["main"](x, numpy.array([1, 2, 3]))
    assert numpy.allclose(good, expected, rtol=1e-4)


def test_only_the_thread_that_began_it_gets_the_error() -> None:
    """Let a second thread wait between the first thread's failing call and that thread's own wait."""
    errors: list[str] = []

    def synchronized(program: rx.Executable) -> None:
        try:
            program.synchronize()
        except IndexError as error:
            errors.append(str(error))

    with use_library(FakeDriver(KERNELS)):
        record = "  %source = llvm.call @__relax_device_record(%table) : (!llvm.ptr) -> !llvm.ptr"
        program = Executable(by_hand(record + launch(1, "%source")))
        call: Any = program.copying()["main"].packed
        passed, _ = call._upload([tensor(numpy.arange(5, dtype="float32"))])
        program["main"](*passed)
        thread = threading.Thread(target=synchronized, args=(program,))
        thread.start()
        thread.join(600)
        assert not errors
        synchronized(program)
        synchronized(program)
    assert errors == ["gather 'g': index 7 of 5"]


@pytest.mark.parametrize("graphs", [False, True])
def test_two_devices_and_a_thread_whose_calls_fail(graphs: bool) -> None:
    """Keep each device's kernels, streams and graphs in its own context, for any thread."""
    library = EmulatedCuda(devices=2, checks=Checks(unwritten=False))
    with use_library(library):
        artifact = program(picked)._artifact
        programs = [Executable(artifact, device=f"cuda:{number}", graphs=graphs) for number in (0, 1)]
        x = numpy.random.default_rng(0).normal(size=(6, 8)).astype("float32")
        expected = numpy.exp(x[[1, 2, 3]]) / numpy.exp(x[[1, 2, 3]]).sum(1, keepdims=True)

        def call(number: int) -> str:
            seen = ""
            is_bad = number == 3
            for turn in range(4):
                place = (number + turn) % 2
                try:
                    y = programs[place].copying()["main"](x, numpy.array([1, 2, 60 + place if is_bad else 3]))
                    seen += "good " if numpy.allclose(y, expected, rtol=1e-4) else "wrong "
                except IndexError as error:
                    seen += "raised " if f" {60 + place} is out of range" in str(error) else f"{error} "
            return seen + ("" if not library.stack() else "kept")

        assert at_once(call) == [*["good " * 4] * 3, "raised " * 4]
        for each in programs:
            each.synchronize()
        # The emulator runs no machine code; the runtime loads PTX instead.
        assert {each.partition(":")[0] for each in library.refusals} <= {"cuModuleLoadDataEx"}
        assert bool(library.calls("cuGraphLaunch")) == graphs
        contexts = {each.arguments[0] for each in library.calls("cuCtxPushCurrent_v2")}
        assert len(contexts) == 2
        del each
        programs.clear()
        gc.collect()
        library.check()
        assert not library.leaks()
