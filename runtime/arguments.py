# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of arguments that a compiled function refuses: copies where needed, and tensors of numbers.

Only arguments that would be refused are changed. An input that a call writes to must share the caller's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from types import ModuleType
from typing import TYPE_CHECKING, TypeGuard

from .arrays import KNOWN_TO_NUMPY, copy, is_copied, is_negated, numpy_type, share, tensor
from .errors import UnsupportedArray
from .foreign_types import Array, ArrayOrTensor, Tensor
from .manifest import PassedValue, Signature

if TYPE_CHECKING:
    import numpy

_KINDS = ("bool", "int", "float")  # kinds of numbers; each kind represents all numbers of the kinds before it


def are_passed_as_they_are(signature: Signature, arguments: Sequence[object]) -> bool:
    """Check whether the types of arguments are structures that tvm-ffi knows, so that the entry can check the
    arguments."""
    return all(
        described.kind not in ("tensor", "list") or _is_known(argument)
        for described, argument in zip(signature.inputs, arguments, strict=False)
    )


def prepared(signature: Signature, arguments: Sequence[object]) -> list[object]:
    """Return the arguments, and convert arguments that would be refused. Raises UnsupportedArray with the name."""
    if len(arguments) != len(signature.inputs):
        return list(arguments)  # the entry reports the error
    pairs = enumerate(zip(signature.inputs, arguments, strict=True))
    return [_prepare(f"{signature.name}: argument #{place} '{pair[0].name}'", *pair) for place, pair in pairs]


def _prepare(where: str, described: PassedValue, value: object) -> object:
    if described.kind == "tensor":
        return _tensor(where, described, value)
    if described.kind != "list" or not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        return value
    if len(value) != len(described.items):
        return value
    items = [each._replace(written=described.written) for each in described.items]
    pairs = enumerate(zip(items, value, strict=True))
    found = [_prepare(f"{where} item #{place}", *pair) for place, pair in pairs]
    return value if all(one is other for one, other in zip(found, value, strict=True)) else found


def _is_known(value: object) -> bool:
    from .ffi import tvm_ffi

    cls = type(value)
    is_numpys = cls.__module__ == "numpy" and hasattr(cls, "__dlpack__")
    return is_numpys or isinstance(value, tvm_ffi.Tensor) or hasattr(cls, "__dlpack_c_exchange_api__")


def _tensor(where: str, described: PassedValue, value: object) -> object:
    from .ffi import tvm_ffi

    try:
        if isinstance(value, (Number, list, tuple)) or _is_numpys(value, "generic"):
            return _convert_numbers(where, described, value)
        if _is_numpys(value, "ndarray"):
            return _convert_numpy(where, described, value)
        if isinstance(value, tvm_ffi.Tensor):
            return _contiguous(where, value, value, described.written)
        if hasattr(value, "__dlpack__"):
            return _contiguous(where, value, share(value, described.written), described.written)
        if isinstance(value, memoryview) or hasattr(value, "__array__"):
            found = _convert_numpy(where, described, numpy_or_refusal(where).asarray(value))
            return found if isinstance(found, tvm_ffi.Tensor) else tensor(found)
    except UnsupportedArray as error:
        raise UnsupportedArray(str(error) if str(error).startswith(where) else f"{where}: {error}") from None
    return value


def _is_numpys(value: object, name: str) -> TypeGuard[Array]:
    """Check whether a value is of a NumPy class, without importing NumPy.

    NumPy scalars have the attributes of arrays.
    """
    return any(cls.__module__ == "numpy" and cls.__name__ == name for cls in type(value).__mro__)


def _convert_numbers(where: str, described: PassedValue, value: object) -> object:
    """Return a new tensor of numbers.

    NumPy's numbers keep their type. Python's numbers take the input's type if no precision is lost.
    """
    numpy = numpy_or_refusal(where)
    if described.written:
        kind = type(value).__name__
        raise UnsupportedArray(f"{where} is written to, which would not be seen in a {kind}: pass an array")
    try:
        array = numpy.asarray(value)
    except (OverflowError, TypeError, ValueError) as error:
        expected = f"expected numbers of {described.dtype}"
        raise UnsupportedArray(f"{where} {expected}, got a list that is none: {error}") from None
    if isinstance(value, numpy.generic):
        return _convert_numpy(where, described, array)
    name = described.holds or described.dtype
    wanted = numpy_type(name)
    kinds = [_kind(array.dtype.name), _kind(name)]
    if kinds[0] is None or (array.size and _KINDS.index(kinds[0]) > _KINDS.index(kinds[1] or "float")):
        raise UnsupportedArray(f"{where} expected numbers of {name}, got {_short(value)}")
    with numpy.errstate(all="ignore"):
        made = array.astype(wanted)
    if kinds[1] == "int" and (made.astype(array.dtype) != array).any():
        raise UnsupportedArray(f"{where} expected numbers of {name}, which cannot be all of {_short(value)}")
    return tensor(made)


def _kind(dtype: str) -> str | None:
    """Return the kind of numbers of an element type."""
    name = dtype.lstrip("ub") if dtype != "bool" else dtype
    return next((kind for kind in _KINDS if name.startswith(kind)), None)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _convert_numpy(where: str, described: PassedValue, array: Array) -> ArrayOrTensor:
    dtype, flags = array.dtype, array.flags
    _check_element_type(where, described, dtype)
    is_in_place = dtype.isnative and flags.aligned and (flags.c_contiguous or not array.size)
    if described.written and not (is_in_place and flags.writeable):
        unusable = "in memory that kernels cannot use: not contiguous or not aligned"
        reason = unusable if flags.writeable else "read-only"
        raise UnsupportedArray(f"{where} is written to, but the array is {reason}")
    if is_in_place and flags.writeable:
        return array if dtype.name in KNOWN_TO_NUMPY else tensor(array)
    return tensor(_export_read_only(array) if is_in_place else array.astype(dtype.newbyteorder("="), order="C"))


def _export_read_only(array: Array) -> Array:
    """Return a read-only array in a form that can be passed, without a copy if NumPy exports its memory."""
    numpy = numpy_or_refusal("")
    try:
        return numpy.from_dlpack(share(array.view(f"uint{8 * array.dtype.itemsize}"))).view(array.dtype)
    except UnsupportedArray:
        return array.copy()


def _check_element_type(where: str, described: PassedValue, dtype: numpy.dtype) -> None:
    """Refuse element types that NumPy exports as another type or not at all. The entry checks all other types."""
    held, name = described.holds, dtype.name
    if name in KNOWN_TO_NUMPY or name in (described.dtype, held):
        return
    expected = f"{described.dtype} (a byte for each {held})" if held else described.dtype
    raise UnsupportedArray(f"{where} expected dtype {expected}, got {name}")


def _contiguous(where: str, value: object, shared: Tensor, is_written: bool) -> object:
    """Return the tensor of an array, or a copy of its elements if the memory is not contiguous."""
    if not is_copied(shared):
        return value if _is_known(value) and not is_negated(value) else shared
    if is_written:
        raise UnsupportedArray(f"{where} is written to, but its memory is not contiguous or not aligned")
    numpy_or_refusal(where)
    return copy(shared)


def numpy_or_refusal(where: str) -> ModuleType:
    try:
        import numpy
    except ImportError:
        raise UnsupportedArray(
            f"{where} expected an array that is contiguous, aligned and knows DLPack; others, lists and numbers need "
            "numpy: pip install numpy"
        ) from None
    return numpy
