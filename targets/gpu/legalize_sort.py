# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorting along an axis by blocks of threads. Equal elements keep their order in both directions; NaN comes last."""

from __future__ import annotations

from ...bindings.ir import Value
from ...emit import linalg
from ...emit.loops import load, require, store
from ...emit.numbers import Number, as_index
from ...emit.sorting import Record, around_axis
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ..default.legalize_sort import axis_of, choice_of, write_chosen
from .emit.sorting import first_of_rows, sort_rows


class _Rows:
    """Rows of a tensor along an axis, and records of their elements."""

    def __init__(self, call: LegalizeCall, data: Value, *, descending: bool):
        self._axis = axis_of(call)
        shape = linalg.sizes(data)
        self.data = around_axis(data, self._axis)
        self.count, self._after = shape[self._axis], linalg.product(shape[self._axis + 1 :])
        self.number = linalg.product([*shape[: self._axis], self._after])
        self.choice = choice_of(call.dtype(call.operands[0]), self.count, descending)
        self.elements = self.choice.types(data.type.element_type)

    def check(self) -> None:
        if not isinstance(self.count, int):
            self.choice.check(self._axis, self.count)

    def place(self, row: Number, i: Number) -> list[Number]:
        return [row // self._after, i, row % self._after]

    def read(self, row: Number, i: Number) -> Number:
        return load(self.data, *self.place(row, i))

    def record(self, row: Number, i: Number) -> Record:
        return self.choice.record(self.read(row, i), i)


@register_legalize(["relax.sort", "relax.argsort"], target="gpu")
def sort(call: LegalizeCall) -> Legalized:
    is_of_places, dtype = call.op.definition.name == "argsort", call.result_dtype()

    def body(data: Value, out: Value) -> None:
        rows = _Rows(call, data, descending=call.op.descending)
        result = around_axis(out, axis_of(call))
        rows.check()

        def write(row: Number, i: Number, record: Record) -> None:
            place = rows.choice.place(record)
            store(place.to(dtype) if is_of_places else rows.read(row, place), result, *rows.place(row, i))

        sort_rows(rows.number, rows.count, rows.elements, rows.choice.order, rows.record, write)

    return call.loops(body)


@register_legalize("relax.topk", target="gpu")
def topk(call: LegalizeCall) -> Legalized:
    """Select the k largest elements. Ties go to the lowest index, as in ONNX."""
    axis = axis_of(call)
    dtype = "" if call.op.ret_type == "values" else call.result_dtype(-1)
    dim = call.result_shape()[axis]

    def body(data: Value, *outs: Value) -> None:
        rows = _Rows(call, data, descending=call.op.largest)
        results, many = [around_axis(out, axis) for out in outs], linalg.sizes(outs[0])[axis]
        if isinstance(dim, int) and not isinstance(rows.count, int):
            message = f"{{}} elements are asked for along axis {axis} of size {{}}"
            require(as_index(dim) <= rows.count, "ValueError", message, as_index(dim), rows.count)
        rows.check()

        def write(row: Number, i: Number, record: Record) -> None:
            place = rows.choice.place(record)
            index = place.to(dtype) if dtype else None
            write_chosen(call.op.ret_type, rows.read(row, place), index, results, rows.place(row, i))

        first_of_rows(rows.number, rows.count, many, rows.elements, rows.choice.order, rows.record, write)

    return call.loops(body)
