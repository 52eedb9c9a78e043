# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrong arguments to functions with CUDA graphs, and missing memory for them.

Each gives an error that names the argument, leaks nothing, and the next call works. On the emulator.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy
import pytest
from emulated_gpu import device_of_a_test
from gpu_emulator.driver import EmulatedCuda
from gpu_emulator.tensors import CudaTensor, to_numpy
from relax_mlir.runtime import Artifact, Executable

import relax_mlir as rx
from relax_mlir import relax

W = (numpy.random.default_rng(0).normal(size=(8, 8)) / 3).astype("float32")
X = numpy.random.default_rng(1).normal(size=(6, 8)).astype("float32")
PLACES = numpy.array([0, 5, -1])


@pytest.fixture
def device() -> Iterator[EmulatedCuda]:
    with device_of_a_test(2) as library:
        yield library


@lru_cache(maxsize=1)
def picking() -> Artifact:
    module = rx.Module()
    with module.function("main", [rx.tensor((6, 8)), rx.tensor((3,), "int64")]) as f:
        x, places = f
        f.returns(relax.matmul(relax.take(x, places, axis=0), relax.const(W)), relax.sum(x, axis=[0]))
    return rx.compile(module, target="cuda")._artifact


def given(device: EmulatedCuda, places: Any = PLACES) -> tuple[Any, Any]:
    return CudaTensor(device, X), CudaTensor(device, places)


def check_good(device: EmulatedCuda, run: Executable) -> None:
    y, total = run["main"](*given(device))
    run.synchronize()
    numpy.testing.assert_allclose(to_numpy(device, y), X[PLACES] @ W, rtol=1e-4, atol=1e-6)
    numpy.testing.assert_allclose(to_numpy(device, total), X.sum(0), rtol=1e-4)
    assert not device.stack() and not device._capturing


Wrong = Callable[[EmulatedCuda], tuple[Any, ...]]
WRONG: dict[str, tuple[Wrong, str]] = {
    "dtype": (lambda d: (CudaTensor(d, X.astype("float64")), given(d)[1]), "#0 'arg0' expected dtype float32, got"),
    "integers": (lambda d: (given(d)[0], CudaTensor(d, PLACES.astype("int32"))), "#1 'arg1' expected dtype int64"),
    "size": (lambda d: (CudaTensor(d, X[:5]), given(d)[1]), "#0 'arg0' dimension 0 expected size 6, got 5"),
    "rank": (lambda d: (CudaTensor(d, X[0]), given(d)[1]), "#0 'arg0' expected rank 2"),
    "on the CPU": (lambda d: (X, PLACES), r"#0 'arg0' expected a .* cuda:0, got one on cpu:0; executable.copying"),
    "one on the CPU": (lambda d: (given(d)[0], PLACES), "#1 'arg1' expected a tensor on cuda:0, got one on cpu:0"),
    "another device": (lambda d: (CudaTensor(d, X, 1), given(d)[1]), r"#0 'arg0' expected a .* cuda:0, got .* cuda:1"),
    "none": (lambda d: (None, given(d)[1]), "#0 'arg0' expected a tensor"),
    "too few": (lambda d: given(d)[:1], r"expected 2 arguments \(arg0, arg1\), got 1"),
    "too many": (lambda d: (*given(d), given(d)[0]), r"expected 2 arguments \(arg0, arg1\), got 3"),
    "text": (lambda d: ("x", given(d)[1]), "#0 'arg0' expected a tensor"),
    "list": (lambda d: ([given(d)[0]], given(d)[1]), "#0 'arg0' expected numbers of float32"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_of_a_graph(device: EmulatedCuda, name: str) -> None:
    """Before it is recorded, and once it is."""
    make, expected = WRONG[name]
    run = Executable(picking(), graphs=True)
    for _ in range(2):
        with pytest.raises((TypeError, ValueError, RuntimeError), match=expected):
            run["main"](*make(device))
        check_good(device, run)
    launches = len(device.calls("cuGraphLaunch"))
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        run["main"](*make(device))
    assert len(device.calls("cuGraphLaunch")) == launches


@pytest.mark.parametrize("number", range(1, 12))
def test_no_room_at_any_allocation(device: EmulatedCuda, number: int) -> None:
    """Fail each allocation of the recording call: its results, the graph's memory, the graph's temporaries."""
    run = Executable(picking(), graphs=True)
    for name in ("cuMemAllocAsync", "cuMemAlloc_v2"):
        device.fail[name] = (len(device.calls(name)) + number, 2)
    failed = False
    try:
        run["main"](*given(device))
        run["main"](*given(device))
    except MemoryError as error:
        failed = (
            "main: result #" in str(error) or "main, as a CUDA graph" in str(error) or "@main: out of" in str(error)
        )
        assert failed, error
    assert failed or number > 4
    device.fail.clear()
    check_good(device, run)


def test_the_program_goes_while_results_and_functions_stay(device: EmulatedCuda) -> None:
    run = Executable(picking(), graphs=True)
    function = run["main"]
    for _ in range(2):
        y, _ = function(*given(device))
    del run
    gc.collect()
    z, _ = function(*given(device))
    del function
    gc.collect()
    for each in (y, z):
        numpy.testing.assert_allclose(to_numpy(device, each), X[PLACES] @ W, rtol=1e-4, atol=1e-6)
    assert not device.graphs and not device.events
