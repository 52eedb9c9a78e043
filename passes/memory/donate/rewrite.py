# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrite of growing arguments to buffers with room: new rows are written into them, reads become slices."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, functions_in, symbol_name
from ....dialects import relax
from ....dialects.core.codec import decode, encode
from ....dialects.core.infos import TensorInfo
from ....dialects.core.ir_attributes import GROWN, OPERATOR
from ....dialects.core.substitute import symbols_in
from ....dialects.core.symbols import Dim, SymExpr, dim_add, equal, sym
from ....dialects.relax.function_attributes import VISIBILITY, Grown, argument_names, encode_grown
from ....dialects.relax.values import shape_of
from ....dialects.tir.prim_func import make_prim_func
from ....emit import linalg, loops
from ....emit.kernels import parameter_type
from ....emit.numbers import as_index
from ....support.names import fresh_name
from ...graph.params.signature import add_arguments
from .dropped_results import drop_results, result_names
from .growing_rows import Donation


def write_in_place(module: Operation, function: Operation, donations: Sequence[Donation]) -> None:
    """Rewrite the donations, which have one length and equally many new rows.

    The caller updates the function's type.
    """
    if not donations:
        return
    room = sym(fresh_name("room", symbols_in(function)))
    grower = _Grower(module, function, dim_add(donations[0].total, room))
    for donation in donations:
        grower.grow(donation)
    _state(function, donations)


class _Grower:
    def __init__(self, module: Operation, function: Operation, capacity: Dim):
        self._module, self._function, self._capacity = module, function, capacity
        self._kernels: dict[tuple[object, ...], str] = {}
        self._taken = {symbol_name(operation) for operation in (function, *functions_in(module))}

    def grow(self, donation: Donation) -> None:
        concat, argument = donation.concat, donation.argument
        new = concat.operands[1]
        shape = list(donation.info.shape or ())
        shape[donation.axis] = self._capacity
        type_ = encode(donation.info.with_shape(shape), self._module.context)
        argument.set_type(type_)
        self._read_rows(argument, donation)
        with concat.location, ir.InsertionPoint(concat):
            kernel = self._kernel(donation, [argument, new])
            length = relax.prim_value(donation.length)
            written = relax.call_tir_inplace(kernel, [argument, new, length], inplace_indices=[0], out_ty=type_)
            present = _rows(written, donation, donation.total)
        concat.results[0].replace_all_uses_with(present)

    def _read_rows(self, argument: Value, donation: Donation) -> None:
        """Let other users of the argument read a slice of its old rows, which are never overwritten."""
        if not (others := [use for use in list(argument.uses) if use.owner.operation != donation.concat]):
            return
        with self._function.location, ir.InsertionPoint.at_block_begin(body_of(self._function)):
            before = _rows(argument, donation, donation.length)
        for use in others:
            use.owner.operation.operands[use.operand_number] = before

    def _kernel(self, donation: Donation, values: Sequence[Value]) -> str:
        """Return the PrimFunc that appends new rows to such a buffer."""
        context = self._function.context
        types = [parameter_type(decode(value.type), context, on_memrefs=True) for value in values]
        buffer, new = (shape_of(value) or () for value in values)
        pairs = enumerate(zip(buffer, new, strict=True))
        unproven = [axis for axis, pair in pairs if axis != donation.axis and equal(*pair) is not True]
        key = (donation.axis, *unproven, *map(str, types))
        if key not in self._kernels:
            self._kernels[key] = self._add_kernel(types, donation.axis, unproven)
        return self._kernels[key]

    def _add_kernel(self, types: Sequence[Type], axis: int, unproven: Collection[int]) -> str:
        name = fresh_name("append", self._taken)
        self._taken.add(name)
        held = {OPERATOR: "relax.concat", VISIBILITY: "private"}
        attributes = {key: ir.StringAttr.get(text) for key, text in held.items()}

        def body(buffer: Value, new: Value, length: Value) -> None:
            for other in unproven:
                loops.require_same(linalg.sizes(buffer)[other], linalg.sizes(new)[other], f"axis {other} of new rows")
            _append(buffer, new, length, axis)

        inputs = [*types, ir.IntegerType.get_signless(64)]
        with ir.InsertionPoint(body_of(self._module)):
            make_prim_func(name, inputs, [], body, attributes=attributes)
        return name


def _append(buffer: Value, new: Value, length: Value, axis: int) -> None:
    """Write the new rows after `length` others. Check that there is room."""
    sizes = linalg.sizes(new)
    first, count, room = (as_index(value) for value in (length, sizes[axis], linalg.sizes(buffer)[axis]))
    message = "a buffer of {} rows has no room for {} behind {}"
    loops.require((first >= 0) & (first + count <= room), "ValueError", message, room, count, first)

    def move(*at: Any) -> None:
        place = [index + first if position == axis else index for position, index in enumerate(at)]
        loops.store(loops.load(new, *at), buffer, *place)

    loops.nest(sizes, move)


def _rows(value: Value, donation: Donation, count: SymExpr) -> Value:
    """Return the first rows of a buffer."""
    return relax.strided_slice(value, axes=[donation.axis], begin=[0], end=[count])


def _state(function: Operation, donations: Sequence[Donation]) -> None:
    """Add an argument for the length, remove results that are buffers, and set the attribute for callers."""
    names, results = argument_names(function), result_names(function)
    length = donations[0].length
    telling = fresh_name(str(length), names)
    with function.context:
        add_arguments(function, [telling], [encode(TensorInfo((length, 0), "i8"), function.context)])
        grown = [
            Grown(
                input=each.name,
                length=telling,
                axis=each.axis,
                added=str(each.added),
                result=-1 if each.result is None else each.result,
                name=results[each.result] if results and each.result is not None else "",
            )
            for each in donations
        ]
        function.attributes[GROWN] = encode_grown(grown)
        drop_results(function, {each.result for each in donations if each.result is not None})
    for donation in donations:
        donation.concat.erase()
