# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts for oneDNN in programs, which call oneDNN without Python."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from compiling import array
from dnnl_models import floats, residual_block
from dnnl_parts import build_part, built
from relax_mlir import relax
from relax_mlir.runtime.native_calls import Call
from relax_mlir_dnnl.runtime import objects
from relax_mlir_dnnl.runtime.library import library
from relax_mlir_dnnl.runtime.primitive_plan import PrimitivePlan
from relax_mlir_dnnl.runtime.runtime import DnnlRuntime, Planned

const = relax.const


def compiled(module: rx.Module, how: str = "dnnl") -> Any:
    return rx.compile(module, partition=[how], strict_partition=True)


def dense(rows: Any = 4) -> rx.Module:
    return built(lambda x: relax.nn.relu(relax.matmul(x, const(floats(8, 5)))), (rows, 8))


def expected(data: Any) -> Any:
    return numpy.maximum(data @ floats(8, 5), 0)


def test_python_runs_once_per_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    listed = Planned._make_calls
    monkeypatch.setattr(
        Planned, "_make_calls", lambda self, *given: asked.append(given[0].shape[0]) or listed(self, *given)
    )
    fixed, symbolic = compiled(dense())["main"], compiled(dense("n"))["main"]
    for count in (4, 2, 4, 7, 2, 7):
        data = floats(count, 8, seed=count)
        numpy.testing.assert_allclose(array(symbolic(data)), expected(data), rtol=1e-4, atol=1e-5)
        numpy.testing.assert_allclose(array(fixed(floats(4, 8))), expected(floats(4, 8)), rtol=1e-4, atol=1e-5)
    assert asked == [4, 4, 2, 7]


def test_sizes_in_many_threads() -> None:
    """Call from many threads, with sizes that differ between threads and sizes that threads share."""
    main = compiled(dense("n"))["main"]

    def run(number: int) -> None:
        for turn in range(30):
            data = floats(1 + (number + turn) % 4, 8, seed=number)
            numpy.testing.assert_allclose(array(main(data)), expected(data), rtol=1e-4, atol=1e-5)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run, range(6)))


def test_failed_call_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report the part and oneDNN's function. The number of OpenMP threads is restored even after a failure."""
    openmp = ctypes.CDLL("libgomp.so.1")
    listed = PrimitivePlan.make_calls

    def broken(self: PrimitivePlan, threads: int | None = None) -> Any:
        made = listed(self, threads)
        if threads is not None:
            wrong = Call(library().function("memory_set_data_handle"), [None, None], is_status=True)
            made.calls.insert(2, wrong)  # type: ignore[attr-defined]
        return made

    monkeypatch.setattr(PrimitivePlan, "make_calls", broken)
    main = compiled(dense(), "dnnl{threads=2}")["main"]
    before = openmp.omp_get_max_threads()
    openmp.omp_set_num_threads(3)
    try:
        with pytest.raises(RuntimeError, match=r"codegen 'dnnl', part '\w+'.*: dnnl_memory_set_data_handle gave 2$"):
            main(floats(4, 8))
        assert openmp.omp_get_max_threads() == 3
    finally:
        openmp.omp_set_num_threads(before)


def test_openmp_threads_are_restored() -> None:
    openmp = ctypes.CDLL("libgomp.so.1")
    main = compiled(dense(), "dnnl{threads=2}")["main"]
    before = openmp.omp_get_max_threads()
    openmp.omp_set_num_threads(3)
    try:
        main(floats(4, 8))
        assert openmp.omp_get_max_threads() == 3
    finally:
        openmp.omp_set_num_threads(before)


def test_objects_are_destroyed_with_their_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Destroy all objects of oneDNN together with their program."""
    path = tmp_path / "model.rxa"
    compiled(built(lambda x: residual_block(x, 4), (1, 4, 6, 6))).save(path)
    data = floats(1, 4, 6, 6)
    alive: set[int] = set()
    seen: list[int] = []
    make, drop = objects._Object.__init__, objects._Object.__del__

    def made(self: Any, *given: Any) -> None:
        make(self, *given)
        alive.add(id(self))
        seen.append(len(alive))

    def dropped(self: Any) -> None:
        alive.discard(id(self))
        drop(self)

    monkeypatch.setattr(objects._Object, "__init__", made)
    monkeypatch.setattr(objects._Object, "__del__", dropped)
    first = array(rx.runtime.load(path)["main"](data)).copy()
    for _ in range(50):
        numpy.testing.assert_array_equal(array(rx.runtime.load(path)["main"](data)), first)
    gc.collect()
    assert not alive and max(seen) > 5


def test_tensors_with_gaps_are_refused() -> None:
    (function,) = DnnlRuntime().load(memoryview(build_part(dense()).data)).values()
    with pytest.raises(rx.RelaxError, match=r"argument 0 has strides \(16, 2\), expected a row-major tensor"):
        function(numpy.zeros((4, 16), "float32")[:, ::2], numpy.zeros((4, 5), "float32"))


MEMORY = """
import re
import numpy
import relax_mlir as rx
from relax_mlir import relax


def megabytes(name):
    return int(re.search(name + r":\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024


def compiled(count):
    module = rx.Module()
    with module.function("main", [rx.tensor((2, count))]) as f:
        y = relax.matmul(*f, relax.const(numpy.ones((count, count), "float32")))
        f.returns(relax.nn.relu(y))
    return rx.compile(module, partition=["dnnl"], cache=False, strict_partition=True)


compiled(8)
weight = 4 * 4096 * 4096 / 2**20
before = megabytes("VmHWM")
program = compiled(4096)
print((megabytes("VmHWM") - before - weight) / weight)
"""


def test_constants_are_copied_once_while_compiling() -> None:
    """Copy constants only into the bytes of the part. The user's array is not counted."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1.5
