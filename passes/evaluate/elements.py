# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Known elements: arrays of numbers, or arrays of objects if symbols are among them.

Objects are Python's integers and expressions over dimensions, for floats ratios of these (ratios.py). No operation on
objects wraps around. Arrays of booleans are always numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ...dialects.core.infos import Info, TensorInfo
from ...dialects.core.symbols import SymExpr
from ...dialects.relax.known_constants import NUMPY_NAME
from ...support.errors import RelaxError
from .ratios import NotKnown, Ratio

if TYPE_CHECKING:
    from numpy import ndarray


def objects(items: Sequence[object]) -> ndarray:
    """Return a 1-D array of the items."""
    import numpy

    array = numpy.empty(len(items), object)
    array[:] = items
    return array


def is_symbolic(array: ndarray) -> bool:
    """Check whether symbols are among the elements."""
    return array.dtype.kind == "O"


def exact(array: ndarray) -> ndarray:
    """Return the elements as objects. Raise NotKnown for values without a ratio."""
    import numpy

    if is_symbolic(array):
        return array
    if array.dtype.kind != "f":
        return array.astype(object)
    if not numpy.isfinite(array).all() or (numpy.signbit(array) & (array == 0)).any():
        raise NotKnown  # no ratio
    return objects([Ratio(*each.as_integer_ratio()) for each in array.ravel().tolist()]).reshape(array.shape)


def alike(arrays: Sequence[ndarray]) -> Sequence[ndarray]:
    """Return arrays that are all numbers or all objects."""
    return list(map(exact, arrays)) if any(map(is_symbolic, arrays)) else arrays


def applied(function: Callable[..., object], *arrays: ndarray) -> ndarray:
    """Apply a function to objects, element by element."""
    import numpy

    return numpy.asarray(numpy.frompyfunc(function, len(arrays), 1)(*map(exact, arrays)), object)


def numbers(array: ndarray | None) -> ndarray:
    """Return the array. Raise NotKnown if a symbol is in it."""
    if array is None or is_symbolic(array):
        raise NotKnown
    return array


def typed(found: object, info: Info, rule: object) -> ndarray:
    """Return a rule's result as elements of a type, as numbers if no symbol is among them. Raise NotKnown."""
    import numpy

    name = NUMPY_NAME.get(info.dtype) if isinstance(info, TensorInfo) else None
    if found is None or not isinstance(info, TensorInfo) or name is None:
        raise NotKnown
    array = numpy.asarray(found)
    if is_symbolic(array):
        array = _typed_objects(array, name)
    elif array.dtype != name:
        raise RelaxError(f"the evaluation of {rule} gave elements of {array.dtype}, the result's are {name}")
    if info.shape is not None and not _fits(array.shape, info.shape):
        raise NotKnown  # the program has an error, which is found at run time
    return array


def _fits(shape: Sequence[int], stated: Sequence[object]) -> bool:
    sizes = [size if isinstance(size, int) else own for own, size in zip(shape, stated, strict=False)]
    return len(shape) == len(stated) and list(shape) == sizes


def _typed_objects(array: ndarray, name: str) -> ndarray:
    import numpy

    flat = array.ravel().tolist()
    plain = [each for each in flat if not (each.is_symbolic if isinstance(each, Ratio) else isinstance(each, SymExpr))]
    is_float = name.startswith("float")
    if plain and not is_float:
        least, most = _limits(name)
        if min(plain) < least or max(plain) > most:
            raise NotKnown  # the program would wrap around
    if len(plain) < len(flat):
        return array
    return (_floats(plain, name) if is_float else numpy.array(plain, name)).reshape(array.shape)


@cache
def _limits(name: str) -> tuple[int, int]:
    import numpy

    if name == "bool":
        return 0, 1
    limits = numpy.iinfo(name)
    return int(limits.min), int(limits.max)


def _floats(ratios: Sequence[Any], name: str) -> ndarray:
    import numpy

    if name == "float16":
        raise NotKnown  # f16 represents too few sizes exactly
    array = numpy.array([ratio.number / ratio.divisor for ratio in ratios], name)
    if any(float(held) * ratio.divisor != ratio.number for held, ratio in zip(array, ratios, strict=True)):
        raise NotKnown  # the program would round
    return array
