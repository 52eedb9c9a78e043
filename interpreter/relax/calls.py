# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of what stands outside of the function: PrimFuncs that write to arguments, functions of Python, and those that
a codegen makes code of, whose meaning is the function of relax in the codegen's module.

A function of Python is the machine's, which is given arrays, else one that is registered with tvm-ffi, which is given
tensors of the same memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from ...dialects.core.codec import decode
from ...dialects.core.dialect import find_op
from ...dialects.core.infos import Info, TensorInfo
from ...dialects.core.verifier import call_of
from ...runtime.arrays import to_numpy
from ..held_values import stored
from ..python_functions import python_function
from ..registry import register_step
from ..sites import Frame, Site, Step
from ..upstream.relax_calls import memory, with_sign

if TYPE_CHECKING:
    from numpy import ndarray


def _call(site: Site) -> Any:
    return call_of(find_op(site.operation.name), site.operation)


def _infos(values: Any) -> list[Info]:
    return [decode(value.type) for value in values]


@register_step("relax.call_tir_inplace")
def call_tir_inplace(site: Site) -> Step:
    """What it writes to is a copy: the argument has the value that it had, wherever else it is used."""
    machine, call, infos = site.machine, _call(site), _infos(site.operation.results)
    machine.prepare(call.func)

    def run(frame: Frame, *operands: Any) -> list[Any]:
        arguments = _with_copies(operands, call.inplace_indices)
        own = [memory(site, frame, info) for info, index in zip(infos, call.inplace_indices, strict=True) if index < 0]
        returned = machine.call_from_graph(call.func, [*arguments, *own], site.operation)
        found = returned or _placed(call.inplace_indices, arguments, own)
        return [with_sign(site, each, info) for each, info in zip(found, infos, strict=True)]

    return run


def _with_copies(operands: Sequence[Any], indices: Sequence[int]) -> list[Any]:
    given = [each.copy() if place in indices else each for place, each in enumerate(operands)]
    return [numpy.asarray(each, order="C") if isinstance(each, numpy.ndarray) else each for each in given]


def _placed(indices: Sequence[int], arguments: Sequence[Any], own: Sequence[Any]) -> list[Any]:
    """The results: arguments that were written to, and values of their own."""
    rest = iter(own)
    return [next(rest) if index < 0 else arguments[index] for index in indices]


@register_step("relax.call_external")
def call_external(site: Site) -> Step:
    module, _, function = _call(site).func.rpartition("::")
    machine = site.machine.inside(module)
    machine.prepare(function)
    return lambda frame, *operands: machine.call(function, operands)


# ---- functions of Python ----


@register_step("relax.call_dps_packed")
def call_dps_packed(site: Site) -> Step:
    infos, function = _infos(site.operation.results), python_function(site, _call(site).func)

    def run(frame: Frame, *operands: Any) -> list[Any]:
        outputs = [memory(site, frame, info) for info in infos]
        given = [_passed(site, each) for each in [*operands, *outputs]]
        function(*given)
        return [_taken(site, each, info) for each, info in zip(given[len(operands) :], infos, strict=True)]

    return run


@register_step(["relax.call_packed", "relax.call_pure_packed"])
def call_packed(site: Site) -> Step:
    infos, function = _infos(site.operation.results), python_function(site, _call(site).func)
    is_pure = site.operation.name != "relax.call_packed"

    def run(frame: Frame, *operands: Any) -> list[Any]:
        given = [_passed(site, each) for each in operands]
        found = function(*given)
        for operand, array in zip(operands, given, strict=True):
            if not is_pure and isinstance(operand, numpy.ndarray) and operand.flags.writeable:
                operand[...] = array
        return _results(site, found, infos)

    return run


@register_step("relax.call_inplace_packed")
def call_inplace_packed(site: Site) -> Step:
    call, infos, function = _call(site), _infos(site.operation.results), python_function(site, _call(site).func)
    own = [info for info, index in zip(infos, call.inplace_indices, strict=True) if index < 0]

    def run(frame: Frame, *operands: Any) -> list[Any]:
        given = [_passed(site, each) for each in operands]
        found = function(*given)
        placed = _placed(call.inplace_indices, given, _results(site, found, own) if own else [])
        return [_taken(site, each, info) for each, info in zip(placed, infos, strict=True)]

    return run


def _passed(site: Site, value: object) -> Any:
    """Elements have their own type, however they are computed with; of numbers Python's."""
    if isinstance(value, numpy.ndarray):
        wide = value.dtype == numpy.float64 and site.numbers.wide
        return numpy.array(value, order="C") if not wide else value.copy()
    return value.item() if isinstance(value, numpy.generic) else value


def _results(site: Site, found: Any, infos: Sequence[Info]) -> list[Any]:
    listed = list(found) if len(infos) != 1 and isinstance(found, (list, tuple)) else [found] if len(infos) else []
    if len(listed) != len(infos):
        raise site.refusal(f'"{_call(site).func}" gave {len(listed)} results, the operation has {len(infos)}')
    return [_taken(site, each, info) for each, info in zip(listed, infos, strict=True)]


def _taken(site: Site, value: Any, info: Info) -> Any:
    if not isinstance(info, TensorInfo):
        return value
    array: ndarray = to_numpy(value)
    own = (stored(info.dtype), site.numbers.dtype(info.dtype))
    if array.dtype not in own:
        raise site.refusal(f'"{_call(site).func}" gave elements of {array.dtype}, the result\'s are {info.dtype}')
    return site.numbers.held(array, info.dtype)
