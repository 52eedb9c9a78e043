# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled code that calls registered functions: their values and exceptions come through, from any thread."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest
import tvm_ffi
from native import executable, signature
from relax_mlir.dialects.core.infos import ObjectInfo, ScalarInfo, tensor

NAME = "relax_mlir.test.callback"

# Calls the function with the one argument; a float that comes back is the result's only element.
CALL = f"""
func.func @f_impl(%any: !llvm.ptr, %p: memref<f64>) {{
  %value = "tir.packed"(%any) {{func = "{NAME}", tir.dtypes = ["object"], tir.types = [f64]}} : (!llvm.ptr) -> f64
  memref.store %value, %p[] : memref<f64>
  return
}}
"""
SIGNATURE = signature("f", [("value", ObjectInfo())], [tensor((), "float64")])


class OwnError(Exception):
    """Exception class of a user."""


@pytest.fixture
def function() -> Any:
    return executable(CALL, SIGNATURE)["f"]


def register(callback: Any) -> None:
    tvm_ffi.register_global_func(NAME, callback, override=True)


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def test_values_go_there_and_come_back(function: Any) -> None:
    register(lambda value: float(len(str(value))))
    assert float(numpy.from_dlpack(function("four"))) == 4
    assert float(numpy.from_dlpack(function(12345))) == 5
    assert float(numpy.from_dlpack(function(None))) == 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ValueError, KeyError, ZeroDivisionError, StopIteration, PermissionError])
def test_an_exception_comes_back_as_itself(function: Any, kind: type[Exception]) -> None:
    def fail(value: Any) -> float:
        raise kind(f"the reason is {value}")

    register(fail)
    with pytest.raises(kind, match="the reason is 3") as caught:
        function(3)
    assert caught.type is kind


def test_an_exception_of_a_registered_class(function: Any) -> None:
    tvm_ffi.register_error("OwnError", OwnError)

    def fail(value: Any) -> float:
        raise OwnError(str(value))

    register(fail)
    with pytest.raises(OwnError, match="x"):
        function("x")


def test_a_missing_function_is_an_error_until_it_is_there() -> None:
    name = "relax_mlir.test.not_yet"
    function = executable(CALL.replace(NAME, name), SIGNATURE)["f"]
    for _ in range(2):
        with pytest.raises(ValueError, match=f"no global function '{name}' is registered"):
            function(1)
    tvm_ffi.register_global_func(name, lambda value: 2.5)
    assert float(numpy.from_dlpack(function(1))) == 2.5


def test_threads_overlap_and_do_not_mix(function: Any) -> None:
    """Let four callbacks wait for each other, which only concurrent calls survive."""
    meeting = threading.Barrier(4, timeout=600)

    def callback(value: int) -> float:
        meeting.wait()
        return value * 1.5

    register(callback)

    def work(thread: int) -> list[float]:
        return [float(numpy.from_dlpack(function(thread * 100 + turn))) for turn in range(50)]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(4)))
    assert results == [[(thread * 100 + turn) * 1.5 for turn in range(50)] for thread in range(4)]


def test_errors_belong_to_their_thread(function: Any) -> None:
    def callback(value: int) -> float:
        if value % 2:
            raise ValueError(f"odd {value}")
        return float(value)

    register(callback)

    def work(value: int) -> str:
        try:
            return str(float(numpy.from_dlpack(function(value))))
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(400)))
    assert results == [f"odd {value}" if value % 2 else str(float(value)) for value in range(400)]


def test_nothing_leaks(function: Any) -> None:
    """Check arguments, results and errors: a leak of a tensor of 16 KiB per call would be 64 MiB."""
    register(lambda value: 1.0)
    several = executable(*_two_results())["two"].packed
    x = numpy.zeros(4096, numpy.float32)

    def rounds(count: int) -> None:
        for _ in range(count):
            function(x)
            several(x)
            for wrong in ((), (1,), (x.astype(numpy.float64),)):
                with pytest.raises(TypeError):
                    several(*wrong)

    rounds(500)
    gc.collect()
    before = resident()
    rounds(4000)
    gc.collect()
    assert resident() - before < 4 << 20


def test_a_kernel_that_fails_leaves_no_result_behind(function: Any) -> None:
    def fail(value: Any) -> float:
        raise ValueError("no")

    register(fail)

    def rounds(count: int) -> None:
        for _ in range(count):
            with pytest.raises(ValueError):
                function(1)

    rounds(500)
    gc.collect()
    before = resident()
    rounds(5000)
    gc.collect()
    assert resident() - before < 4 << 20


def _two_results() -> tuple[str, Any]:
    from native import ignoring

    inputs, outputs = [("x", tensor(("n",)))], [tensor(("n",)), tensor(("n",))]
    return ignoring("two", inputs, outputs), signature("two", inputs, outputs)


# Calls the function with x and y as tensors (n); y is the result.
DPS = f"""
func.func @g_impl(%x: memref<?xf32>, %y: memref<?xf32>) {{
  "tir.packed"(%x, %y) {{func = "{NAME}", tir.dtypes = ["f32", "f32"], tir.types = []}}
    : (memref<?xf32>, memref<?xf32>) -> ()
  return
}}
"""


def lending() -> Any:
    """Return a new executable, since an executable keeps the function that it found first."""
    rows = tensor(("n",))
    return executable(DPS, signature("g", [("x", rows)], [rows]))["g"]


def test_tensors_are_lent_to_a_function() -> None:
    def double(x: Any, y: Any) -> None:
        assert x.shape == y.shape == (5,)
        numpy.multiply(numpy.from_dlpack(x), 2, out=numpy.from_dlpack(y))

    register(double)
    x = numpy.arange(5, dtype=numpy.float32)
    numpy.testing.assert_array_equal(numpy.from_dlpack(lending()(x)), 2 * x)


def test_a_function_that_fails_or_keeps_what_it_was_lent() -> None:
    kept: list[Any] = []

    def fail(x: Any, y: Any) -> None:
        raise ZeroDivisionError(f"{numpy.from_dlpack(x).size} elements")

    x = numpy.arange(5, dtype=numpy.float32)
    register(fail)
    with pytest.raises(ZeroDivisionError, match="5 elements"):
        lending()(x)
    register(lambda x, y: kept.append(numpy.from_dlpack(x)))
    with pytest.raises(RuntimeError, match="has kept a tensor that lives only during the call"):
        lending()(x)


def test_objects_are_returned() -> None:
    """Return the function's objects: a single one directly, several next to a tensor in an array."""
    call = f'"tir.packed"(%any) {{func = "{NAME}", tir.dtypes = ["object"], tir.types = [!relax.object]}}'
    text = f"""
    func.func @one_impl(%any: !llvm.ptr, %result: !llvm.ptr) {{
      %0 = {call} : (!llvm.ptr) -> !llvm.ptr
      "tir.give_object"(%0, %result) : (!llvm.ptr, !llvm.ptr) -> ()
      "tir.release"(%0) : (!llvm.ptr) -> ()
      return
    }}
    func.func @many_impl(%any: !llvm.ptr, %a: !llvm.ptr, %p: memref<f32>, %b: !llvm.ptr) {{
      %0 = {call} : (!llvm.ptr) -> !llvm.ptr
      "tir.give_object"(%0, %a) : (!llvm.ptr, !llvm.ptr) -> ()
      "tir.release"(%0) : (!llvm.ptr) -> ()
      %1 = {call} : (!llvm.ptr) -> !llvm.ptr
      "tir.give_object"(%1, %b) : (!llvm.ptr, !llvm.ptr) -> ()
      "tir.release"(%1) : (!llvm.ptr) -> ()
      return
    }}
    """
    value = ("value", ObjectInfo())
    signatures = [
        signature("one", [value], [ObjectInfo()]),
        signature("many", [value], [ObjectInfo(), tensor(()), ObjectInfo()]),
    ]
    exe = executable(text, *signatures)
    turns: list[int] = []

    def callback(value: Any) -> Any:
        turns.append(1)
        if value == "second" and len(turns) % 2 == 0:
            raise LookupError("the second")
        return [value] * 1000 if isinstance(value, int) else str(value)

    register(callback)
    assert exe["one"]("a text of some length") == "a text of some length"
    assert list(exe["one"](3)) == [3] * 1000
    first, middle, last = exe["many"]("x")
    assert (first, last, tuple(middle.shape)) == ("x", "x", ())

    def rounds(count: int) -> None:
        for _ in range(count):
            exe["one"](7)
            exe["many"](7)
            turns.clear()
            with pytest.raises(LookupError, match="the second"):
                exe["many"]("second")

    rounds(100)
    before = resident()
    rounds(400)
    assert resident() - before < 4 << 20


def test_a_kernel_raises() -> None:
    text = """
    func.func @f_impl(%i: i64) {
      %limit = arith.constant 7 : i64
      %below = arith.cmpi slt, %i, %limit : i64
      "tir.assert"(%below, %i, %limit) {kind = "IndexError", message = "index {} is not below {}: 100%"}
        : (i1, i64, i64) -> ()
      return
    }"""
    function = executable(text, signature("f", [("i", ScalarInfo("i64"))]))["f"]
    assert function(6) is None
    with pytest.raises(IndexError, match="index 9 is not below 7: 100%"):
        function(9)
