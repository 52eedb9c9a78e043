# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program of one rank: types of parts, and collectives where an operator needs other parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm
from types import MappingProxyType
from typing import Any

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, operations_in, operations_of
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.codec import decode, encode
from relax_mlir.dialects.core.dialect import row_of
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.ir_attributes import SYMBOL_LIMITS, SYMBOL_RANGES
from relax_mlir.dialects.core.size_bounds import symbol_limits, symbol_ranges
from relax_mlir.dialects.core.substitute import substitute
from relax_mlir.dialects.core.symbols import Dim, SymExpr, ceildiv, sym
from relax_mlir.dialects.core.work import work_of
from relax_mlir.dialects.relax.function_attributes import argument_names
from relax_mlir.passes.core.journal import Journal
from relax_mlir.passes.graph.params.signature import state_type
from relax_mlir.support.errors import OptionError

from .collectives import VIEW, ccl
from .explanation import CollectiveUse, Explanation, MoveReason, place_of_operation
from .factors import shape_of
from .mesh import Mesh, Sharding, parse, show, whole
from .planner import (
    FactoredOperation,
    Planner,
    ShardingPlan,
    chosen_axes,
    keep_kernels,
    keep_whole,
    propagate,
    required_sharding,
    steps_of,
)

#: Attribute of arguments and results, and of operations for their results: the axes of each dimension.
SHARDING = "ccl.sharding"
#: Attribute of a function: the mesh.
MESH = "ccl.mesh"


def localize(function: Operation, explanation: Explanation, *, keeps_sums: bool, planner: Planner = propagate) -> None:
    """Turn a function into the program of one rank, in place, and explain the program."""
    _Localizer(function, explanation.mesh, keeps_sums, planner, explanation).run()


def explain_operations(
    function: Operation, explanation: Explanation, reasons: Mapping[Value, MoveReason] = MappingProxyType({})
) -> None:
    """Add the collectives and the arithmetic of a rank's program to its explanation."""
    for operation in operations_in(function):
        dialect, _, kind = operation.name.partition(".")
        if dialect == "ccl" and kind not in ("part", "view"):
            reason = reasons.get(operation.results[0]) or MoveReason.from_user(operation, "the program has it")
            explanation.moves.append(CollectiveUse(operation, reason, explanation.network))
        flops = work_of(operation.opview).flops
        explanation.flops += flops if isinstance(flops, int) else 0


@dataclass
class _Localizer:
    function: Operation
    mesh: Mesh
    keeps_sums: bool
    planner: Planner
    explanation: Explanation
    #: Reasons for the results of collectives.
    reasons: dict[Value, MoveReason] = field(default_factory=dict)
    #: Sharding of each value of the new program, and the parts that exist of it.
    have: dict[Value, Sharding] = field(default_factory=dict)
    parts: dict[tuple[Value, Sharding], Value] = field(default_factory=dict)
    #: Whole shapes of the values.
    shapes: dict[Value, tuple[Dim, ...]] = field(default_factory=dict)

    def run(self) -> None:
        body = body_of(self.function)
        arguments = self._read_shardings("arg_attrs", [argument.type for argument in body.arguments])
        symbols = self._divide_symbols(arguments)
        operations = operations_of(body)
        steps = steps_of(operations[:-1])
        plan = ShardingPlan(self.mesh, self.keeps_sums, symbols=symbols)
        returned = operations[-1]
        results = self._read_shardings("res_attrs", [value.type for value in returned.operands])
        annotated = [*zip(body.arguments, arguments, strict=True), *self._annotated_values(operations)]
        for value, sharding in [*annotated, *self._viewed_values(operations)]:
            if sharding is not None and value not in plan.fixed:
                plan.shardings[value] = sharding
                plan.fixed.add(value)
        for value, sharding in zip(returned.operands, results, strict=True):
            if sharding is not None and value not in plan.shardings:
                plan.shardings[value] = sharding
        self._propagate(plan, steps, list(body.arguments))
        for value in body.arguments:
            self._retype(value, plan.sharding_of(value))
        for step in steps:
            self._localize(step, plan)
        target = [
            self.have.get(value, whole(len(shape_of(value)))) if sharding is None else sharding
            for value, sharding in zip(returned.operands, results, strict=True)
        ]
        self._move_operands(returned, target)
        for view in list(filter(_is_view, operations_in(self.function))):
            value = view.operands[0] if view in operations else self._value_of_view(view)
            view.results[0].replace_all_uses_with(value)
            view.erase()
        annotate_values(self.function, "arg_attrs", [plan.sharding_of(value) for value in body.arguments])
        annotate_values(self.function, "res_attrs", target)
        self.function.attributes[MESH] = ir.StringAttr.get(str(self.mesh), self.function.context)
        state_type(self.function)
        self._explain()

    def _explain(self) -> None:
        explain_operations(self.function, self.explanation, self.reasons)
        if Journal.active() is None:
            return
        body = body_of(self.function)
        values = [(name, "", value) for name, value in zip(argument_names(self.function), body.arguments, strict=True)]
        for operation in operations_of(body):
            values += [(operation.name, place_of_operation(operation), value) for value in operation.results]
        for name, place, value in values:
            if value in self.have and self._shape(value):
                self.explanation.add_value(name, place, value, self._shape(value), self.have[value])

    def _propagate(self, plan: ShardingPlan, steps: Sequence[FactoredOperation], arguments: Sequence[Value]) -> None:
        """Extend the plan, from the start whenever an argument without a spec, or a sum, must stay whole."""
        annotated = dict(plan.shardings)
        self.planner(steps, plan)
        while keep_whole(arguments, steps, plan) or keep_kernels(steps, plan):
            plan.shardings = dict(annotated)
            self.planner(steps, plan)

    # ---- attributes ----

    def _read_shardings(self, name: str, types: Sequence[Any]) -> list[Sharding | None]:
        """Return the shardings in the attributes of arguments or results, checked."""
        annotated = list(self.function.attributes[name]) if name in self.function.attributes else [{}] * len(types)
        shardings = []
        for index, (attributes, type_) in enumerate(zip(annotated, types, strict=True)):
            text = attributes[SHARDING].value if SHARDING in attributes else None
            shardings.append(None if text is None else self._parse_checked(text, type_, f"{name[:3]} {index}"))
        return shardings

    def _annotated_values(self, operations: Sequence[Operation]) -> list[tuple[Value, Sharding]]:
        shardings = []
        for operation in operations:
            if SHARDING in operation.attributes:
                text, value = operation.attributes[SHARDING].value, operation.results[0]
                shardings.append((value, self._parse_checked(text, value.type, operation.name)))
        return shardings

    def _viewed_values(self, operations: Sequence[Operation]) -> list[tuple[Value, Sharding]]:
        shardings = []
        for operation in filter(_is_view, operations):
            view = operation.opview
            if view.mesh != str(self.mesh):
                raise OptionError(f"{VIEW} is for the mesh {view.mesh}, and the program for {self.mesh}")
            for value, text in ((operation.results[0], view.target), (operation.operands[0], view.source)):
                shardings.append((value, self._parse_checked(text, value.type, VIEW)))
        return shardings

    def _value_of_view(self, view: Operation) -> Value:
        """Return the result of a view in a loop, which has whole values: a part of the operand, or all parts of it."""
        value, result = view.operands[0], view.results[0]
        self.shapes[value] = shape_of(value)
        source, target = (
            self._parse_checked(text, value.type, VIEW) for text in (view.opview.source, view.opview.target)
        )
        if source == target:
            return value
        if any(target):
            self.shapes[value], self.have[value] = shape_of(result), target
            source = whole(len(target))
        else:
            self.have[value] = target
        with ir.InsertionPoint(view), view.location:
            return self._reshard(value, source, view)

    def _parse_checked(self, text: str, type_: Any, what: str) -> Sharding:
        sharding, info = parse(text), decode(type_)
        rank = len(info.shape or ()) if isinstance(info, TensorInfo) else 0
        if len(sharding) != rank:
            raise OptionError(f"{what}: the sharding {text} has {len(sharding)} dimensions, and the tensor has {rank}")
        self.mesh.check(sharding, f"{what}: sharding {text}")
        # An axis with one rank divides nothing.
        return tuple(tuple(axis for axis in axes if self.mesh.count([axis]) > 1) for axes in sharding)

    def _divide_symbols(self, arguments: Sequence[Sharding | None]) -> frozenset[str]:
        """Write each symbol that the arguments divide as a multiple of its number of parts."""
        counts: dict[str, int] = {}
        for value, sharding in zip(body_of(self.function).arguments, arguments, strict=True):
            for size, axes in zip(shape_of(value), sharding or (), strict=False):
                if isinstance(size, SymExpr) and axes:
                    if str(size) not in size.variables:
                        raise OptionError(
                            f"a sharding divides the size {size}: only numbers and symbols can be divided"
                        )
                    counts[str(size)] = lcm(counts.get(str(size), 1), self.mesh.count(axes))
        substitute(self.function, {name: sym(name) * count for name, count in counts.items()})
        self._divide_ranges(counts)
        return frozenset(counts)

    def _divide_ranges(self, counts: Mapping[str, int]) -> None:
        """Write the ranges and limits of symbols for the sizes of parts."""
        ranges = {SYMBOL_RANGES: symbol_ranges(self.function), SYMBOL_LIMITS: symbol_limits(self.function)}
        for attribute, entries in ranges.items():
            parts = {}
            for name, (least, most) in entries.items():
                count = counts.get(name, 1)
                parts[name] = ir.DenseI64ArrayAttr.get([-(-least // count), most // count], self.function.context)
            if parts:
                self.function.attributes[attribute] = ir.DictAttr.get(parts, self.function.context)

    # ---- operations ----

    def _localize(self, step: FactoredOperation, plan: ShardingPlan) -> None:
        operation = step.operation
        if _is_view(operation):
            self._move_operands(operation, [self._parse_checked(operation.opview.source, step.values[0].type, VIEW)])
            self._retype(step.values[1], plan.sharding_of(step.values[1]))
            return
        if step.factors is None:
            self._gather_for(step)
            return
        count = len(operation.operands)
        chosen = chosen_axes(step, plan, self.have)
        self._move_operands(operation, [required_sharding(step, chosen, index) for index in range(count)])
        shardings = [required_sharding(step, chosen, index) for index in range(count, len(step.values))]
        self._shape_results(operation, shardings)
        for value, sharding in zip(operation.results, shardings, strict=True):
            self._retype(value, sharding)
        for factor, axes in zip(step.factors, chosen, strict=True):
            if factor.kind and axes:
                self._combine(operation, factor.kind, axes)

    def _gather_for(self, step: FactoredOperation) -> None:
        """Give an operation without a rule whole operands, and whole values in its regions."""
        operation = step.operation
        self._move_operands(operation, [whole(len(self._shape(value))) for value in operation.operands])
        for inside in operations_in(operation):
            if inside != operation:
                for index, value in enumerate(inside.operands):
                    if value in self.have and any(self.have[value]):
                        moved = self._reshard_for(value, whole(len(self._shape(value))), operation)
                        inside.operands[index] = moved
        for value in operation.results:
            self._retype(value, whole(len(shape_of(value))))

    def _shape_results(self, operation: Operation, shardings: Sequence[Sharding]) -> None:
        """Replace the operand with the result's shape by the shape of a part."""
        row = row_of(operation.opview)
        if row is None or not row.shaped_by or not any(shardings[0]):
            return
        sizes = self.mesh.local_shape(shape_of(operation.results[0]), shardings[0])
        index = [operand.name for operand in row.operands].index(row.shaped_by)
        with ir.InsertionPoint(operation), operation.location:
            operation.operands[index] = relax.shape_expr(dims=sizes)

    def _retype(self, value: Value, sharding: Sharding) -> None:
        self.shapes[value] = shape_of(value)
        self.have[value] = sharding
        if any(sharding):
            info = decode(value.type)
            assert isinstance(info, TensorInfo)
            value.set_type(
                encode(info.with_shape(self.mesh.local_shape(info.shape or (), sharding)), value.type.context)
            )

    def _shape(self, value: Value) -> tuple[Dim, ...]:
        """Return the shape of the whole tensor."""
        return self.shapes.get(value, shape_of(value))

    def _combine(self, operation: Operation, kind: str, axes: Sequence[str]) -> None:
        """Combine the partial results of a group behind an operation."""
        for value in list(operation.results):
            users = [(use.owner, use.operand_number) for use in value.uses]
            with ir.InsertionPoint.after(operation), operation.location:
                combined = ccl.all_reduce(value, kind=kind, **self._groups(axes))
            for owner, number in users:
                owner.operands[number] = combined
            self.shapes[combined], self.have[combined] = self.shapes[value], self.have[value]
            self.reasons[combined] = MoveReason.from_user(operation, f"parts of its {kind} are combined")

    # ---- moves ----

    def _move_operands(self, operation: Operation, target: Sequence[Sharding]) -> None:
        for index, (value, sharding) in enumerate(zip(list(operation.operands), target, strict=True)):
            moved = self._reshard_for(value, sharding, operation)
            if moved != value:
                operation.operands[index] = moved

    def _reshard_for(self, value: Value, target: Sharding, user: Operation) -> Value:
        """Return the value with another sharding, for an operation."""
        if self.have.get(value, target) == target:
            return value
        if (value, target) not in self.parts:
            with ir.InsertionPoint(user), user.location:
                self.parts[value, target] = self._reshard(value, target, user)
        return self.parts[value, target]

    def _reshard(self, value: Value, target: Sharding, user: Operation) -> Value:
        now, shape = list(self.have[value]), self._shape(value)
        kept = [_common(have, want) for have, want in zip(now, target, strict=True)]
        for source, axes in enumerate(now):
            gone = axes[len(kept[source]) :]
            other = next(
                (at for at, want in enumerate(target) if gone and want == (*now[at], *gone) and at != source), None
            )
            if other is not None and self._is_full(shape, [source, other], now, target):
                value = ccl.all_to_all(value, split_axis=other, concat_axis=source, **self._groups(gone))
                now[source], now[other] = kept[source], target[other]
                kept[other] = target[other]
                self._tell(value, gone, user)
        for axis, have in enumerate(now):
            for gone in reversed(self._moves(have, len(kept[axis]), shape[axis])):
                now[axis] = now[axis][: -len(gone)]
                value = self._all_gather(value, axis, gone, now[axis], shape[axis])
                self._tell(value, gone, user)
        for axis, want in enumerate(target):
            for new in self._moves(want, len(now[axis]), shape[axis]):
                value = ccl.part(value, axis=axis, **self._groups(new))
        self.shapes[value], self.have[value] = shape, target
        return value

    def _moves(self, axes: tuple[str, ...], begin: int, size: Dim) -> list[tuple[str, ...]]:
        """Return the axes behind the first ones: all together, or one by one if parts are short."""
        if _is_divisible(size, self.mesh.count(axes)):
            return [axes[begin:]] if axes[begin:] else []
        return [(axis,) for axis in axes[begin:]]

    def _is_full(self, shape: Sequence[Dim], axes: Sequence[int], now: Sequence[Any], target: Sharding) -> bool:
        """Return True if all parts of these dimensions have one size, before and after."""
        return all(
            _is_divisible(shape[axis], self.mesh.count(divided[axis])) for axis in axes for divided in (now, target)
        )

    def _all_gather(self, value: Value, axis: int, gone: Sequence[str], kept: Sequence[str], size: Dim) -> Value:
        count = self.mesh.count((*kept, *gone))
        limit = ceildiv(size, self.mesh.count(kept)) if isinstance(size, int) and size % count else -1
        return ccl.all_gather(value, axis=axis, size=limit, **self._groups(gone))

    def _groups(self, axes: Sequence[str]) -> dict[str, Any]:
        groups = self.mesh.groups(axes)
        return {"groups": [rank for group in groups for rank in group], "group_size": len(groups[0])}

    def _tell(self, value: Value, axes: Sequence[str], user: Operation) -> None:
        self.reasons[value] = MoveReason.from_user(user, f"it needs the dimension that {'+'.join(axes)} divides")


def annotate_values(function: Operation, name: str, shardings: Sequence[Sharding | None]) -> None:
    """Write shardings to the attributes of a function's arguments or results: `arg_attrs` or `res_attrs`."""
    old = list(function.attributes[name]) if name in function.attributes else [{}] * len(shardings)
    new = []
    for attributes, sharding in zip(old, shardings, strict=True):
        entries = {entry.name: entry.attr for entry in attributes}
        if sharding is not None:
            entries[SHARDING] = ir.StringAttr.get(show(sharding), function.context)
        new.append(ir.DictAttr.get(entries, function.context))
    function.attributes[name] = ir.ArrayAttr.get(new, function.context)


def _is_view(operation: Operation) -> bool:
    return bool(operation.name == VIEW)


def _common(have: tuple[str, ...], want: tuple[str, ...]) -> tuple[str, ...]:
    """Return the leading axes that stay."""
    count = 0
    while count < min(len(have), len(want)) and have[count] == want[count]:
        count += 1
    return have[:count]


def _is_divisible(size: Dim, count: int) -> bool:
    return not isinstance(size, int) or size % count == 0
