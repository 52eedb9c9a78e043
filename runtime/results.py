# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of a call as arrays of the arguments' framework. Imports no framework: the arguments provide it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from .arrays import KNOWN_TO_NUMPY, to_numpy
from .errors import UnsupportedArray
from .manifest import PassedValue, Signature

Give = Callable[[Any], Any]


def giver(signature: Signature, arguments: Sequence[object]) -> Give:
    """Return the function that converts a call's result. The first array determines the framework; the default is
    tvm-ffi's.

    For numbers and lists in place of arrays it is NumPy.
    """
    outputs = signature.outputs
    framework = next(_frameworks(signature, arguments), None)
    if not outputs:
        return _as_it_is
    if len(outputs) == 1:
        return _giver_of(signature.name, 0, outputs[0], framework)
    givers = [_giver_of(signature.name, position, output, framework) for position, output in enumerate(outputs)]
    # A slice is faster: tvm-ffi's arrays count their items for each access.
    return lambda results: tuple([give(result) for give, result in zip(givers, results[:], strict=True)])


def _frameworks(signature: Signature, arguments: Sequence[object]) -> Iterator[Give]:
    """Yield the function that creates arrays from tensors for each argument that is an array."""
    for described, argument in zip(signature.inputs, arguments, strict=False):
        if described.kind == "list" and isinstance(argument, Sequence):
            yield from map(maker_of, argument)
        elif described.kind == "tensor":
            yield maker_of(argument)


def maker_of(array: object) -> Give:
    from .ffi import give_torch, tvm_ffi

    if isinstance(array, tvm_ffi.Tensor):
        return _as_it_is
    if not hasattr(array, "__dlpack__"):
        return to_numpy
    if hasattr(array, "__array_namespace__"):  # standard of the array API
        return _find_converter(array.__array_namespace__())
    for cls in type(array).__mro__:
        module = sys.modules.get(cls.__module__.partition(".")[0])
        if module is not None and hasattr(module, "from_dlpack"):
            if module.__name__ == "torch":
                give_torch()
            return _find_converter(module)
    return _as_it_is


def _find_converter(namespace: ModuleType) -> Give:
    give: Give = to_numpy if namespace.__name__ == "numpy" else namespace.from_dlpack
    return give


def _as_it_is(tensor: object) -> object:
    return tensor


def _giver_of(function: str, position: int, described: PassedValue, make: Give | None) -> Give:
    from .ffi import tvm_ffi

    is_tensor = described.kind == "tensor" and not described.optional
    if make is None or make is _as_it_is:
        return _as_it_is if is_tensor else _plain
    if make is to_numpy and is_tensor and described.dtype in KNOWN_TO_NUMPY and not described.holds:
        return sys.modules["numpy"].from_dlpack  # the fastest conversion
    held = described.holds or None if make is to_numpy else None

    is_as_made = is_tensor and make is not to_numpy

    def give(value: object) -> object:
        if not isinstance(value, tvm_ffi.Tensor):
            if is_as_made:  # tvm-ffi returns torch tensors if any argument is one
                return value
            if isinstance(value, tvm_ffi.Array):
                return [give(each) for each in value]
            return to_numpy(value, held) if make is to_numpy and hasattr(value, "__dlpack__") else value
        try:
            return to_numpy(value, held) if make is to_numpy else make(value)
        except Exception as error:  # frameworks raise different errors for missing features
            text = f"{function}: result #{position} ({value.dtype}) cannot be given as the arguments came: {error}"
            raise UnsupportedArray(f"{text}; pass tvm_ffi tensors to get them") from error

    return give


def _plain(value: object) -> object:
    """Return a tvm-ffi object unchanged, and its array as a list."""
    from .ffi import tvm_ffi

    return [_plain(each) for each in value] if isinstance(value, tvm_ffi.Array) else value
