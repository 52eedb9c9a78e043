# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs functions of simple relax operators with numpy, one operation after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import SymExpr

DTYPES = {
    "f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64, "i1": numpy.bool_,
    **{f"i{bits}": getattr(numpy, f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": getattr(numpy, f"uint{bits}") for bits in (8, 16, 32, 64)},
}  # fmt: skip


def run_function(function: Any, arguments: Sequence[Any]) -> list[Any]:
    """What the function returns: arrays for tensors, tuples of sizes for shapes."""
    block = function.operation.regions[0].blocks[0]
    machine = Interpreter()
    for parameter, value in zip(block.arguments, arguments, strict=True):
        machine.bind(parameter, value)
    for op in block.operations:
        if op.operation.name == "func.return":
            return [machine.values[value] for value in op.operation.operands]
        machine.step(op)
    raise AssertionError("the function does not return")


class Interpreter:
    """Values of SSA values and of symbols."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        self.symbols: dict[str, int] = {}

    def bind(self, value: Any, result: Any) -> None:
        """Sets a value; the sizes that its type names become known, or are checked."""
        info = decode(value.type)
        if isinstance(info, TensorInfo):
            result = numpy.asarray(result)
            assert result.dtype == DTYPES[info.dtype], (value, result.dtype)
            self._match(info.shape, result.shape)
        self.values[value] = result

    def _match(self, dims: Sequence[Any] | None, sizes: Sequence[int]) -> None:
        if dims is None:
            return
        assert len(dims) == len(sizes), (dims, sizes)
        for dim, size in zip(dims, sizes, strict=True):
            if isinstance(dim, SymExpr) and str(dim) in dim.variables and str(dim) not in self.symbols:
                self.symbols[str(dim)] = size
            elif dim is not None:
                assert self.size(dim) == size, (dims, sizes)

    def size(self, dim: Any) -> int:
        return dim.evaluate(self.symbols) if isinstance(dim, SymExpr) else dim

    def step(self, op: Any) -> None:
        """Runs one operation."""
        operation = op.operation
        if operation.name == "arith.constant":
            results = [numpy.array(operation.attributes["value"])]
        elif operation.name == "func.call":
            callee = function_of(outermost(operation), operation.attributes["callee"].value)
            results = run_function(callee, [self.values[operand] for operand in operation.operands])
        elif operation.name == "relax.shape_expr":
            results = [tuple(self.size(dim) for dim in op.dims)]
        else:
            with numpy.errstate(all="ignore"):
                operands = [self.values[operand] for operand in operation.operands]
                given = _FUNCTIONS[operation.name](op, *operands)
            results = given if isinstance(given, list) else [given]
        for value, result in zip(operation.results, results, strict=True):
            self.bind(value, result)


def same(one: Any, other: Any) -> bool:
    """Whether two results agree to the last bit; any NaN is like any other."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        return one == other
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind != "f":
        return bool((one == other).all())
    signs = (numpy.signbit(one) == numpy.signbit(other)) | numpy.isnan(one)
    return bool(numpy.array_equal(one, other, equal_nan=True) and signs.all())


# ---- operators ----


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda op, *operands: function(*operands)


def _keep_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda op, *operands: numpy.asarray(function(*operands)).astype(operands[0].dtype)


def _rounding(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda op, x: function(x) if x.dtype.kind == "f" else x


def _divide(op: Any, left: Any, right: Any) -> Any:
    if left.dtype.kind == "f":
        return left / right
    quotient = numpy.abs(left.astype(object)) // numpy.abs(right.astype(object))
    negative = (left < 0) != (right < 0)
    return numpy.where(negative, -quotient, quotient).astype(left.dtype)


def _permute(op: Any, x: Any) -> Any:
    return x.transpose(op.axes)


def _expand(op: Any, x: Any) -> Any:
    return numpy.expand_dims(x, op.axis) if op.axis else x


def _squeeze(op: Any, x: Any) -> Any:
    return numpy.squeeze(x, axis=None if op.axis is None else tuple(op.axis))


def _strided_slice(op: Any, x: Any) -> Any:
    index = [slice(None)] * x.ndim
    strides = op.strides or (1,) * len(op.axes)
    for axis, begin, end, stride in zip(op.axes, op.begin, op.end, strides, strict=True):
        index[axis] = slice(begin, end, stride)
    return x[tuple(index)]


def _split(op: Any, x: Any) -> list[Any]:
    sections = op.indices_or_sections
    if isinstance(sections, int):
        length = -(-x.shape[op.axis] // sections)
        sections = [length * index for index in range(1, sections)]
    return list(numpy.split(x, list(sections), axis=op.axis))


def _match_cast(op: Any, value: Any) -> Any:
    return value


def _element_dtype(op: Any) -> Any:
    return DTYPES[decode(op.operation.results[0].type).dtype]


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{f"relax.{name}": _plain(getattr(numpy, name)) for name in "add subtract multiply power maximum minimum equal "
       "not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not bitwise_and "
       "bitwise_or bitwise_xor left_shift right_shift negative square isnan sqrt exp where sign".split()},
    "relax.divide": _divide,
    "relax.floor_divide": _keep_dtype(numpy.floor_divide),
    "relax.bitwise_not": _plain(numpy.invert),
    "relax.abs": _plain(numpy.absolute),
    "relax.ceil": _rounding(numpy.ceil),
    "relax.floor": _rounding(numpy.floor),
    "relax.trunc": _rounding(numpy.trunc),
    "relax.round": _rounding(numpy.rint),
    "relax.nn.relu": lambda op, x: numpy.maximum(x, x.dtype.type(0)),
    "relax.astype": lambda op, x: x.astype(_element_dtype(op)),
    "relax.reshape": lambda op, x, shape: x.reshape(shape),
    "relax.flatten": lambda op, x: x.reshape(-1),
    "relax.expand_dims": _expand,
    "relax.squeeze": _squeeze,
    "relax.permute_dims": _permute,
    "relax.broadcast_to": lambda op, x, shape: numpy.broadcast_to(x, shape),
    "relax.flip": lambda op, x: numpy.flip(x, op.axis),
    "relax.repeat": lambda op, x: numpy.repeat(x, op.repeats, op.axis),
    "relax.tile": lambda op, x: numpy.tile(x, op.repeats),
    "relax.concat": lambda op, *xs: numpy.concatenate(xs, op.axis),
    "relax.stack": lambda op, *xs: numpy.stack(xs, op.axis),
    "relax.split": _split,
    "relax.strided_slice": _strided_slice,
    "relax.full": lambda op, shape, value: numpy.full(shape, value, dtype=_element_dtype(op)),
    "relax.zeros": lambda op, shape: numpy.zeros(shape, dtype=_element_dtype(op)),
    "relax.ones": lambda op, shape: numpy.ones(shape, dtype=_element_dtype(op)),
    "relax.shape_of": lambda op, x: x.shape,
    "relax.size": lambda op, x: numpy.array(x.size, dtype=numpy.int64),
    "relax.shape_to_tensor": lambda op, shape: numpy.array(shape, dtype=numpy.int64),
    "relax.tensor_to_shape": lambda op, x: tuple(int(size) for size in x),
    "relax.match_cast": _match_cast,
}  # fmt: skip


def outermost(operation: Any) -> Any:
    while operation.parent is not None:
        operation = operation.parent.operation
    return operation


def function_of(module: Any, name: str = "main") -> Any:
    return ir.SymbolTable(module.operation)[name]
