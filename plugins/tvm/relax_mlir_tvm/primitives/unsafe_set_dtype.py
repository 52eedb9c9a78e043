# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive unsafe_set_dtype: changes the element type of a buffer."""

from __future__ import annotations

from dataclasses import replace

from relax_mlir import ir
from relax_mlir.bindings.ir import Type
from relax_mlir.dialects.core.codec import TypeProblem, element_type
from relax_mlir.passes.kernels.loops.body_scalars import Compute, Element, Expr, Load
from relax_mlir.passes.kernels.loops.handles import BlockRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.loops.tree import Block, exchange_buffers
from relax_mlir.passes.kernels.loops.tree_buffers import Buffer
from relax_mlir.passes.kernels.primitives.caching import own_buffer
from relax_mlir.schedules import register_primitive


@register_primitive
def unsafe_set_dtype(edit: Edit, block: BlockRV, buffer_index: int | str, dtype: str) -> None:
    """Change the element type of a buffer that a block writes, with conversions at its writes and reads.

    The step is unsafe because results change: values are rounded, or do not fit.
    """
    old = own_buffer(edit, edit.block(block), buffer_index)
    try:
        element = element_type(dtype, ir.Context.current)
    except TypeProblem as problem:
        edit.refuse(str(problem))
    for type_ in (old.element, element):
        if not _is_plain(type_):
            edit.refuse(
                f"'{old.name}' has {old.element}: only floats and signed integers can be converted, not {type_}"
            )
    new = replace(old, element=element)
    tree = edit.tree.mapped(lambda each: _converting(each, old, new) if old in each.buffers else each)
    edit.tree = tree.redeclared(old, new)


def _is_plain(type_: Type) -> bool:
    is_integer = isinstance(type_, ir.IntegerType) and type_.is_signless and type_.width > 1
    return is_integer or isinstance(type_, (ir.F16Type, ir.BF16Type, ir.F32Type, ir.F64Type))


def _converting(block: Block, old: Buffer, new: Buffer) -> Block:
    """Return the block on the new buffer, with conversions to and from the old element type."""

    def read(part: Expr) -> Expr | None:
        if isinstance(part, Element) and block.accesses[part.number].buffer is old:
            return _convert(part, new.element, old.element)
        if isinstance(part, Load) and part.buffer is old:
            indices = tuple(index.rewritten(read) for index in part.indices)
            return _convert(Load(new, indices), new.element, old.element)
        return None

    def written(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        values = [expr.rewritten(read) for expr in exprs]
        return tuple(
            _convert(value, old.element, new.element) if access.buffer is old else value
            for access, value in zip(block.writes, values, strict=True)
        )

    inits = None if block.inits is None else written(block.inits)
    return exchange_buffers(replace(block, results=written(block.results), inits=inits), old, new)


def _convert(value: Expr, source: Type, target: Type) -> Expr:
    if source == target:
        return value
    if isinstance(source, ir.IntegerType) and isinstance(target, ir.IntegerType):
        name = "arith.extsi" if source.width < target.width else "arith.trunci"
    elif isinstance(source, ir.IntegerType):
        name = "arith.sitofp"
    elif isinstance(target, ir.IntegerType):
        name = "arith.fptosi"
    elif source.width == target.width:  # float16 and bfloat16
        single = ir.F32Type.get()
        return _convert(_convert(value, source, single), single, target)
    else:
        name = "arith.extf" if source.width < target.width else "arith.truncf"
    return Compute(name, (value,), (), target)
