# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of a device's program with arrays of the host, and its refusals and errors."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy
import pytest
import tvm_ffi
from device_programs import KERNELS, by_hand, launch, of_model, with_function
from fake_driver import FakeDriver
from relax_mlir.runtime import Executable, UnknownFunction, UnsupportedArray, tensor
from relax_mlir.runtime.cuda.driver import use_library

import relax_mlir as rx
from relax_mlir import relax

X = numpy.arange(5, dtype="float32")


@pytest.fixture
def fake() -> Iterator[FakeDriver]:
    """Yield the driver, and check that the current context is restored."""
    library = FakeDriver(KERNELS)
    with use_library(library):
        yield library
    assert not library.contexts
    gc.collect()
    assert not library.held["async"]


def on_device(program: Executable, array: Any) -> Any:
    """Return a tensor with an array's elements on the program's device."""
    copying: Any = program.copying()
    return copying.upload(array if isinstance(array, tvm_ffi.Tensor) else tensor(array))


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int8", "uint8", "int64", "bool", "bfloat16", "float8_e4m3fn", "int4"]
)
def test_all_element_types_and_no_elements(fake: FakeDriver, dtype: str) -> None:
    known = numpy.dtype(getattr(ml_dtypes, dtype)) if hasattr(ml_dtypes, dtype) else numpy.dtype(dtype)
    program = Executable(of_model(with_function({"x": rx.tensor((2, "n"), dtype)}, lambda x: relax.permute_dims(x))))
    for count in (3, 0):
        x = numpy.array([[0, 1, 1], [1, 0, 1]], known)[:, :count]
        y = program.copying()["main"](x)
        assert y.dtype == known and y.shape == (count, 2) and (y == x.T).all()


def test_scalars_lists_names_and_layouts(fake: FakeDriver) -> None:
    """Treat arguments like Function: numbers, names, copies of arrays that are not contiguous."""
    module = with_function(
        {"x": rx.tensor((2, 3)), "s": rx.tensor(())}, lambda x, s: (relax.add(x, s), relax.multiply(x, s))
    )
    call = Executable(of_model(module)).copying()["main"]
    x = numpy.arange(6, dtype="float32").reshape(3, 2).T
    for results in (call(x, s=2.0), call([[0, 2, 4], [1, 3, 5]], numpy.float32(2))):
        assert isinstance(results, tuple)
        assert (results[0] == x + 2).all() and (results[1] == x * 2).all()
    with pytest.raises(TypeError, match=r"^main: expected 2 arguments \(x, s\), got 1$"):
        call(x)
    with pytest.raises(ValueError, match=r"argument #0 'x' dimension 0 expected size 2, got 3: shape \(3, 2\)"):
        call(x.T, 1)


def test_lists_of_tensors(fake: FakeDriver) -> None:
    vector, inputs = 'tensor<?xf32, #relax.sym<["n"]>>', '[{kind = "list", size = 2 : i64, name = "xs"}]'
    results = '[{kind = "value", size = 1 : i64, name = "a"}, {kind = "list", size = 2 : i64, name = "b"}]'
    module = rx.Module.parse(f"""
func.func @main(%a: {vector}, %b: {vector}) -> ({vector}, {vector}, {vector})
    attributes {{relax.input_groups = {inputs}, relax.result_groups = {results}}} {{
  %0 = "relax.add"(%a, %b) : ({vector}, {vector}) -> {vector}
  %1 = "relax.multiply"(%a, %b) : ({vector}, {vector}) -> {vector}
  return %0, %1, %a : {vector}, {vector}, {vector}
}}""")
    call = Executable(of_model(module)).copying()["main"]
    total, (product, same) = call([X, [1, 2, 3, 4, 5]])
    assert isinstance(total, numpy.ndarray) and total.tolist() == [1, 3, 5, 7, 9]
    assert product.tolist() == [0, 2, 6, 12, 20] and (same == X).all()
    with pytest.raises(ValueError, match=r"argument #0 'xs' expected a list of 2 tensors, got a list of 1"):
        call([X])
    with pytest.raises(ValueError, match=r"'xs' item #1 dimension 0 expected size n = 5 .*, got 4"):
        call([X, X[1:]])


def growing() -> Executable:
    """Return products with all rows so far, and the rows."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("k", 2)), "past": rx.tensor(("m", 2))}) as f:
        x, past = f
        rows = relax.concat([past, x], 0)
        f.returns(relax.matmul(x, relax.permute_dims(rows)), rows)
    return Executable(of_model(module, donate=["past"]))


def test_buffers_written_by_a_call_are_copied_back(fake: FakeDriver) -> None:
    """Grow a buffer in place, by a cache and by arrays."""
    call: Any = growing().copying()["main"]
    cache, rows = call.cache(), numpy.arange(12, dtype="float32").reshape(6, 2)
    for start in (0, 2, 4):
        products = call(rows[start : start + 2], cache)
    assert cache.length == 6 and (cache["past"] == rows).all() and (products == rows[4:] @ rows.T).all()
    products, grown = call(rows[4:], rows[:4])
    assert (grown == rows).all() and (products == rows[4:] @ rows.T).all()


def test_a_written_argument_that_is_a_list_is_refused(fake: FakeDriver) -> None:
    with pytest.raises(UnsupportedArray, match="'past' is written to, which would not be seen in a list"):
        growing().copying()["main"].packed(numpy.zeros((1, 2), "float32"), [[1.0, 2.0]], numpy.zeros((1, 0)))


def test_elements_begin_behind_the_data(fake: FakeDriver) -> None:
    """Use DLPack's offset in bytes, which is rare in frameworks."""
    shifted = tvm_ffi.from_dlpack(X.copy()[:4])
    ctypes.c_uint64.from_address(shifted.__chandle__() + 24 + 40).value = 4
    call: Any = Executable(by_hand(launch(0))).copying()["main"]
    assert numpy.from_dlpack(call.packed(shifted)).tolist() == [2, 4, 6, 8]


def test_a_host_array_is_refused_by_name(fake: FakeDriver) -> None:
    program = Executable(by_hand(launch(0)), device="cuda:1")
    expected = (
        r"^main: argument #0 'x' expected a tensor on cuda:1, got one on cpu:0; "
        r"executable.copying\(\) copies arrays to the device$"
    )
    for argument in (X, [1.0, 2.0], tvm_ffi.from_dlpack(X)):
        with pytest.raises(ValueError, match=expected):
            program["main"](argument)
    there = on_device(Executable(by_hand(launch(0))), X)
    with pytest.raises(ValueError, match=r"expected a tensor on cuda:1, got one on cuda:0$"):
        program["main"](there)
    with pytest.raises(TypeError, match=r"argument #0 'x' expected a tensor, got None"):
        program["main"](None)
    with pytest.raises(ValueError, match=r"argument #0 'x' expected rank 1 \(n,\), got rank 2: shape \(2, 3\)"):
        program["main"](on_device(program, numpy.zeros((2, 3), "float32")))
    with pytest.raises(TypeError, match=r"argument #0 'x' expected dtype float32, got int32"):
        program.copying()["main"](numpy.zeros(3, "int32"))
    with pytest.raises(UnknownFunction, match="no function 'other'"):
        program.copying()["other"]
    assert not fake.launches


def test_tensors_of_the_device_are_not_copied(fake: FakeDriver) -> None:
    program = Executable(by_hand(launch(0)))
    x = on_device(program, X)
    fake.calls.clear()
    result = program["main"](x)
    assert isinstance(result, tvm_ffi.Tensor) and result.__dlpack_device__() == (2, 0)
    assert not [name for name in fake.calls if name.startswith("cuMemcpy")]
    mixed: Any = program.copying()["main"].packed(result)
    assert (numpy.from_dlpack(mixed) == 4 * X).all()


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("kind", ctypes.c_int32), ("number", ctypes.c_int32), ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_int32), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
    )  # fmt: skip


class _Managed(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64), ("tensor", _DLTensor),
    )  # fmt: skip


def test_a_framework_makes_the_results_where_it_offers_to(fake: FakeDriver) -> None:
    """Allocate results through a framework like torch: the runtime requests a tensor on the device, and the framework
    owns the memory."""
    made: list[Any] = []
    deleted: list[int] = []
    delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleted.append)

    def allocate(prototype: int, out: int, context: int, fail: int) -> int:
        asked = _DLTensor.from_address(prototype)
        sizes = (ctypes.c_int64 * asked.rank)(*(ctypes.c_int64 * asked.rank).from_address(asked.shape))
        memory = (ctypes.c_float * 16)()
        at = [ctypes.addressof(memory), asked.kind, asked.number, asked.rank, asked.dtype, ctypes.addressof(sizes)]
        given = _Managed(1, None, ctypes.cast(delete, ctypes.c_void_p), 0, _DLTensor(*at, None, 0))
        made.append((asked.kind, asked.number, list(sizes), given, memory, sizes))
        ctypes.c_void_p.from_address(out).value = ctypes.addressof(given)
        return 0

    program = Executable(by_hand(launch(0)), device="cuda:1")
    x = on_device(program, X)
    library, held = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi()), fake.held["async"]
    allocator = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(allocate)
    library.TVMFFIEnvSetDLPackManagedTensorAllocator(allocator, 0, None)
    try:
        result = program["main"](x)
    finally:
        library.TVMFFIEnvSetDLPackManagedTensorAllocator(None, 0, None)
    assert [each[:3] for each in made] == [(2, 1, [5])] and fake.held["async"] == held
    assert list(made[0][4])[:5] == [0, 2, 4, 6, 8] and result.__dlpack_device__() == (2, 1)
    del result
    assert len(deleted) == 1


def test_a_kernels_assertion_is_raised_once(fake: FakeDriver) -> None:
    """Raise a kernel's assertion once, at the next wait or at the next call."""
    program = Executable(by_hand("  %source = llvm.call @__relax_device_record(%table) : (!llvm.ptr) -> !llvm.ptr"
                                 + launch(1, "%source")))  # fmt: skip
    with pytest.raises(IndexError, match=r"^gather 'g': index 7 of 5$"):
        program.copying()["main"](X)
    x = on_device(program, X)
    program["main"](x)
    with pytest.raises(IndexError, match=r"^gather 'g': index 7 of 5$"):
        program["main"](x)
    assert len(fake.launches) == 2
    program.synchronize()
    program["main"](x)
    with pytest.raises(IndexError):
        program.synchronize()
    program.synchronize()


def test_reading_an_element_raises_the_assertion(fake: FakeDriver) -> None:
    body = (
        "  %source = llvm.call @__relax_device_record(%table) : (!llvm.ptr) -> !llvm.ptr"
        + launch(1, "%source")
        + """
  %host = llvm.alloca %c1 x i64 : (i64) -> !llvm.ptr
  %read = llvm.call @__relax_device_read(%table, %host, %from, %c4) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
  "tir.return_unless_ok"(%read) : (i32) -> ()"""
    )
    program = Executable(by_hand(body))
    x = on_device(program, X)
    with pytest.raises(IndexError, match=r"^gather 'g': index 7 of 5$"):
        program["main"](x)


MEMORY = """
  %own = llvm.call @__relax_device_alloc(%table, %bytes) : (!llvm.ptr, i64) -> !llvm.ptr
  %copied = llvm.call @__relax_device_copy(%table, %own, %from, %bytes) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
  "tir.return_unless_ok"(%copied) : (i32) -> ()
  %host = llvm.alloca %c1 x f32 : (i64) -> !llvm.ptr
  %one = arith.constant 100.0 : f32
  llvm.store %one, %host : f32, !llvm.ptr
  %wrote = llvm.call @__relax_device_write(%table, %own, %host, %c4) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
  "tir.return_unless_ok"(%wrote) : (i32) -> ()
  %back = llvm.call @__relax_device_copy(%table, %to, %own, %bytes) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> i32
  "tir.return_unless_ok"(%back) : (i32) -> ()
  llvm.call @__relax_device_free(%table, %own) : (!llvm.ptr, !llvm.ptr) -> ()"""


def test_memory_of_the_device(fake: FakeDriver) -> None:
    call = Executable(by_hand(MEMORY)).copying()["main"]
    assert call(X).tolist() == [100, 1, 2, 3, 4]
    assert fake.held["async"] == 0


@pytest.mark.parametrize(
    ("name", "status", "error", "expected"),
    [
        ("cuLaunchKernel", 719, RuntimeError, "kernel 'double': cuLaunchKernel: CUDA_ERROR_LAUNCH_FAILED: LAUNCH"),
        ("cuCtxPushCurrent_v2", 719, RuntimeError, "the device: cuCtxPushCurrent: CUDA_ERROR_LAUNCH_FAILED"),
        ("cuStreamSynchronize", 719, RuntimeError, "the device: cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED"),
        ("cuMemAllocAsync", 2, MemoryError, "main: result #0: out of memory of the device, 20 bytes needed"),
        ("cuMemAllocAsync", 719, RuntimeError, "main: result #0: cuMemAllocAsync: CUDA_ERROR_LAUNCH_FAILED: LAUNCH"),
    ],
)  # fmt: skip
def test_driver_errors_of_calls_are_raised(
    fake: FakeDriver, name: str, status: int, error: type[Exception], expected: str
) -> None:
    program = Executable(by_hand(launch(0)))
    x = on_device(program, X)
    fake.failing[name] = status
    with pytest.raises(error, match=expected):
        program["main"](x) if name != "cuStreamSynchronize" else program.synchronize()
    fake.failing.clear()
    assert not fake.contexts
    assert fake.held["async"] == 1  # the argument
    assert (program.copying()["main"](X) == 2 * X).all()


def test_launches_with_too_many_blocks_are_refused(fake: FakeDriver) -> None:
    def launching(blocks: int) -> Any:
        return Executable(by_hand(f"  %many = arith.constant {blocks} : i64" + launch(0, blocks="%many"))).copying()[
            "main"
        ]

    launching(0)(X)
    assert not fake.launches
    launching(2**31 - 1)(X)
    with pytest.raises(ValueError, match="kernel 'double': 2147483648 blocks were asked for, a launch takes 2147"):
        launching(2**31)(X)
    assert [each[1] for each in fake.launches] == [2**31 - 1]
