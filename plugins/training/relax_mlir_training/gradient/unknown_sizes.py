# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dynamic sizes in derivative rules: the operator is rebuilt on sizes with names."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import outermost
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.builder import infer_types
from relax_mlir.dialects.core.codec import decode, encode
from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.dialects.core.infos import Info, ShapeInfo, TensorInfo
from relax_mlir.dialects.core.substitute import symbols_in
from relax_mlir.dialects.core.symbols import Dim, sym
from relax_mlir.dialects.relax.values import stated
from relax_mlir.support.names import fresh_name

from .scf_derivatives import Inside


def with_named_sizes(
    operation: Operation, sizes: Sequence[int], arriving: Sequence[Value | None], inside: Inside
) -> list[tuple[Value, Value]]:
    """Return the gradients of the operands, or [] if all sizes have names already."""
    names = _Names(operation)
    operands = [names.named(operand) for operand in operation.operands]
    if operands == list(operation.operands):
        return []
    attributes = dict(operation.attributes)
    types = infer_types(find_op(operation.name), operands, sizes, attributes, operation.context)
    made = ir.Operation.create(operation.name, results=types, operands=operands, attributes=attributes)
    pairs = zip(made.results, arriving, strict=True)
    seeds = [(result, stated(gradient, result.type)) for result, gradient in pairs if gradient is not None]
    xs = [fromkey for fromkey in dict.fromkeys(operation.operands) if isinstance(decode(fromkey.type), TensorInfo)]
    return list(zip(xs, inside(seeds, xs, ()), strict=True))


class _Names:
    """Generator of new names for sizes."""

    def __init__(self, operation: Operation):
        self._taken = symbols_in(outermost(operation))

    def named(self, value: Value) -> Value:
        info = decode(value.type)
        if isinstance(info, TensorInfo) and info.shape is not None and None in info.shape:
            return self._cast(value, TensorInfo(tuple(map(self._name, info.shape)), info.dtype))
        if isinstance(info, ShapeInfo) and info.dims is not None and None in info.dims:
            return self._cast(value, ShapeInfo(tuple(map(self._name, info.dims))))
        return value

    def _cast(self, value: Value, info: Info) -> Value:
        return relax.match_cast(value, ty=encode(info, value.context))

    def _name(self, size: Dim) -> Dim:
        if size is not None:
            return size
        name = fresh_name("size", self._taken)
        self._taken.add(name)
        return sym(name)
