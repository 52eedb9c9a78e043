# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of a graph that passes have lowered to memory, called as the graph's are.

A lowered function has an argument for each result: memory, or for what has a size that is known at its end a place,
which is a list. Its attributes say which types the graph has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from ..bindings.ir import Operation, Type
from ..bindings.mlir import DYNAMIC, ir
from ..bindings.navigation import body_of, symbol_name
from ..dialects.core.codec import decode
from ..dialects.core.infos import Info, ScalarInfo, TensorInfo
from ..dialects.core.ir_attributes import GRAPH_INPUTS, GRAPH_RESULTS, RESULT_MAKERS
from ..runtime.arrays import to_numpy
from ..support.errors import OptionError
from .element_bits import bytes_as, element_of
from .held_values import stored
from .machine import Machine
from .sites import Frame


class LoweredFunction:
    """A graph's function, on memory: it takes what the graph's does, and gives the same."""

    def __init__(self, machine: Machine, name: str, operation: Operation) -> None:
        self._machine = machine
        self._name = name
        self._types = [argument.type for argument in body_of(operation).arguments]
        self.inputs, self._results = (
            [decode(each.value) for each in operation.attributes[key]] for key in (GRAPH_INPUTS, GRAPH_RESULTS)
        )
        self._makers = [each.value for each in operation.attributes[RESULT_MAKERS]]

    def call(self, arguments: Sequence[Any]) -> list[Any]:
        sizes = Frame(0, {})
        for info, argument in zip(self.inputs, arguments, strict=True):
            if isinstance(info, TensorInfo):
                sizes.bind(info.shape, argument.shape)
            elif isinstance(info, ScalarInfo):
                sizes.learn(info.value, argument)
        types = iter(self._types)
        given = [
            self._passed(argument, info, next(types)) for argument, info in zip(arguments, self.inputs, strict=True)
        ]
        places = [self._place(sizes, index, type_) for index, type_ in enumerate(types)]
        self._machine.call(self._name, [*given, *places])
        own = self._types[len(arguments) :]
        return [self._taken(*each) for each in zip(places, self._results, own, strict=True)]

    def _passed(self, argument: Any, info: Info, type_: Type) -> Any:
        if isinstance(type_, ir.MemRefType) and isinstance(info, TensorInfo):
            # Memory has no signs, and bytes for small types.
            element = element_of(type_)
            return self._machine.memory.holding(self._seen(argument, info.dtype, element), element)
        if isinstance(argument, numpy.generic):
            return self._machine.numbers.held(argument, str(type_))[()]
        return argument

    def _place(self, sizes: Frame, index: int, type_: Type) -> Any:
        """What a result is left in."""
        if not isinstance(type_, ir.MemRefType):
            return []
        info = self._results[index]
        assert isinstance(info, TensorInfo) and info.shape is not None
        shape = tuple(size for size in map(sizes.size, info.shape) if size is not None)
        if min(shape, default=0) < 0:
            maker = self._makers[index]
            raise ValueError(f"{self._name}: result #{index} ({maker}): a size is negative: shape {shape}")
        return self._machine.memory.allocate(shape, element_of(type_))

    def _taken(self, place: Any, info: Info, type_: Type) -> Any:
        found = place[0] if isinstance(place, list) else place
        if not isinstance(info, TensorInfo):
            return found
        if isinstance(type_, ir.MemRefType):
            found = self._seen(found, info.dtype, element_of(type_), back=True)
        return numpy.asarray(found, order="C").view(self._machine.numbers.dtype(info.dtype))

    def _seen(self, array: Any, dtype: str, element: str, back: bool = False) -> Any:
        """The graph's elements as memory has them, or back."""
        if dtype == element:
            return array
        return bytes_as(self._machine.numbers, array, *((element, dtype) if back else (dtype, element)))


def call_with_memory(machine: Machine, operation: Operation, arguments: Sequence[Any]) -> list[Any]:
    """Calls a function as it is: arrays that it has memrefs for are written to."""
    name, given, written = symbol_name(operation), list(arguments), []
    for index, argument in enumerate(body_of(operation).arguments):
        if isinstance(argument.type, ir.MemRefType):
            array = to_numpy(arguments[index])
            _check(f"{name}: argument #{index}", array, argument.type)
            given[index] = machine.memory.holding(array, element_of(argument.type))
            written.append((array, index))
    results = machine.call(name, given)
    for array, index in written if machine.numbers.wide else ():
        array[...] = given[index]
    return results


def _check(what: str, array: Any, type_: Type) -> None:
    wanted, element = [size if size != DYNAMIC else None for size in type_.shape], element_of(type_)
    if not _fits(array.dtype, stored(element)):
        raise OptionError(f"{what} has elements of {array.dtype}, not {element}")
    if len(wanted) != array.ndim or any(size not in (None, own) for size, own in zip(wanted, array.shape, strict=True)):
        raise OptionError(f"{what} has the shape {array.shape}, not that of {type_}")


def _fits(given: numpy.dtype, wanted: numpy.dtype) -> bool:
    """Memory has no signs."""
    are_integers = given.kind in "iu" and wanted.kind in "iu"
    return given == wanted or (are_integers and given.itemsize == wanted.itemsize)


def is_lowered(operation: Operation) -> bool:
    return GRAPH_INPUTS in operation.attributes
