# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions called from Python: accepted, copied and refused arguments, and the type of the results."""

from __future__ import annotations

import array
import contextlib
import ctypes
import datetime
import gc
import inspect
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import fake_framework
import ml_dtypes
import numpy
import pytest
import tvm_ffi
from relax_mlir.runtime import Executable, UnsupportedArray, tensor, to_numpy
from relax_mlir.runtime.manifest import PassedValue, parse_signature

import relax_mlir as rx
from relax_mlir import relax


def compiled(inputs: dict[str, Any], body: Callable[..., Any]) -> Any:
    module = rx.Module()
    with module.function("main", inputs) as f:
        results = body(*f)
        f.returns(*(results if isinstance(results, tuple) else (results,)))
    return rx.compile(module)["main"]


def double(dtype: str, shape: tuple[Any, ...] = ("n", 4)) -> Any:
    return compiled({"x": rx.tensor(shape, dtype)}, lambda x: relax.add(x, x))


@pytest.fixture(scope="module")
def total() -> Any:
    """Return x + y, and the sum of all of its elements."""
    rows = rx.tensor(("n", 4))
    return compiled({"x": rows, "y": rows}, lambda x, y: (relax.add(x, y), relax.sum(relax.add(x, y))))


IN_PLACE = """
func.func @double(%x: memref<4xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %x[%i] : memref<4xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %x[%i] : memref<4xf32>
  }
  return
}
func.func @main(%x: tensor<2x2xf32> {relax.name = "x"}, %y: tensor<4xf32> {relax.name = "y"}) -> tensor<4xf32> {
  %0 = "relax.flatten"(%x) : (tensor<2x2xf32>) -> tensor<4xf32>
  %1 = "relax.call_tir_inplace"(%0) {func = @double, inplace_indices = [0]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.call_tir"(%1, %y) {func = @sum} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func @sum(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) attributes {tir.prim_func} {
  linalg.add ins(%x, %y : memref<4xf32>, memref<4xf32>) outs(%z : memref<4xf32>)
  return
}
"""


@pytest.fixture(scope="module")
def in_place() -> Any:
    return rx.compile(rx.Module.parse(IN_PLACE).copy())["main"]


# ---- results ----


def test_numpy_in_numpy_out(total: Any) -> None:
    x = numpy.arange(8, dtype=numpy.float32).reshape(2, 4)
    rows, everything = total(x, x)
    assert type(rows) is numpy.ndarray and type(everything) is numpy.ndarray
    assert rows.tolist() == (2 * x).tolist() and everything.shape == () and everything == 56
    assert rows.flags.writeable and rows.flags.c_contiguous
    single = double("float32")(x)
    assert type(single) is numpy.ndarray and (single == 2 * x).all()


def test_tvm_ffi_in_tvm_ffi_out(total: Any) -> None:
    x = tvm_ffi.from_dlpack(numpy.ones((2, 4), numpy.float32))
    assert [type(each) for each in total(x, x)] == [tvm_ffi.Tensor] * 2
    assert type(double("float32")(x)) is tvm_ffi.Tensor


def test_an_unknown_framework(total: Any) -> None:
    x = fake_framework.Array(numpy.ones((2, 4), numpy.float32))
    rows, everything = total(x, numpy.ones((2, 4), numpy.float32))
    assert type(rows) is type(everything) is fake_framework.Array
    assert (rows.values == 2).all() and everything.values == 16
    assert type(total(numpy.ones((2, 4), numpy.float32), x)[0]) is numpy.ndarray  # the first array decides


def test_a_framework_of_the_array_standard() -> None:
    class Standard(fake_framework.Array):
        def __array_namespace__(self) -> Any:
            class Namespace:
                __name__ = "standard"

                @staticmethod
                def from_dlpack(tensor: Any) -> Any:
                    return "standard", numpy.from_dlpack(tensor).tolist()

            return Namespace

    x = Standard(numpy.ones((1, 4), numpy.float32))
    assert double("float32")(x) == ("standard", [[2.0] * 4])


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_known_frameworks(total: Any, framework: str) -> None:
    pytest.importorskip(framework, reason=f"{framework} is not installed")
    namespace = pytest.importorskip({"jax": "jax.numpy"}.get(framework, framework))
    x = namespace.ones((2, 4))
    rows, everything = total(x, x)
    assert type(rows) is type(everything) is type(x)
    assert numpy.asarray(rows).tolist() == [[2.0] * 4] * 2 and float(everything) == 16


def test_without_arrays_tvm_ffi_gives_its_own() -> None:
    constant = compiled({}, lambda: relax.const(numpy.ones(3, "float32")))
    assert type(constant()) is tvm_ffi.Tensor


def test_types_that_numpy_lacks_come_with_ml_dtypes() -> None:
    narrow = compiled({"x": rx.tensor(("n",))}, lambda x: tuple(relax.astype(x, dtype=d) for d in ("bfloat16", "int4")))
    results = narrow(numpy.arange(4, dtype=numpy.float32))
    assert [each.dtype.name for each in results] == ["bfloat16", "int4"]
    assert [each.astype(int).tolist() for each in results] == [[0, 1, 2, 3]] * 2


def test_a_frameworks_refusal_of_a_result_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(tensor: Any) -> Any:
        raise RuntimeError("no floats here")

    monkeypatch.setattr(fake_framework, "from_dlpack", refuse)
    with pytest.raises(UnsupportedArray, match=r"main: result #0 \(float32\) cannot be given .*: no floats here; "):
        double("float32")(fake_framework.Array(numpy.ones((2, 4), numpy.float32)))


# ---- arguments ----


def test_arguments_by_name(total: Any) -> None:
    x, y = numpy.ones((2, 4), numpy.float32), numpy.full((2, 4), 2, numpy.float32)
    for rows, _ in (total(x=x, y=y), total(y=y, x=x), total(x, y=y)):
        assert (rows == 3).all()
    for call, text in (
        (lambda: total(x, z=y), "main: no argument 'z'; there are x, y"),
        (lambda: total(x, x=y), "main: argument 'x' is given twice, by its place and by its name"),
        (lambda: total(y=y), "main: missing argument x"),
        (lambda: total(x, y, y=y), "main: argument 'y' is given twice"),
        (lambda: total(x), "main: expected 2 arguments (x, y), got 1"),
    ):
        with pytest.raises(TypeError, match=re.escape(text)):
            call()


def strided(x: Any) -> Any:
    return numpy.repeat(x, 2, axis=1)[:, ::2]


def misaligned(x: Any) -> Any:
    memory = numpy.zeros(x.nbytes + 1, numpy.uint8)[1:]
    moved = memory.view(x.dtype).reshape(x.shape)
    moved[...] = x
    return moved


def read_only(x: Any) -> Any:
    copied = x.copy()
    copied.flags.writeable = False
    return copied


CHANGES: dict[str, Callable[[Any], Any]] = {
    "strided": strided,
    "transposed": lambda x: x.T.copy().T,
    "reversed": lambda x: x[::-1].copy()[::-1],
    "misaligned": misaligned,
    "read-only": read_only,
    "read-only and strided": lambda x: read_only(strided(x)),
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "a subclass": lambda x: numpy.asmatrix(x),
    "tvm-ffi, strided": lambda x: tvm_ffi.from_dlpack(strided(x)),
    "tvm-ffi, misaligned": lambda x: tvm_ffi.from_dlpack(misaligned(x)),
    "another framework, strided": lambda x: fake_framework.Array(strided(x)),
    "another framework, read-only": lambda x: fake_framework.ReadOnly(x),
    "buffers": lambda x: memoryview(x),
    "lists": lambda x: x.tolist(),
    "tuples": lambda x: tuple(map(tuple, x)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_unsuitable_arguments_are_copied(total: Any, change: str) -> None:
    x = numpy.arange(1, 9, dtype=numpy.float32).reshape(2, 4)
    y = CHANGES[change](x)
    for _ in range(2):
        assert to_numpy(total(x, y)[0]).tolist() == (2 * x).tolist()
        assert to_numpy(total(y=x, x=y)[1]) == 2 * x.sum()


def test_read_only_memory_is_not_copied() -> None:
    x = read_only(numpy.zeros((2, 4), numpy.float32))
    (passed,) = double("float32").prepared(x)
    assert passed.data_ptr() == x.ctypes.data


def test_contiguous_arguments_are_not_copied(total: Any) -> None:
    x = numpy.ones((2, 4), numpy.float32)
    wide = x[:, None, :][:, 0, :]  # contiguous, whatever its strides say of sizes of one
    for one in (x, wide, tvm_ffi.from_dlpack(x), x[:1], x[:0]):
        assert total.prepared(one, y=x)[0] is one


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"])
@pytest.mark.parametrize("change", [lambda x: x, read_only, strided], ids=["plain", "read-only", "strided"])
def test_types_of_ml_dtypes(dtype: str, change: Callable[[Any], Any]) -> None:
    x = numpy.arange(4).reshape(1, 4).astype(getattr(ml_dtypes, dtype))
    widened = compiled({"x": rx.tensor(("n", 4), dtype)}, lambda x: relax.astype(x, dtype="float32"))
    assert widened(change(x)).tolist() == [[0, 1, 2, 3]]
    with pytest.raises(TypeError, match=r"main: argument #0 'x' expected dtype float32, got "):
        double("float32")(x)


def test_bytes_are_not_taken_for_another_type() -> None:
    function = compiled({"x": rx.tensor(("n",), "int4")}, lambda x: relax.astype(x, dtype="int8"))
    assert function(numpy.array([1, 15], numpy.uint8)).tolist() == [1, -1]
    text = "main: argument #0 'x' expected dtype uint8 (a byte for each int4), got uint4"
    with pytest.raises(UnsupportedArray, match=re.escape(text)):
        function(numpy.array([1, 2]).astype(ml_dtypes.uint4))


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("float32", [1, True, 2.5, numpy.float32(3)]),
        ("int64", [1, True, -(2**63), numpy.int64(4)]),
        ("uint8", [0, 255, numpy.uint8(7)]),
        ("bool", [True, numpy.bool_(False)]),
        ("bfloat16", [1.5, 2, ml_dtypes.bfloat16(2)]),
        ("int4", [-8, 7]),
    ],
)
def test_numbers_become_tensors(dtype: str, values: list[Any]) -> None:
    same = compiled({"x": rx.tensor((), dtype)}, lambda x: relax.reshape(x, (1,)))
    for value in values:
        result = same(value)
        assert type(result) is numpy.ndarray and result.dtype.name == dtype and result[0] == value


@pytest.mark.parametrize(
    ("dtype", "value", "text"),
    [
        ("int32", 1.5, "expected numbers of int32, got 1.5"),
        ("int32", [[1, 2.0]], "expected numbers of int32, got [[1, 2.0]]"),
        ("bool", 1, "expected numbers of bool, got 1"),
        ("uint8", 256, "expected numbers of uint8, which cannot be all of 256"),
        ("uint8", -1, "expected numbers of uint8, which cannot be all of -1"),
        ("int4", [8], "expected numbers of int4, which cannot be all of [8]"),
        ("int64", 2**64, "expected numbers of int64, got 18446744073709551616"),
        ("float32", 1j, "expected numbers of float32, got 1j"),
        ("float32", Fraction(1, 2), "expected numbers of float32, got Fraction(1, 2)"),
        ("float32", [[1.0], [1.0, 2.0]], "expected numbers of float32, got a list that is none: "),
        ("float32", ["text"], "expected numbers of float32, got ['text']"),
        ("float32", numpy.float64(1), "expected dtype float32, got float64"),
        ("float32", "text", "expected a tensor, got "),
        ("float32", None, "expected a tensor, got None"),
        ("float32", numpy.array([None]), "expected dtype float32, got object"),
        ("float32", numpy.array([1j]), "got complex128"),
        ("float32", fake_framework, "expected a tensor, got "),
    ],
    ids=str,
)
def test_arguments_that_are_no_tensors_are_refused_by_name(dtype: str, value: Any, text: str) -> None:
    function = compiled({"x": rx.tensor(("n",), dtype)}, lambda x: x)
    with pytest.raises((TypeError, ValueError), match=r"main: argument #0 'x'.*" + re.escape(text)):
        function(value)


class Damaged(fake_framework.Array):
    """Array with one changed field in its DLPack structure."""

    def __init__(self, offset: int, kind: Any, value: int) -> None:
        super().__init__(numpy.ones((2, 4), numpy.float32))
        self.change = offset, kind, value

    def __dlpack__(self, stream: Any = None) -> Any:
        capsule = super().__dlpack__()
        pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", ctypes.pythonapi)
        )(capsule, b"dltensor")
        offset, kind, value = self.change
        kind.from_address(pointer + offset).value = value
        return capsule


@pytest.mark.parametrize(
    ("offset", "kind", "value", "text"),
    [
        (16, ctypes.c_int32, 2**31 - 1, ": expected a tensor of rank 0 to 64, got rank 2147483647"),
        (16, ctypes.c_int32, -1, ": expected a tensor of rank 0 to 64, got rank -1"),
        (16, ctypes.c_int32, 1, " expected rank 2 (n, 4), got rank 1: shape (2,)"),
        (24, ctypes.c_uint64, 0, ": expected a tensor with its sizes, got a null pointer for them"),
        (0, ctypes.c_uint64, 0, ": expected data, got a null pointer"),
        (40, ctypes.c_uint64, 2**60, " expected a byte offset within memory, got 1152921504606846976"),
        (22, ctypes.c_uint16, 4, " expected dtype float32, got float32x4"),
        (8, ctypes.c_int32, 2, " expected a tensor on the CPU, got one on DLPack device type 2"),
    ],
    ids=str,
)
def test_damaged_tensors_of_other_frameworks(total: Any, offset: int, kind: Any, value: int, text: str) -> None:
    good = numpy.ones((2, 4), numpy.float32)
    with pytest.raises((TypeError, ValueError), match=re.escape(f"main: argument #1 'y'{text}")):
        total(good, Damaged(offset, kind, value))


def test_a_null_pointer_to_nothing(total: Any) -> None:
    empty = Damaged(0, ctypes.c_uint64, 0)
    empty.values = numpy.zeros((0, 4), numpy.float32)
    assert total(empty, empty)[0].values.shape == (0, 4)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, "does not export its memory: not today"),
        (3, "does not export its memory: .*invalid PyCapsule"),
        (datetime.datetime_CAPI, "exports no DLPack tensor"),  # a capsule of something else
    ],
    ids=["nothing", "a number", "another capsule"],
)
def test_objects_that_export_nothing(total: Any, answer: Any, text: str) -> None:
    class Odd(fake_framework.Array):
        def __dlpack__(self, stream: Any = None) -> Any:
            if answer is None:
                raise BufferError("not today")
            return answer

    good = numpy.ones((2, 4), numpy.float32)
    with pytest.raises(UnsupportedArray, match=f"main: argument #1 'y': an object of type Odd {text}"):
        total(good, Odd(good))


# ---- arguments that a call writes to ----


def test_inputs_that_are_written_to(in_place: Any) -> None:
    x, y = numpy.ones((2, 2), numpy.float32), read_only(numpy.ones(4, numpy.float32))
    assert in_place(x, y).tolist() == [3, 3, 3, 3] and x.ravel().tolist() == [2, 2, 2, 2]
    assert in_place(tvm_ffi.from_dlpack(x), y).shape == (4,) and x.ravel().tolist() == [4, 4, 4, 4]
    assert "x: float32[2, 2], which a call writes to" in in_place.__doc__


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (read_only, "'x' is written to, but the array is read-only"),
        (strided, "'x' is written to, but the array is in memory that kernels cannot use"),
        (misaligned, "'x' is written to, but the array is in memory that kernels cannot use"),
        (lambda x: x.tolist(), "'x' is written to, which would not be seen in a list: pass an array"),
        (lambda x: tvm_ffi.from_dlpack(strided(x)), "'x' is written to, but its memory is not contiguous"),
        (lambda x: fake_framework.Array(strided(x)), "'x' is written to, but its memory is not contiguous"),
        (fake_framework.ReadOnly, "'x': is written to, but the array is read-only"),
    ],
    ids=["read-only", "strided", "misaligned", "list", "tvm-ffi", "framework", "framework, read-only"],
)
def test_writes_that_would_not_be_seen_are_refused(in_place: Any, change: Callable[[Any], Any], text: str) -> None:
    x = numpy.ones((2, 2), numpy.float32)
    with pytest.raises(UnsupportedArray, match=re.escape(f"main: argument #0 {text}")):
        in_place(change(x), numpy.ones(4, numpy.float32))
    assert (x == 1).all()


# ---- caching and representation ----


def test_a_program_that_fails_runs_once() -> None:
    calls: list[Any] = []

    def fail(*arguments: Any) -> None:
        calls.append(arguments)
        raise ValueError("main: argument #0 'x' expected contiguous (row-major) memory")

    tvm_ffi.register_global_func("test_function.fail", fail, override=True)
    function = compiled(
        {"x": rx.tensor((2,))}, lambda x: relax.call_dps_packed("test_function.fail", [x], rx.tensor((2,)))
    )
    for x in (numpy.ones(2, numpy.float32), numpy.ones(4, numpy.float32)[::2], [1.0, 2.0]):
        calls.clear()
        with pytest.raises((TypeError, ValueError)):
            function(x)
        assert len(calls) == 1


def test_arguments_are_given_back(total: Any) -> None:
    """After every kind of call, without the garbage collector."""
    good, bad = numpy.ones((2, 4), numpy.float32), numpy.ones((2, 5), numpy.float32)
    arguments = [
        (good, good),
        (strided(good), good),
        (good, bad),
        (good.tolist(), bad),
        (read_only(good), bad),
        (good,),
    ]
    gc.disable()
    try:
        for values in arguments * 3:
            with contextlib.suppress(TypeError, ValueError):
                total(*values)
        del values
        arguments.clear()
        after = sys.getrefcount(good), sys.getrefcount(bad)
    finally:
        gc.enable()
    assert after == (2, 2)


def test_lists_of_tensors() -> None:
    module = rx.Module()
    inputs = {"xs": rx.tensor((2,)), "ys": rx.tensor((2,))}
    with module.function("main", inputs) as f:
        f.returns(relax.add(*f))
    executable = rx.compile(module)
    signature = parse_signature(executable.signature("main"))
    signature = signature._replace(inputs=(PassedValue("list", "xs", items=signature.inputs),))
    function = type(executable["main"])(executable["main"].packed, signature)
    x = numpy.ones(4, numpy.float32)
    (found,) = function.prepared([x[:2], x[::2]])
    assert found[0] is not x and isinstance(found[1], tvm_ffi.Tensor) and found[1].is_contiguous()
    with pytest.raises(
        UnsupportedArray, match=r"main: argument #0 'xs' item #1 expected numbers of float32, got \['a'\]"
    ):
        function.prepared([x[:2], ["a"]])


def test_the_raw_function(total: Any) -> None:
    assert isinstance(total.packed, tvm_ffi.Function)
    x = numpy.ones((2, 4), numpy.float32)
    assert isinstance(total.packed(x, x), tvm_ffi.Array)
    with pytest.raises(ValueError, match="contiguous"):
        total.packed(x, strided(x))
    tvm_ffi.register_global_func("test_function.kept", total, override=True)
    assert type(tvm_ffi.get_global_func("test_function.kept")(x, x)) is tvm_ffi.Array
    tvm_ffi.remove_global_func("test_function.kept")


def test_help_and_signatures(total: Any) -> None:
    assert total.__name__ == total.__qualname__ == "main"
    text = "main(x: float32[n, 4], y: float32[n, 4]) -> (float32[n, 4], float32[])"
    assert repr(total) == f"<function {text}>" and total.__doc__.startswith(f"{text}\n")
    signature = inspect.signature(total)
    assert list(signature.parameters) == ["x", "y"] and signature.parameters["x"].annotation == "float32[n, 4]"
    assert signature.bind(1, y=2).arguments == {"x": 1, "y": 2}
    odd = compiled({"a.b": rx.tensor((2,)), "a:b": rx.tensor((2,)), "class": rx.tensor((2,))}, lambda *x: x[0])
    names = inspect.signature(odd).parameters
    assert list(names) == ["_a_b", "_a_b_1", "_class"]
    assert {each.kind for each in names.values()} == {inspect.Parameter.POSITIONAL_ONLY}
    assert not hasattr(total, "nothing")


def test_calls_with_many_types_of_arguments(total: Any) -> None:
    """Check that the cache of argument types stays small."""
    x = numpy.ones((2, 4), numpy.float32)
    for index in range(200):
        kind = type(f"Array{index}", (numpy.ndarray,), {"__module__": "numpy"})
        assert (total(x.view(kind), x)[0] == 2).all()
    assert len(total._givers) <= 64


def test_array_module(total: Any) -> None:
    for values in (array.array("f", range(8)), array.array("f", range(8)).tobytes()):  # the latter is read-only
        assert total(memoryview(values).cast("B").cast("f", (2, 4)), numpy.zeros((2, 4), numpy.float32))[1] == 28


def test_executables_show_themselves(in_place: Any) -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((1000, 4))}) as f:
        f.returns(relax.add(*f, relax.const(numpy.arange(4000, dtype="float32").reshape(1000, 4))))
    executable: Executable = rx.compile(module)
    head, line = repr(executable).splitlines()
    assert re.fullmatch(r"Executable: for \w+-.*, 1 function, [\d.]+ KB of code, 16 KB of constants", head)
    assert line == "  main(x: float32[1000, 4]) -> float32[1000, 4]  (1 kernel)"
    page = executable._repr_html_()
    assert "<code>main(x: float32[1000, 4]) -&gt; float32[1000, 4]</code></td><td>1</td>" in page
    assert tensor(numpy.ones(1)).shape == (1,)
