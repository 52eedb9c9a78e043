# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""numpy's arrays as tensors and back: no copies, every element type, and refusals."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import ml_dtypes
import numpy
import pytest
import tvm_ffi
from relax_mlir.dialects.core.infos import DTYPE_BY_NAME
from relax_mlir.runtime import UnsupportedArray, tensor, to_numpy

import relax_mlir as rx

PLAIN = ["bool", "float16", "float32", "float64", *(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64))]
EXTENDED = ["bfloat16", *(name for name in DTYPE_BY_NAME if name.startswith("float8_"))]
PADDED = ["int2", "uint2", "int4", "uint4", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]


def array_of(name: str, shape: tuple[int, ...] = (2, 3)) -> Any:
    dtype = numpy.dtype(getattr(ml_dtypes, name, name))
    return numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("name", PLAIN + EXTENDED)
def test_conversion_to_a_tensor_and_back_shares_memory(name: str) -> None:
    array = array_of(name)
    passed = tensor(array)
    assert (str(passed.dtype), tuple(passed.shape)) == (name, (2, 3))
    back = to_numpy(passed)
    assert back.dtype == array.dtype and back.shape == array.shape
    assert numpy.shares_memory(back, array)
    assert back.tobytes() == array.tobytes()
    # An export under another name does not change the tensor.
    assert str(passed.dtype) == name


@pytest.mark.parametrize("name", PADDED)
def test_less_than_a_byte_is_a_byte(name: str) -> None:
    array = array_of(name)
    passed = tensor(array)
    assert str(passed.dtype) == "uint8"
    back = to_numpy(passed, name)
    assert back.dtype == array.dtype and numpy.shares_memory(back, array)
    assert to_numpy(passed, back.dtype).tobytes() == array.tobytes()
    assert to_numpy(passed).dtype == numpy.uint8


@pytest.mark.parametrize("shape", [(), (0, 3), (1, 2, 3)])
def test_shapes(shape: tuple[int, ...]) -> None:
    array = array_of("bfloat16", shape)
    assert to_numpy(tensor(array)).shape == shape


def test_strides_stay() -> None:
    array = array_of("float8_e5m2", (4, 6))
    for view in (array[:, ::2], array.T, array[1:3]):
        passed = tensor(view)
        assert tuple(passed.strides) == tuple(stride // view.itemsize for stride in view.strides)
        numpy.testing.assert_array_equal(to_numpy(passed).astype("float32"), view.astype("float32"))


class Memory(bytearray):
    """Memory that supports weak references, so that a test can see its end."""


@pytest.mark.parametrize("name", ["bfloat16", "float32", "int4"])
def test_memory_lives_as_long_as_its_last_user(name: str) -> None:
    expected = array_of(name, (100,))
    memory = Memory(expected.tobytes())
    alive = weakref.ref(memory)
    passed = tensor(numpy.frombuffer(memory, f"uint{8 * expected.itemsize}").view(expected.dtype))
    del memory
    back = to_numpy(passed, name)
    del passed
    gc.collect()
    assert alive() is not None
    assert back.tobytes() == expected.tobytes()
    del back
    gc.collect()
    assert alive() is None


def test_other_tensors_become_arrays() -> None:
    array = array_of("float32")
    assert numpy.shares_memory(to_numpy(array), array)
    assert to_numpy(tvm_ffi.from_dlpack(array)).dtype == numpy.float32


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (numpy.zeros(2, ">f4"), "in the other byte order cannot be passed"),
        (numpy.zeros(2, "c8"), "an array of complex64 cannot be passed: DLPack has no such element type"),
        (numpy.array([None]), "an array of object cannot be passed"),
        (numpy.zeros(2, [("a", "i1")]), "an array of void8 cannot be passed"),
        (numpy.zeros(2, "longdouble"), "cannot be passed"),
        (numpy.zeros(2, "datetime64[s]"), "cannot be passed"),
        (numpy.broadcast_to(numpy.zeros(1), (3,)), "a read-only array cannot be passed"),
    ],
    ids=str,
)
def test_objects_that_are_no_tensors_are_refused(array: Any, message: str) -> None:
    with pytest.raises(UnsupportedArray, match=message):
        tensor(array)


def test_bytes_only_hold_other_types() -> None:
    with pytest.raises(UnsupportedArray, match="a tensor of float32 does not hold int4; bytes"):
        to_numpy(tensor(array_of("float32")), "int4")
    with pytest.raises(UnsupportedArray, match="a tensor of uint8 does not hold bfloat16"):
        to_numpy(tensor(array_of("uint8")), "bfloat16")
    with pytest.raises(UnsupportedArray, match=r"neither numpy nor ml_dtypes .* has an element type 'int5'"):
        to_numpy(tensor(array_of("uint8")), "int5")


def test_compiled_functions_accept_and_return_narrow_types() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",), "int4"), rx.tensor(("n",), "bfloat16")]) as f:
        f.returns(*(rx.relax.astype(x, dtype="float8_e4m3fn") for x in f))
    executable = rx.compile(module)
    described = executable.signature("main")
    assert [each["dtype"] for each in described["inputs"]] == ["uint8", "bfloat16"]
    assert described["inputs"][0]["holds"] == "int4"
    assert {each["dtype"] for each in described["outputs"]} == {"float8_e4m3fn"}
    x, y = array_of("int4", (5,)), array_of("bfloat16", (5,))
    for result in executable["main"](tensor(x), tensor(y)):
        assert to_numpy(result).astype("float32").tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(TypeError, match=r"expected dtype uint8 \(a byte for each int4\), got int8"):
        executable["main"](x.view("int8"), tensor(y))
