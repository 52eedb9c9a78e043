# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recorded commands of functions of known sizes on Vulkan, one set for each set of addresses."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from real_devices import compiled, device_without_leaks, page
from relax_mlir import relax

_ROWS = 4
_W = numpy.random.default_rng(0).normal(size=(8, 8)).astype("float32")


@pytest.fixture(autouse=True)
def kind() -> Iterator[str]:
    yield from device_without_leaks("vulkan")


def layers(count: int = 3) -> rx.Module:
    """Return products with rows in between: launches of several kernels, with temporaries."""
    module = rx.Module()
    with module.function("main", [rx.tensor((4, 8), "float32")]) as f:
        (x,) = f
        for _ in range(count):
            x = relax.nn.softmax(relax.matmul(x, relax.const(_W)), axis=-1)
        f.returns(x)
    return module


def given(seed: int) -> Any:
    return numpy.random.default_rng(seed).normal(size=(4, 8)).astype("float32")


def expected(x: Any, count: int = 3) -> Any:
    for _ in range(count):
        x = numpy.exp(x @ _W - (x @ _W).max(axis=-1, keepdims=True))
        x = x / x.sum(axis=-1, keepdims=True)
    return x


def check(program: rx.runtime.Executable, calls: int = 6) -> None:
    for seed in range(calls):
        found = numpy.asarray(program.copying()["main"](given(seed)))
        numpy.testing.assert_allclose(found, expected(given(seed)), rtol=1e-4, atol=1e-6)


def device_of(program: rx.runtime.Executable) -> Any:
    assert program._on_device is not None
    return program._on_device


def kept(program: rx.runtime.Executable) -> int:
    found: int = device_of(program).graphs.recorded("main")
    return found


def read(program: rx.runtime.Executable, tensor: Any) -> Any:
    found = numpy.empty(tensor.shape, "float32")
    program.synchronize()
    device_of(program).read(found.ctypes.data, tensor.data_ptr(), found.nbytes)
    return found


def test_calls_with_the_same_addresses() -> None:
    """Record in the second call with the same addresses: each argument is copied to the previous one's place."""
    program = compiled("vulkan", layers())
    assert program.graphs == ("main",)
    check(program, 1)
    assert kept(program) == 0
    check(program, 1)
    assert kept(program) == 1
    check(program)
    assert kept(program) == 1


def test_the_option_graphs_enables_recorded_commands() -> None:
    at_once, never = (compiled("vulkan", layers(), graphs=graphs) for graphs in (True, False))
    check(at_once, 1)
    assert kept(at_once) == 1
    check(never)
    assert never.graphs == ()
    single = rx.Module()
    with single.function("main", [rx.tensor((4,), "float32")]) as f:
        (x,) = f
        f.returns(relax.add(x, x))
    assert compiled("vulkan", single).graphs == ()
    assert compiled("vulkan", single, graphs=True).graphs == ("main",)


def test_tensors_in_turns() -> None:
    """Keep commands for four sets of addresses. Others replace them, with a bounded amount of memory."""
    program = compiled("vulkan", layers())
    tensors = [program.copying().upload(given(seed)) for seed in range(_ROWS + 2)]
    taken, results = set(), list[Any]()
    for turn in range(24):
        results.clear()
        if turn > 4:
            taken.add(page("vulkan").pieces_taken)
        results = [program["main"](each) for each in tensors]
        for seed, result in enumerate(results):
            found = read(program, result)
            numpy.testing.assert_allclose(found, expected(given(seed)), rtol=1e-4, atol=1e-6)
    assert kept(program) == _ROWS
    assert len(taken) == 1
    first_function = 16
    assert device_of(program).graphs._table[first_function + 1] == 0


def test_memory_of_commands_is_their_own() -> None:
    """Separate temporaries of a recording from tensors that are allocated after it."""
    program = compiled("vulkan", layers())
    check(program)
    marks = [numpy.full(64 << position, position, "float32") for position in range(8)]
    others = [program.copying().upload(each) for each in marks]
    check(program)
    for mark, other in zip(marks, others, strict=True):
        numpy.testing.assert_array_equal(read(program, other), mark)


def checked_index() -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor((8,), "float32"), rx.tensor((3,), "int64")]) as f:
        x, places = f
        f.returns(relax.cumsum(relax.take(relax.cumsum(x), places, axis=0)))
    return module


def test_recorded_commands_raise_assertions_of_their_call() -> None:
    """Raise a kernel's assertion in each failing call, and in no other call."""
    program = compiled("vulkan", checked_index())
    call = program.copying()["main"]
    x, good, bad = numpy.arange(8, dtype="float32"), numpy.array([0, 7, 2]), numpy.array([0, 8, 2])
    right = numpy.cumsum(numpy.cumsum(x)[good])
    for places in (good, good, bad, good, bad, bad, good):
        if places is good:
            numpy.testing.assert_allclose(numpy.asarray(call(x, places)), right)
        else:
            with pytest.raises(IndexError, match="8"):
                call(x, places)
    assert kept(program) == 1


def test_recorded_commands_raise_assertions_in_the_calling_thread() -> None:
    """Raise the error in the calling thread, also for tensors with commands that another thread recorded."""
    program = compiled("vulkan", checked_index())
    tensors = [program.copying().upload(each) for each in (numpy.arange(8, dtype="float32"), numpy.array([0, 7, 2]))]
    for _ in range(3):
        program["main"](*tensors)
    program.synchronize()
    assert kept(program) == 1
    bad, caught = numpy.array([0, 8, 2]), list[str]()
    device_of(program).write(tensors[1].data_ptr(), bad.ctypes.data, bad.nbytes)

    def call() -> None:
        for _ in range(3):
            try:
                program["main"](*tensors)
                program.synchronize()
            except IndexError as error:
                caught.append(str(error))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert len(caught) == 3
    program.synchronize()


def test_threads() -> None:
    """Call a function and another program's function from several threads at once."""
    programs = [compiled("vulkan", layers(count)) for count in (2, 3)]
    wrong: list[str] = []

    def run(number: int) -> None:
        program, count = programs[number % 2], 2 + number % 2
        for turn in range(25):
            seed = 100 * number + turn
            found = numpy.asarray(program.copying()["main"](given(seed)))
            if not numpy.allclose(found, expected(given(seed), count), rtol=1e-4, atol=1e-6):
                wrong.append(f"thread {number}, turn {turn}")

    threads = [threading.Thread(target=run, args=[number]) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []
    assert all(map(kept, programs))


def joined(count: int) -> rx.Module:
    """Return a kernel of `count` tensors: with more parameters than push constants it receives their address."""
    module = rx.Module()
    with module.function("main", [rx.tensor((2, 3), "float32") for _ in range(count)]) as f:
        f.returns(relax.cumsum(relax.concat(list(f), axis=0), axis=0))
    return module


@pytest.mark.parametrize("has_room", [True, False])
def test_parameters_in_memory(has_room: bool) -> None:
    """Without room for them nothing is kept, and calls launch kernel by kernel."""
    program = compiled("vulkan", joined(20))
    call = program.copying()["main"]
    for turn in range(5):
        tensors = [numpy.random.default_rng([turn, each]).random((2, 3), "float32") for each in range(20)]
        expected = numpy.cumsum(numpy.concatenate(tensors), axis=0)
        numpy.testing.assert_allclose(numpy.asarray(call(*tensors)), expected, rtol=1e-5)
        if not has_room:
            for rows in device_of(program).graphs._rows:
                rows[4::8] = [0] * _ROWS
    assert kept(program) == has_room
    assert program.graphs == (("main",) if has_room else ())


def test_memory_that_runs_out_while_recording() -> None:
    program = compiled("vulkan", layers())
    call, x = program.copying()["main"], given(0)
    check(program, 1)
    tensor = program.copying().upload(x)
    program["main"](tensor)
    program.synchronize()
    with device_of(program).without_room(), pytest.raises(MemoryError):
        program["main"](tensor)
    check(program)
    numpy.testing.assert_allclose(numpy.asarray(call(x)), expected(x), rtol=1e-4, atol=1e-6)


def test_a_profile_is_of_single_kernels() -> None:
    program = compiled("vulkan", layers())
    check(program)
    profile = program.profile("main", program.copying().upload(given(0)), repeat=2)
    assert len(profile.kernels) >= 2 and all(each.seconds > 0 for each in profile.kernels)
    check(program)
