# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of NumPy arrays to tensors and back without copies, also for element types that NumPy's DLPack lacks.

bfloat16 and float8 (ml_dtypes) keep their DLPack type. Types of less than a byte (int4, uint4, float6, float4) are
uint8 in DLPack. DLPack would pack them, but NumPy and compiled functions store one element in the low bits of each
byte.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from .errors import UnsupportedArray
from .foreign_types import Array, ArrayOrTensor, ElementType, Exporter, Tensor

if TYPE_CHECKING:
    import numpy
    from numpy.typing import ArrayLike, DTypeLike
    from typing_extensions import CapsuleType

KNOWN_TO_NUMPY = frozenset(
    ["bool", "float16", "float32", "float64"] + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
# Offset of the DLTensor in a capsule's structure, of its fields, and of the data in front of it, by capsule name.
_TENSOR_OFFSETS = {b"dltensor": 0, b"dltensor_versioned": 32}
_RANK_OFFSET, _DTYPE_OFFSET, _SHAPE_OFFSET = 16, 20, 24
_FLAGS_OFFSET, _READ_ONLY = 24, 1
_HIGHEST_RANK = 64
_OBJECT_HEADER = 24  # of tvm-ffi's objects; a tensor's DLTensor follows it
CPU = 1  # kDLCPU

_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def tensor(array: ArrayLike) -> Tensor:
    """Return a tvm-ffi tensor that shares an array's memory and keeps it alive.

    Compiled functions take such tensors.
    """
    import numpy

    from .ffi import tvm_ffi

    array = numpy.asarray(array)
    if not array.dtype.isnative:
        raise UnsupportedArray(
            f"an array of {array.dtype.name} in the other byte order cannot be passed: pass a copy in this one's"
        )
    if not array.flags.writeable:
        raise UnsupportedArray("a read-only array cannot be passed, as tensors can be written to: pass a copy")
    return tvm_ffi.from_dlpack(exporter(array))


def exporter(array: Array) -> ArrayOrTensor | Exporter:
    """Return an exporter by DLPack of an array. NumPy itself exports no types of ml_dtypes."""
    if array.dtype.name in KNOWN_TO_NUMPY:
        return array
    dtype = _dlpack_type(array.dtype)
    storage = array.view(f"uint{8 * array.dtype.itemsize}")
    return storage if dtype.bits < 8 else _Relabelled(storage, dtype)


def _dlpack_type(dtype: numpy.dtype) -> ElementType:
    """Return the DLPack type of a type that ml_dtypes adds to NumPy."""
    from .ffi import tvm_ffi

    try:
        found = tvm_ffi.dtype(dtype.name)
    except ValueError:
        found = None
    is_from_extension = dtype.isbuiltin == 2
    if found is None or not is_from_extension:
        raise UnsupportedArray(f"an array of {dtype.name} cannot be passed: DLPack has no such element type")
    return found


def to_numpy(tensor: Exporter, dtype: DTypeLike | None = None) -> Array:
    """Return an array that shares a tensor's memory and keeps it alive. ml_dtypes provides types that NumPy lacks.

    `dtype` ("int4", or ml_dtypes.int4) is the type that the bytes of a uint8 tensor encode.
    """
    import numpy

    from .ffi import tvm_ffi

    if isinstance(tensor, numpy.ndarray):
        return tensor if dtype is None else _reinterpret(tensor, numpy_type(dtype))
    tensor = tensor if isinstance(tensor, tvm_ffi.Tensor) else share(tensor)
    if (name := str(tensor.dtype)) in KNOWN_TO_NUMPY:
        array = numpy.from_dlpack(tensor)
    else:
        storage = tvm_ffi.dtype(f"uint{tensor.dtype.bits}")
        array = numpy.from_dlpack(_Relabelled(tensor, storage)).view(numpy_type(name))
    return array if dtype is None else _reinterpret(array, numpy_type(dtype))


def storage(tensor: Tensor) -> Array:
    """Return the bytes of a contiguous tvm-ffi tensor as an array, which keeps the tensor alive."""
    import numpy

    from .ffi import tvm_ffi

    elements = _Relabelled(tensor, tvm_ffi.dtype(f"uint{tensor.dtype.bits}"))
    return numpy.from_dlpack(elements).reshape(-1).view("uint8")


def share(array: Exporter, is_written: bool = False) -> Tensor:
    """Return a tvm-ffi tensor that shares the memory of an object of any framework, even if that is read-only.

    The object's metadata are checked before its pointers are followed.
    """
    from .ffi import tvm_ffi

    if is_written and is_negated(array):
        raise UnsupportedArray("is written to, but the array has the other sign than its memory")
    kind = f"an object of type {type(array).__name__}"
    try:
        capsule = _export_array(array)
        name = _capsule_name(capsule)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]  # torch appends frames of C++
        raise UnsupportedArray(f"{kind} does not export its memory: {reason}") from None
    if name not in _TENSOR_OFFSETS:
        raise UnsupportedArray(f"{kind} exports no DLPack tensor")
    start = _capsule_pointer(capsule, name)
    if damage := _damage(start + _TENSOR_OFFSETS[name]):
        raise UnsupportedArray(damage)
    is_versioned = name == b"dltensor_versioned"
    if is_written and is_versioned and ctypes.c_uint64.from_address(start + _FLAGS_OFFSET).value & _READ_ONLY:
        raise UnsupportedArray("is written to, but the array is read-only")
    return tvm_ffi.from_dlpack(capsule)


def _damage(place: int) -> str:
    """Return the reason why a DLTensor's data is not readable, or "" if it may be."""
    rank = ctypes.c_int32.from_address(place + _RANK_OFFSET).value
    if not 0 <= rank <= _HIGHEST_RANK:
        return f"expected a tensor of rank 0 to {_HIGHEST_RANK}, got rank {rank}"
    sizes_at = ctypes.c_void_p.from_address(place + _SHAPE_OFFSET).value
    if rank and not sizes_at:
        return "expected a tensor with its sizes, got a null pointer for them"
    sizes = list((ctypes.c_int64 * rank).from_address(sizes_at)) if sizes_at else []
    if min(sizes, default=0) < 0:
        return f"expected sizes of at least 0, got shape {tuple(sizes)}"
    if 0 not in sizes and not ctypes.c_void_p.from_address(place).value:
        return "expected data, got a null pointer"
    return ""


#: Layout of torch's tensors with elements in memory and strides.
_STRIDED = "torch.strided"


def has_negated_views(cls: type) -> bool:
    """Check whether arrays of a class, such as torch's, may be negated views of their memory.

    DLPack cannot express them.
    """
    return hasattr(cls, "is_neg")


def is_negated(array: Any) -> bool:
    return has_negated_views(type(array)) and bool(array.is_neg())


def _export_array(array: Any) -> CapsuleType:
    """Return the DLPack capsule of an array. torch's negation is resolved, and its gradient is detached."""
    layout = str(getattr(array, "layout", _STRIDED))
    if layout.startswith("torch.") and layout != _STRIDED:
        raise UnsupportedArray(f"expected a strided tensor, got one with the layout {layout}: x.to_dense() makes one")
    if is_negated(array):
        array = array.resolve_neg()
    if getattr(array, "requires_grad", False):
        array = array.detach()
    try:
        return array.__dlpack__(max_version=(1, 0))
    except TypeError:  # older than DLPack 1.0
        return array.__dlpack__()


def is_copied(tensor: Tensor) -> bool:
    """Check whether a tensor needs `copy`: it is on the CPU, and its elements have gaps or are misaligned."""
    bits = tensor.dtype.bits
    if (
        _damage(tensor.__chandle__() + _OBJECT_HEADER)
        or tensor.__dlpack_device__()[0] != CPU
        or bits not in (8, 16, 32, 64)
        or tensor.dtype.lanes != 1
    ):
        return False
    return not tensor.is_contiguous() or tensor.data_ptr() % (bits // 8) != 0


def copy(tensor: Tensor) -> Tensor:
    """Return a contiguous copy of a tensor on the CPU."""
    import numpy

    from .ffi import tvm_ffi

    elements = numpy.from_dlpack(_Relabelled(tensor, tvm_ffi.dtype(f"uint{tensor.dtype.bits}")))
    return tvm_ffi.from_dlpack(_Relabelled(numpy.array(elements, order="C"), tensor.dtype))


def empty_on_host(tensor: Tensor) -> Tensor:
    """Return a new tvm-ffi tensor on the CPU with the shape and element type of another tensor."""
    import numpy

    from .ffi import tvm_ffi

    return tvm_ffi.from_dlpack(_Relabelled(numpy.empty(tensor.shape, f"uint{tensor.dtype.bits}"), tensor.dtype))


def numpy_type(dtype: DTypeLike) -> numpy.dtype:
    """Return NumPy's or ml_dtypes' element type of a name. NumPy converts all other values."""
    import numpy

    if not isinstance(dtype, str) or dtype in KNOWN_TO_NUMPY:
        return numpy.dtype(dtype)
    try:
        import ml_dtypes
    except ImportError:
        raise UnsupportedArray(f"numpy has no {dtype}, which comes with ml_dtypes: pip install ml_dtypes") from None
    if not hasattr(ml_dtypes, dtype):
        raise UnsupportedArray(f"neither numpy nor ml_dtypes {ml_dtypes.__version__} has an element type '{dtype}'")
    return numpy.dtype(getattr(ml_dtypes, dtype))


def _reinterpret(array: Array, dtype: numpy.dtype) -> Array:
    if array.dtype == dtype:
        return array
    if array.dtype.name != "uint8" or dtype.itemsize != 1:
        raise UnsupportedArray(f"a tensor of {array.dtype.name} does not hold {dtype.name}; bytes (uint8) can")
    return array.view(dtype)


class _Relabelled:
    """Exporter of memory by DLPack under another element type of the same size."""

    def __init__(self, exporter: ArrayOrTensor, dtype: ElementType) -> None:
        self._exporter = exporter
        self._dtype = dtype

    def __dlpack__(self, **options: Any) -> CapsuleType:
        capsule = self._exporter.__dlpack__(**options)
        name = _capsule_name(capsule)
        # Each export has its own structure, so that the exporter's metadata do not change.
        place = _capsule_pointer(capsule, name) + _TENSOR_OFFSETS[name] + _DTYPE_OFFSET
        code_and_bits = (ctypes.c_uint8 * 2).from_address(place)
        code_and_bits[:] = [self._dtype.type_code, self._dtype.bits]
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._exporter.__dlpack_device__()
