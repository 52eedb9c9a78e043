# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entries of compiled functions: every wrong argument is refused by name, every right one reaches the kernel."""

from __future__ import annotations

import ctypes
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest
import tvm_ffi
from hypothesis import given
from hypothesis import strategies as st
from native import executable, ignoring, signature
from numpy.lib.stride_tricks import as_strided
from relax_mlir.dialects.core.infos import ObjectInfo, OtherInfo, ScalarInfo, TensorInfo, tensor
from relax_mlir.dialects.core.symbols import parse
from relax_mlir.support.errors import RelaxError

ADD = """
func.func @add_impl(%x: memref<?x4xf32>, %y: memref<?x4xf32>, %z: memref<?x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %x, %c0 : memref<?x4xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x4xf32>
      %b = memref.load %y[%i, %j] : memref<?x4xf32>
      %c = arith.addf %a, %b : f32
      memref.store %c, %z[%i, %j] : memref<?x4xf32>
    }
  }
  return
}
"""
ROWS = tensor(("n", 4))


def single(inputs: list[tuple[str, Any]], outputs: list[TensorInfo] | None = None, **options: Any) -> Any:
    """Return a function that only checks its arguments."""
    return executable(ignoring("f", inputs, outputs or []), signature("f", inputs, outputs or []), **options)[
        "f"
    ].packed


@pytest.fixture(scope="module")
def add() -> Any:
    return executable(ADD, signature("add", [("x", ROWS), ("y", ROWS)], [ROWS]))["add"].packed


class OnlyDLPack:
    """Object of no framework."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class _Managed(ctypes.Structure):
    """DLManagedTensor of DLPack."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    )  # fmt: skip


class FromParts:
    """Handmade float32 tensor (2, 4) with this device, offset and sizes, and null strides."""

    def __init__(self, device: int, byte_offset: int, sizes: tuple[int, ...] = (2, 4), null: bool = False) -> None:
        self.memory = (ctypes.c_float * 16)(*range(16))
        self.shape = (ctypes.c_int64 * len(sizes))(*sizes)
        data = None if null else ctypes.addressof(self.memory)
        shape = ctypes.addressof(self.shape)
        self.tensor = _Managed(data, device, 0, len(sizes), 2, 32, 1, shape, None, byte_offset, None, None)
        self.device = device

    def __dlpack__(self, **options: Any) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)


@pytest.mark.parametrize("wrap", [lambda x: x, tvm_ffi.from_dlpack, OnlyDLPack], ids=["numpy", "tvm_ffi", "dlpack"])
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_tensors_of_any_framework(add: Any, wrap: Any, rows: int) -> None:
    x = numpy.arange(rows * 4, dtype=numpy.float32).reshape(rows, 4)
    result = numpy.from_dlpack(add(wrap(x), wrap(2 * x)))
    assert result.dtype == numpy.float32 and result.flags.c_contiguous and result.ctypes.data % 64 == 0
    numpy.testing.assert_array_equal(result, 3 * x)


def test_results_outlive_the_executable() -> None:
    exe = executable(ADD, signature("add", [("x", ROWS), ("y", ROWS)], [ROWS]))
    x = numpy.ones((3, 4), numpy.float32)
    result = exe["add"](x, x)
    del exe
    assert numpy.from_dlpack(result).sum() == 24


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ((), TypeError, "add: expected 2 arguments (x, y), got 0"),
        ((ROWS, ROWS, ROWS), TypeError, "add: expected 2 arguments (x, y), got 3"),
        ((1, ROWS), TypeError, "add: argument #0 'x' expected a tensor, got int"),
        ((ROWS, None), TypeError, "add: argument #1 'y' expected a tensor, got None"),
        ((ROWS, "text"), TypeError, "argument #1 'y' expected a tensor, got "),
        ((ROWS, numpy.ones((2, 4))), TypeError, "argument #1 'y' expected dtype float32, got float64"),
        ((numpy.ones((2, 4), numpy.int8), ROWS), TypeError, "argument #0 'x' expected dtype float32, got int8"),
        ((numpy.ones(4, numpy.float32), ROWS), ValueError, "'x' expected rank 2 (n, 4), got rank 1: shape (4,)"),
        ((ROWS, numpy.array(1, numpy.float32)), ValueError, "'y' expected rank 2 (n, 4), got rank 0: shape ()"),
        ((numpy.ones((2, 5), numpy.float32), ROWS), ValueError, "'x' dimension 1 expected size 4, got 5: shape (2, 5)"),
        (
            (ROWS, numpy.ones((3, 4), numpy.float32)),
            ValueError,
            "argument #1 'y' dimension 0 expected size n = 2 (from argument #0 'x' dimension 0), got 3: shape (3, 4)",
        ),
        ((ROWS, numpy.ones((4, 4), numpy.float32)[::2]), ValueError, "'y' expected contiguous (row-major) memory"),
        ((numpy.ones((4, 2), numpy.float32).T, ROWS), ValueError, "'x' expected contiguous (row-major) memory"),
        ((ROWS, as_strided(numpy.ones(1, numpy.float32), (2, 4), (0, 0))), ValueError, "'y' expected contiguous"),
        ((ROWS, FromParts(2, 0)), ValueError, "'y' expected a tensor on the CPU, got one on DLPack device type 2"),
    ],
)
def test_a_refused_call_does_not_affect_the_next(
    add: Any, arguments: tuple[Any, ...], kind: type[Exception], text: str
) -> None:
    good = numpy.ones((2, 4), numpy.float32)
    with pytest.raises(kind, match=re.escape(text)):
        add(*(good if argument is ROWS else argument for argument in arguments))
    assert numpy.from_dlpack(add(good, good)).sum() == 16  # the next call works


def test_misaligned_data_is_refused() -> None:
    data = numpy.zeros(4 * 8 + 1, numpy.uint8)[1:].view(numpy.float32)
    function = single([("x", tensor((8,)))])
    with pytest.raises(ValueError, match=r"argument #0 'x' expected data aligned to 4 bytes, got an address 1 byte"):
        function(data)


def test_strides_of_single_and_empty_dimensions_do_not_matter() -> None:
    function = single([("x", tensor(("a", "b", "c")))])
    odd = as_strided(numpy.zeros(64, numpy.float32), (1, 3, 4), (44, 16, 4))
    function(odd)
    function(numpy.zeros((4, 0, 6), numpy.float32).transpose(2, 1, 0))
    with pytest.raises(ValueError, match="contiguous"):
        function(numpy.zeros((4, 2, 6), numpy.float32).transpose(2, 1, 0))


def test_sizes_that_are_expressions() -> None:
    inputs = [("a", tensor(("2*n + m", "n"))), ("b", tensor(("m", "n//m"))), ("c", tensor(("max(n, m) - min(n, m)",)))]
    function = single(inputs, [tensor(("n*m", "n % m", "(n + 1)//2"), "int8")])

    def call(n: int, m: int, off: int = 0) -> Any:
        shapes = [(2 * n + m, n), (m, n // m + off if m else 0), (abs(n - m),)]
        return function(*(numpy.zeros(shape, numpy.float32) for shape in shapes)).shape

    for n, m in itertools.product([0, 1, 5, 12], [1, 3, 7]):
        assert tuple(call(n, m)) == (n * m, n % m, (n + 1) // 2)
    with pytest.raises(ValueError, match=re.escape("'b' dimension 1 expected size n//m = 4, got 5: shape (3, 5)")):
        call(12, 3, 1)
    with pytest.raises(ValueError, match="the size 'n//m' divides by a number that is not positive: 0"):
        call(12, 0)


def test_equal_expressions_agree_where_nothing_defines_their_symbols() -> None:
    function = single([("a", tensor(("2*k",))), ("b", tensor(("2*k",)))], [tensor(("2*k", 2), "int8")])
    x, y = numpy.zeros(6, numpy.float32), numpy.zeros(4, numpy.float32)
    assert tuple(function(x, x).shape) == (6, 2)
    with pytest.raises(ValueError, match=re.escape("'b' dimension 0 expected size 2*k = 6")):
        function(x, y)


def test_sizes_that_do_not_fit() -> None:
    rows = tensor(("n", 0))
    function = single([("x", rows), ("y", tensor(("m", 0)))], [tensor(("n", "m"))])
    huge = numpy.zeros((2**40, 0), numpy.float32)
    with pytest.raises(ValueError, match="f: result #0: a size is negative or all of them are too large"):
        function(huge, huge)
    with pytest.raises(MemoryError, match="f: result #0: out of memory, 4503599627370"):
        function(huge, numpy.zeros((2**10, 0), numpy.float32))
    product = single([("x", rows), ("y", tensor(("m", 0)))], [tensor(("n*m",))])
    with pytest.raises(ValueError, match=r"f: the size '(n\*m|m\*n)' does not fit in 64 bits"):
        product(huge, huge)
    negative = single([("x", tensor(("n",)))], [tensor(("n - 3",))])
    with pytest.raises(ValueError, match=re.escape("a size is negative") + r".*shape \(-1,\)"):
        negative(numpy.zeros(2, numpy.float32))


@pytest.mark.parametrize(
    ("dtype", "good", "bad"),
    [
        (
            "i8",
            [-128, 127, True],
            [(128, ValueError, "of type i8, from -128 to 127, got 128"), (1.5, TypeError, "got float")],
        ),
        ("ui64", [0, 2**63 - 1], [(-1, ValueError, "from 0 to 9223372036854775807, got -1")]),
        ("ui8", [0, 255], [(-1, ValueError, "from 0 to 255, got -1"), (256, ValueError, "got 256")]),
        (
            "i64",
            [-(2**63), 2**63 - 1],
            [(2**63, TypeError, "expected an int, got ffi.BigInt"), (None, TypeError, "None")],
        ),
        ("f32", [1.5, 2, False], [("1", TypeError, "expected a float, got "), (None, TypeError, "got None")]),
        ("i1", [True, False], [(1, TypeError, "expected a bool, got int"), (1.0, TypeError, "got float")]),
    ],
)
def test_scalars(dtype: str, good: list[Any], bad: list[tuple[Any, type[Exception], str]]) -> None:
    function = single([("s", ScalarInfo(dtype))])
    for value in good:
        function(value)
    for value, kind, text in bad:
        with pytest.raises(kind, match=re.escape("argument #0 's' ") + ".*" + re.escape(text)):
            function(value)


def test_scalars_reach_the_kernel() -> None:
    text = """
    func.func @f_impl(%i: i64, %x: f64, %b: i1, %p: memref<3xf64>) {
      %first = arith.sitofp %i : i64 to f64
      %third = arith.uitofp %b : i1 to f64
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      memref.store %first, %p[%c0] : memref<3xf64>
      memref.store %x, %p[%c1] : memref<3xf64>
      memref.store %third, %p[%c2] : memref<3xf64>
      return
    }"""
    inputs = [("i", ScalarInfo("i32")), ("x", ScalarInfo("f64")), ("b", ScalarInfo("i1"))]
    function = executable(text, signature("f", inputs, [tensor((3,), "float64")]))["f"]
    assert list(numpy.from_dlpack(function(-3, 4, True))) == [-3, 4, 1]
    assert list(numpy.from_dlpack(function(True, 2.5, False))) == [1, 2.5, 0]


def test_a_scalar_defines_a_size() -> None:
    function = single([("n", ScalarInfo("i64", parse("n"))), ("x", tensor(("n",)))], [tensor(("n", 2))])
    assert tuple(function(3, numpy.zeros(3, numpy.float32)).shape) == (3, 2)
    with pytest.raises(ValueError, match=re.escape("'x' dimension 0 expected size n = 3 (from argument #0 'n')")):
        function(3, numpy.zeros(4, numpy.float32))
    with pytest.raises(ValueError, match=r"'n'.*expected a size of at least 0, got -3"):
        function(-3, numpy.zeros(3, numpy.float32))


def test_byte_offsets_and_missing_strides(add: Any) -> None:
    result = numpy.from_dlpack(add(FromParts(1, 16), FromParts(1, 0)))
    assert list(result.ravel()) == [4 + 2 * index for index in range(8)]
    with pytest.raises(ValueError, match="'x' expected data aligned to 4 bytes, got an address 2 bytes off"):
        add(FromParts(1, 2), FromParts(1, 0))


def test_malformed_tensors_are_refused(add: Any) -> None:
    with pytest.raises(ValueError, match="'y' expected data, got a null pointer"):
        add(FromParts(1, 0), FromParts(1, 0, null=True))
    with pytest.raises(ValueError, match="'x' dimension 0 expected a size of at least 0, got -1"):
        add(FromParts(1, 0, (-1, 4)), FromParts(1, 0))
    unnamed = single([("x", tensor((None, 4)))])
    unnamed(FromParts(1, 0))
    with pytest.raises(ValueError, match=r"'x' dimension 0 expected a size of at least 0, got -3: shape \(-3, 4\)"):
        unnamed(FromParts(1, 0, (-3, 4)))


# Offsets of the fields of a DLTensor, which follows the object's header of 24 bytes.
_FIELDS: dict[str, tuple[int, Any]] = {
    "data": (0, ctypes.c_uint64), "device": (8, ctypes.c_int32), "rank": (16, ctypes.c_int32),
    "lanes": (22, ctypes.c_uint16), "shape": (24, ctypes.c_uint64), "strides": (32, ctypes.c_uint64),
    "byte_offset": (40, ctypes.c_uint64),
}  # fmt: skip


@contextmanager
def forged(**fields: int) -> Iterator[Any]:
    """Yield a tensor (2, 4) of float32 with a changed structure, as only broken C code would pass it."""
    passed = tvm_ffi.from_dlpack(numpy.ones((2, 4), numpy.float32))
    start = passed.__chandle__() + 24
    before = ctypes.string_at(start, 48)
    for name, value in fields.items():
        offset, kind = _FIELDS[name]
        kind.from_address(start + offset).value = value
    yield passed
    ctypes.memmove(start, before, 48)


@pytest.mark.parametrize(
    ("fields", "kind", "text"),
    [
        ({"data": 0, "byte_offset": 16}, ValueError, "expected data, got a null pointer"),
        ({"data": 0, "byte_offset": 2}, ValueError, "expected data, got a null pointer"),
        ({"byte_offset": 2**64 - 16}, ValueError, "expected a byte offset within memory, got 18446744073709551600"),
        ({"byte_offset": 2**57}, ValueError, "expected a byte offset within memory, got 144115188075855872"),
        ({"rank": 2**31 - 1}, ValueError, "expected rank 2 (n, 4), got rank 2147483647: shape unknown"),
        ({"rank": 65}, ValueError, "expected rank 2 (n, 4), got rank 65: shape unknown"),
        ({"rank": -1}, ValueError, "expected rank 2 (n, 4), got rank -1: shape unknown"),
        ({"rank": 3, "shape": 0}, ValueError, "expected rank 2 (n, 4), got rank 3: shape unknown"),
        ({"shape": 0}, ValueError, "expected a tensor with its sizes, got a null pointer for them"),
        ({"lanes": 4}, TypeError, "expected dtype float32, got float32x4"),
        ({"lanes": 0}, TypeError, "expected dtype float32, got float32"),
        ({"device": 77}, ValueError, "expected a tensor on the CPU, got one on DLPack device type 77"),
        ({"device": -1}, ValueError, "expected a tensor on the CPU, got one on DLPack device type -1"),
    ],
    ids=str,
)
def test_forged_tensors_are_refused(add: Any, fields: dict[str, int], kind: type[Exception], text: str) -> None:
    good = numpy.ones((2, 4), numpy.float32)
    with forged(**fields) as bad, pytest.raises(kind, match=re.escape(f"add: argument #1 'y' {text}")):
        add(good, bad)


def test_missing_strides_are_those_of_contiguous_memory(add: Any) -> None:
    good = numpy.ones((2, 4), numpy.float32)
    with forged(strides=0) as missing:
        assert numpy.from_dlpack(add(good, missing)).sum() == 16


def test_sizes_beyond_memory_are_refused(add: Any) -> None:
    function = single([("x", tensor(("a", "b")))])
    for sizes in [(2**40, 2**40), (2**62, 1), (1, 2**61)]:
        with pytest.raises(ValueError, match=r"'x' expected sizes that memory can have, .* rank 2: shape \(\d+, \d+\)"):
            function(FromParts(1, 0, sizes))
    function(FromParts(1, 0, (2**40, 0)))
    function(FromParts(1, 0, (0, 2**62)))


def test_a_null_tensor_pointer() -> None:
    function = single([("x", tensor((2,)))])
    library = ctypes.CDLL(str(tvm_ffi.libinfo.find_libtvm_ffi()))
    arguments, result, error = (ctypes.c_int64 * 2)(7, 0), (ctypes.c_int64 * 2)(), ctypes.c_void_p()
    call = library.TVMFFIFunctionCall
    call.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)
    assert call(function.__chandle__(), arguments, 1, result) == -1
    library.TVMFFIErrorMoveFromRaised(ctypes.byref(error))
    message = ctypes.string_at(ctypes.cast(error.value + 24 + 16, ctypes.POINTER(ctypes.c_char_p))[0])
    assert message == b"f: argument #0 'x' expected a tensor, got a null pointer"
    assert library.TVMFFIObjectDecRef(error) == 0


def test_read_only_arrays_are_refused_by_dlpack(add: Any) -> None:
    array = numpy.ones((2, 4), numpy.float32)
    array.flags.writeable = False
    with pytest.raises(BufferError, match="readonly"):
        add(array, array)


def test_several_results_are_an_array() -> None:
    inputs, outputs = [("x", tensor(("n",)))], [tensor(("n",)), tensor((2, "n"), "int64"), tensor((), "bool")]
    results = single(inputs, outputs)(numpy.zeros(5, numpy.float32))
    assert [tuple(result.shape) for result in results] == [(5,), (2, 5), ()]
    assert [str(result.dtype) for result in results] == ["float32", "int64", "bool"]


def test_no_result_is_none() -> None:
    assert single([("x", tensor(("n",)))])(numpy.zeros(5, numpy.float32)) is None
    assert single([])() is None


def test_names_are_no_formats() -> None:
    function = single([("100%s%n", tensor((2,)))])
    with pytest.raises(TypeError, match=re.escape("argument #0 '100%s%n' expected a tensor, got int")):
        function(1)


def test_many_dimensions_in_a_message() -> None:
    function = single([("x", tensor((1,)))])
    with pytest.raises(ValueError, match=re.escape("got rank 20: shape (" + "1, " * 15 + "1, ...)")):
        function(numpy.zeros((1,) * 20, numpy.float32))


_DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64"]


@given(
    st.lists(st.tuples(st.sampled_from(["n", "m", 0, 1, 3, "n + m", None]), st.integers(0, 4)), max_size=4),
    st.sampled_from(_DTYPES),
    st.sampled_from(_DTYPES),
    st.booleans(),
)
def test_accepted_exactly_when_it_fits(dims: list[Any], wanted: str, given_dtype: str, transposed: bool) -> None:
    """Compare the checks of one tensor with a model of the rules in Python."""
    info = tensor([size for size, _ in dims], wanted)
    shape = tuple(actual for _, actual in dims)
    array = numpy.zeros(shape, given_dtype)
    if transposed:
        array = numpy.zeros(shape[::-1], given_dtype).T
    expected = _fits(dims) and wanted == given_dtype and array.flags.c_contiguous
    function = _cached_single(info)
    if expected:
        function(array)
        return
    with pytest.raises(TypeError if wanted != given_dtype else ValueError, match="f: argument #0 'x' "):
        function(array)


def _fits(dims: list[Any]) -> bool:
    known: dict[str, int] = {}
    for size, actual in dims:
        if isinstance(size, int) and size != actual:
            return False
        if size in ("n", "m") and known.setdefault(size, actual) != actual:
            return False
    sums = [actual for size, actual in dims if size == "n + m"]
    total = known["n"] + known["m"] if len(known) == 2 else (sums or [0])[0]
    return all(actual == total for actual in sums)


_functions: dict[Any, Any] = {}


def _cached_single(info: TensorInfo) -> Any:
    if info not in _functions:
        _functions[info] = single([("x", info)])
    return _functions[info]


_ANYTHING = st.recursive(
    st.sampled_from([None, object(), len, dict, numpy.float64(2), numpy.int16(3), numpy.zeros((2, 2), numpy.float32)])
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
)


@given(st.lists(_ANYTHING, min_size=4, max_size=4) | st.lists(_ANYTHING, max_size=6))
def test_any_arguments(arguments: list[Any]) -> None:
    inputs = [("x", tensor(("n", 2))), ("i", ScalarInfo("i16")), ("f", ScalarInfo("f32")), ("o", ObjectInfo())]
    if "any" not in _functions:
        _functions["any"] = single(inputs)
    try:
        assert _functions["any"](*arguments) is None
    except (TypeError, ValueError) as error:
        text = str(error)
        assert isinstance(error, UnicodeError) or re.match(r"f: (expected 4 arguments|argument #[012] '[xif]' )", text)
        return
    assert len(arguments) == 4 and isinstance(arguments[0], numpy.ndarray)


@pytest.mark.parametrize(
    ("inputs", "outputs", "text"),
    [
        ([("x", TensorInfo(None, "f32"))], [], "a rank of at most"),
        ([("x", tensor((2,), "i3"))], [], "tensors of i3 cannot be passed"),
        ([("x", OtherInfo("memref<2xf32>"))], [], "memref<2xf32> cannot be passed"),
        ([("x", tensor((2,)))], [tensor((None,))], "a size without a name"),
        ([("x", tensor((2,)))], [tensor(("k",))], "nothing defines 'k' in the size 'k'"),
        ([('"', tensor((2,)))], [], "cannot name a compiled argument"),
        ([("x", TensorInfo((2**62,), "f32"))], [], "is no size"),
    ],
)
def test_signatures_that_cannot_be(inputs: list[Any], outputs: list[Any], text: str) -> None:
    with pytest.raises(RelaxError, match=re.escape(text)):
        single(inputs, outputs)
