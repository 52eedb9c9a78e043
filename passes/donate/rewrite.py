# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes buffers with room of arguments that grow: new rows are written into them, what is read is a slice of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir, string_array, string_value
from ...bindings.navigation import body_of, functions_in, last_of, symbol_name
from ...dialects.core.codec import decode, encode
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import SymExpr, dim_add, sym
from ...dialects.relax import dialect as relax
from ...dialects.relax.function_attributes import GROWN, RESULT_NAMES, VISIBILITY, Grown, argument_names, encode_grown
from ...dialects.tir.prim_func import make_prim_func
from ...emit import linalg, loops
from ...emit.kernels import FreshSymbols, fresh_name, parameter_type
from ...emit.numbers import as_index
from ..legalize.builder import OPERATOR
from ..params.signature import add_arguments
from .rows import Donation


def write_in_place(module: Operation, function: Operation, donations: Sequence[Donation]) -> None:
    """All of them; the function's types are stated anew by whoever asked."""
    grower = _Grower(module, function)
    for donation in donations:
        grower.grow(donation)
    grower.finish(donations)


class _Grower:
    def __init__(self, module: Operation, function: Operation):
        self._module, self._function = module, function
        self._symbols = FreshSymbols(module)
        #: For each pair of a length and a number of new rows, the room behind both.
        self._rooms: dict[str, SymExpr] = {}
        self._kernels: dict[tuple[Any, ...], str] = {}
        self._taken = {symbol_name(each) for each in (function, *functions_in(module))}

    def grow(self, donation: Donation) -> None:
        concat, argument = donation.concat, donation.argument
        new = concat.operands[1]
        total = dim_add(donation.length, donation.added)
        assert isinstance(total, SymExpr)
        if str(total) not in self._rooms:
            self._rooms[str(total)] = sym(self._symbols.next())
        shape = list(donation.info.shape or ())
        shape[donation.axis] = dim_add(total, self._rooms[str(total)])
        type_ = encode(donation.info.with_shape(shape), self._module.context)
        argument.set_type(type_)
        others = [use for use in list(argument.uses) if use.owner.operation != concat]
        if others:
            with self._function.location, ir.InsertionPoint.at_block_begin(body_of(self._function)):
                before = _rows(argument, donation, donation.length)
            for use in others:
                use.owner.operation.operands[use.operand_number] = before
        with concat.location, ir.InsertionPoint(concat):
            kernel = self._kernel(donation, [argument, new])
            length = relax.ops["prim_value"](donation.length)
            written = relax.ops["call_tir_inplace"](kernel, [argument, new, length], [0], type_)
            present = _rows(written, donation, total)
        concat.results[0].replace_all_uses_with(present)

    def finish(self, donations: Sequence[Donation]) -> None:
        """Arguments for the lengths, no results for what is in the buffers, and what says so."""
        lengths = list(dict.fromkeys(str(each.length) for each in donations))
        names = argument_names(self._function)
        with self._function.context:
            own = [fresh_name(length, names) for length in lengths]
            types = [encode(TensorInfo((sym(length), 0), "i8"), self._function.context) for length in lengths]
        places = {length: len(names) + place for place, length in enumerate(lengths)}
        add_arguments(self._function, own, types)
        results = _result_names(self._function)
        told = [
            Grown(
                each.place,
                places[str(each.length)],
                each.axis,
                str(each.added),
                -1 if each.result is None else each.result,
                results[each.result] if results and each.result is not None else "",
            )
            for each in donations
        ]
        with self._function.context:
            self._function.attributes[GROWN] = encode_grown(told)
        _drop_results(self._function, [each.result for each in donations if each.result is not None])
        for donation in donations:
            donation.concat.erase()

    def _kernel(self, donation: Donation, values: Sequence[Value]) -> str:
        """The PrimFunc that writes new rows into such a buffer."""
        context = self._function.context
        types = [parameter_type(decode(value.type), context, on_memrefs=True) for value in values]
        key = (donation.axis, *map(str, types))
        if key not in self._kernels:
            name = fresh_name("append", self._taken)
            self._taken.add(name)
            held = {OPERATOR: "relax.concat", VISIBILITY: "private"}
            attributes = {name: ir.StringAttr.get(text) for name, text in held.items()}

            def body(buffer: Value, new: Value, length: Value) -> None:
                _append(buffer, new, length, donation)

            inputs = [*types, ir.IntegerType.get_signless(64)]
            with ir.InsertionPoint(body_of(self._module)):
                make_prim_func(name, inputs, [], body, attributes=attributes)
            self._kernels[key] = name
        return self._kernels[key]


def _append(buffer: Value, new: Value, length: Value, donation: Donation) -> None:
    """Writes the new rows behind so many others, where there is room."""
    axis, sizes = donation.axis, linalg.sizes(new)
    first, room = as_index(length), as_index(linalg.sizes(buffer)[axis])
    message = "a buffer of {} rows has no room for {} behind {}"
    end = first + as_index(sizes[axis])
    loops.require((first >= 0) & (end <= room), "ValueError", message, room, as_index(sizes[axis]), first)

    def move(*at: Any) -> None:
        place = [index + first if each == axis else index for each, index in enumerate(at)]
        loops.store(loops.load(new, *at), buffer, *place)

    loops.nest(sizes, move)


def _rows(value: Value, donation: Donation, count: SymExpr) -> Value:
    """The first rows of a buffer."""
    return relax.ops["strided_slice"](value, axes=[donation.axis], begin=[0], end=[count])


def _result_names(function: Operation) -> list[str]:
    attributes = function.attributes
    return list(map(string_value, attributes[RESULT_NAMES])) if RESULT_NAMES in attributes else []


def _drop_results(function: Operation, places: Sequence[int]) -> None:
    returned = last_of(body_of(function))
    kept = [value for place, value in enumerate(returned.operands) if place not in places]
    with returned.location, ir.InsertionPoint(returned):
        ir.Operation.create(returned.name, operands=kept)
    returned.erase()
    names = _result_names(function)
    if names:
        left = [name for place, name in enumerate(names) if place not in places]
        with function.context:
            function.attributes[RESULT_NAMES] = string_array(left)
