# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of other functions: PrimFuncs that write to arguments, Python functions, and functions of codegens.

A function of a codegen is defined by the relax function in the codegen's module. A Python function is the machine's,
which receives arrays, or one registered with tvm-ffi, which receives tensors of the same memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy
from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.dialects.core.infos import Info, TensorInfo
from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.core.verifier import call_of
from relax_mlir.runtime.arrays import to_numpy

from ..held_values import HeldValue, stored
from ..python_functions import python_function
from ..sites import Frame, Site, Step
from ..steps import register_step

if TYPE_CHECKING:
    from numpy import ndarray

_Value = TypeVar("_Value")


def _call(site: Site) -> Call:
    return call_of(find_op(site.operation.name), site.operation)


def _infos(values: Sequence[Value]) -> list[Info]:
    return [decode(value.type) for value in values]


@register_step("relax.call_tir")
def call_tir(site: Site) -> Step:
    """Call a PrimFunc with memory for its results. On tensors it returns them, on memrefs it has written them."""
    callee = call_of(find_op("relax.call_tir"), site.operation).func
    site.machine.prepare(callee)
    machine, infos = site.machine, [decode(type_) for type_ in site.operation.results.types]

    def run(frame: Frame, *operands: HeldValue) -> list[HeldValue]:
        outputs = [memory(site, frame, info) for info in infos]
        # Memory is row-major. Arrays of tensors need not be.
        inputs = [
            numpy.asarray(operand, order="C") if isinstance(operand, numpy.ndarray) else operand for operand in operands
        ]
        found = machine.call(callee, [*inputs, *outputs], site.operation) or outputs
        return [with_sign(site, each, info) for each, info in zip(found, infos, strict=True)]

    return run


def with_sign(site: Site, array: ndarray, info: Info) -> ndarray:
    """Reinterpret a PrimFunc's signless integers by the graph's type."""
    held = site.numbers.dtype(info.dtype) if isinstance(info, TensorInfo) else None
    return array if held is None or array.dtype == held else array.view(held)


def memory(site: Site, frame: Frame, info: Info) -> ndarray:
    """Allocate the memory of a result."""
    assert isinstance(info, TensorInfo) and info.shape is not None, "its verifier refuses others"
    sizes = [frame.size(dim) for dim in info.shape]
    if None in sizes:
        raise site.refusal("a size of its result is not known before it runs")
    shape = tuple(size for size in sizes if size is not None)
    if min(shape, default=0) < 0:
        raise ValueError(f"{site.place}: a size of its result is negative: shape {shape}")
    return site.numbers.empty(shape, info.dtype)


@register_step("relax.call_tir_inplace")
def call_tir_inplace(site: Site) -> Step:
    """Call with copies of the overwritten arguments, so that other uses see the old values."""
    machine, call, infos = site.machine, _call(site), _infos(site.operation.results)
    machine.prepare(call.func)

    def run(frame: Frame, *operands: Any) -> list[HeldValue]:
        indices = call.inplace_indices
        given = [operand.copy() if place in indices else operand for place, operand in enumerate(operands)]
        arguments = [numpy.asarray(each, order="C") if isinstance(each, numpy.ndarray) else each for each in given]
        own = [memory(site, frame, info) for info, index in zip(infos, call.inplace_indices, strict=True) if index < 0]
        returned = machine.call(call.func, [*arguments, *own], site.operation)
        found = returned or _place(call.inplace_indices, arguments, own)
        return [with_sign(site, each, info) for each, info in zip(found, infos, strict=True)]

    return run


def _place(indices: Sequence[int], arguments: Sequence[_Value], own: Sequence[_Value]) -> list[_Value]:
    """Return the results: overwritten arguments, and separate values."""
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

    def run(frame: Frame, *operands: HeldValue) -> list[HeldValue]:
        outputs = [memory(site, frame, info) for info in infos]
        given = [_pass(site, value) for value in [*operands, *outputs]]
        function(*given)
        return [_take(site, each, info) for each, info in zip(given[len(operands) :], infos, strict=True)]

    return run


@register_step(["relax.call_packed", "relax.call_pure_packed"])
def call_packed(site: Site) -> Step:
    infos, function = _infos(site.operation.results), python_function(site, _call(site).func)
    is_pure = site.operation.name != "relax.call_packed"

    def run(frame: Frame, *operands: HeldValue) -> list[HeldValue]:
        given = [_pass(site, held_value) for held_value in operands]
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

    def run(frame: Frame, *operands: HeldValue) -> list[HeldValue]:
        given = [_pass(site, operand) for operand in operands]
        found = function(*given)
        placed = _place(call.inplace_indices, given, _results(site, found, own) if own else [])
        return [_take(site, each, info) for each, info in zip(placed, infos, strict=True)]

    return run


def _pass(site: Site, value: HeldValue) -> object:
    """Convert an operand for Python: elements of their own type, and plain numbers."""
    if isinstance(value, numpy.ndarray):
        wide = value.dtype == numpy.float64 and site.numbers.wide
        return numpy.array(value, order="C") if not wide else value.copy()
    return value.item() if isinstance(value, numpy.generic) else value


def _results(site: Site, found: object, infos: Sequence[Info]) -> list[Any]:
    listed = list(found) if len(infos) != 1 and isinstance(found, (list, tuple)) else [found] if len(infos) else []
    if len(listed) != len(infos):
        raise site.refusal(f'"{_call(site).func}" gave {len(listed)} results, the operation has {len(infos)}')
    return [_take(site, each, info) for each, info in zip(listed, infos, strict=True)]


def _take(site: Site, value: Any, info: Info) -> Any:
    if not isinstance(info, TensorInfo):
        return value
    array: ndarray = to_numpy(value)
    own = (stored(info.dtype), site.numbers.dtype(info.dtype))
    if array.dtype not in own:
        raise site.refusal(f'"{_call(site).func}" gave elements of {array.dtype}, the result\'s are {info.dtype}')
    return site.numbers.held(array, info.dtype)


# ---- sizes of symbols ----


@register_step("relax.shape_expr")
def shape_expr(site: Site) -> Step:
    dims = call_of(find_op("relax.shape_expr"), site.operation).dims
    return lambda frame: [tuple(map(frame.size, dims))]


@register_step("relax.prim_value")
def prim_value(site: Site) -> Step:
    value = call_of(find_op("relax.prim_value"), site.operation).value

    def run(frame: Frame) -> HeldValue:
        if (size := frame.size(value)) is None:
            raise site.refusal(f"{value} is not known at this point")
        return numpy.int64(size)

    return run
