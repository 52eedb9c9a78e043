# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Watched functions of parts: unwritten outputs, and writes to inputs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from ml_dtypes import bfloat16
from partitioning import built, codegen
from relax_mlir.runtime import Call, CallList, NativeFunction, Passed
from relax_mlir.runtime.watching import VARIABLE, watched

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op

DTYPES = ["bool", "int4", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"]
PART = "fused_exp_npu"


def tensors(*arrays: Any) -> list[Any]:
    return [rx.runtime.tensor(each) for each in arrays]


def array(shape: Any, dtype: str) -> Any:
    """Return an array of zeros, with int4 in bytes like in the runtime."""
    return numpy.zeros(shape, "int8" if dtype == "int4" else dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_output_that_is_not_written(dtype: str) -> None:
    x, first, second = tensors(*(array((3, 5), dtype) for _ in range(3)))
    with pytest.raises(rx.RelaxError, match="it has left output 1 unwritten, from element 0 on"):
        watched(lambda x, a, b: numpy.from_dlpack(a).fill(1), 1)(x, first, second)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_that_are_not_written(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if array(1, dtype).itemsize == 1:
        monkeypatch.setenv(VARIABLE, "1")  # any byte may be a result, so single bytes are checked on request only
    x, out = tensors(array((3, 5), dtype), array((3, 5), dtype))
    with pytest.raises(rx.RelaxError, match="it has left output 0 unwritten, from element 7 on"):
        watched(lambda x, out: numpy.from_dlpack(out).reshape(-1)[:7].fill(1), 1)(x, out)


def test_results_of_bytes_are_computed_once() -> None:
    """Call once if a result has all bytes, including the fill value: this is no reason to call again."""
    calls = []

    def write(out: Any) -> None:
        calls.append(1)
        numpy.copyto(numpy.from_dlpack(out), numpy.arange(256).astype("int8"))

    watched(write, 0)(*tensors(numpy.zeros(256, "int8")))
    assert len(calls) == 1


def test_halves_are_bits() -> None:
    x, out = tensors(numpy.zeros(4, bfloat16), numpy.zeros(4, bfloat16))
    with pytest.raises(rx.RelaxError, match="left output 0 unwritten"):
        watched(lambda x, out: None, 1)(x, out)


@pytest.mark.parametrize("dtype", DTYPES)
def test_whatever_is_written_is_written(dtype: str) -> None:
    """Write all bits, including the fill value of the outputs."""
    bits = numpy.frombuffer(b"\xf5\xff" * 8 + b"\x0a\x00" * 8 + bytes(range(256)), array(1, dtype).dtype)
    (out,) = tensors(numpy.zeros_like(bits))
    watched(lambda out: numpy.copyto(numpy.from_dlpack(out), bits), 0)(out)
    assert numpy.from_dlpack(out).tobytes() == bits.tobytes()


def test_empty_outputs_and_workspaces_are_not_checked() -> None:
    """Ignore bytes after other outputs, which may be a workspace."""
    watched(lambda x, out: None, 1)(*tensors(numpy.zeros(0, "float32"), numpy.zeros((2, 0), "float32")))
    out, room = tensors(numpy.zeros(2, "float32"), numpy.zeros(64, "uint8"))
    watched(lambda out, room: numpy.from_dlpack(out).fill(1), 0)(out, room)


def test_an_output_may_be_an_input() -> None:
    (both,) = tensors(numpy.ones(3, "float32"))
    watched(lambda x, out: numpy.multiply(numpy.from_dlpack(x), 2, out=numpy.from_dlpack(out)), 1)(both, both)
    assert numpy.from_dlpack(both).tolist() == [2, 2, 2]


def program_of(function: Callable[..., Any]) -> Any:
    load = lambda self, data: {PART: function}  # noqa: E731
    with codegen([("npu.exp", is_op("relax.exp"))], compile=lambda *_: b"", load=load) as npu:
        program = rx.compile(built(lambda a, b: relax.exp(a)), partition=[npu])
        program["main"]  # is loaded
        return program


def test_later_calls_where_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name codegen, part, output and the function's location in the error."""
    a, calls = numpy.ones((4, 4), "float32"), []

    def late(x: Any, out: Any) -> None:
        calls.append(1)
        if len(calls) < 3:
            numpy.from_dlpack(out).fill(1)

    main = program_of(late)["main"]
    for _ in range(4):
        main(a, a)
    monkeypatch.setenv(VARIABLE, "1")
    calls.clear()
    main = program_of(late)["main"]
    for _ in range(2):
        main(a, a)
    message = f"codegen 'npu', part '{PART}'.*left output 0 unwritten.*at runtime/test_watching.py:"
    with pytest.raises(RuntimeError, match=message):
        main(a, a)


def test_inputs_that_are_written_later(monkeypatch: pytest.MonkeyPatch) -> None:
    a, calls = numpy.ones((4, 4), "float32"), []

    def spoil(x: Any, out: Any) -> None:
        calls.append(1)
        numpy.from_dlpack(out).fill(1)
        if len(calls) == 2:
            numpy.from_dlpack(x).fill(3)

    monkeypatch.setenv(VARIABLE, "1")
    main = program_of(spoil)["main"]
    main(a, a)
    with pytest.raises(RuntimeError, match="it has written into input 0"):
        main(a, a)


def copied(count: int) -> Callable[..., CallList]:
    return lambda *_: CallList([Call(ctypes.CDLL(None).memcpy, [Passed(1), Passed(0), count])])


def test_functions_that_are_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    import tvm_ffi

    a = numpy.ones((4, 4), "float32")
    monkeypatch.setenv(VARIABLE, "1")
    program_of(NativeFunction(copied(64), arguments=2))["main"](a, a)
    with pytest.raises(RuntimeError, match=f"part '{PART}'.*left output 0 unwritten, from element 2 on"):
        program_of(NativeFunction(copied(8), arguments=2))["main"](a, a)
    with pytest.raises(RuntimeError, match=f"part '{PART}'.*left output 0 unwritten"):
        program_of(tvm_ffi.convert(lambda x, out: None))["main"](a, a)
