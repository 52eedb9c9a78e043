# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edits that make a module smaller. Each edit lists targets, which are changed individually or several at once.

An edit may leave invalid IR. The caller verifies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from relax_mlir.bindings.ir import Attribute, Block, Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import (
    enclosing,
    function_type_of,
    operations_in,
    operations_named,
    operations_of,
    outermost,
)

_NUMBERS = (ir.IntegerAttr, ir.FloatAttr, ir.DenseElementsAttr)
_FUNCTION, _RETURN, _CONSTANT = "func.func", "func.return", "arith.constant"


class Edit(NamedTuple):
    """An edit. `targets` lists possible targets in a fixed order, `apply` changes one of them if it can."""

    name: str
    targets: Callable[[Operation], Sequence[Any]]
    apply: Callable[[Any], bool]


# ---- whole operations ----


def _erasable(module: Operation) -> list[Operation]:
    """Return operations from the last to the first, so that users and nested operations come first."""
    last = {hash(final) for final in _last_ones(module)}
    return [op for op in reversed(operations_in(module)) if hash(op) not in last]


def _last_ones(module: Operation) -> Iterator[Operation]:
    """Yield the terminators, which blocks need, except in modules' bodies."""
    for op in operations_in(module):
        for region in op.regions if op.name != "builtin.module" else ():
            for block in region.blocks:
                yield from operations_of(block)[-1:]


def _symbols(module: Operation) -> list[Operation]:
    return [op for op in _erasable(module) if "sym_name" in op.attributes]


def _erase(op: Operation) -> bool:
    """Erase an unused operation."""
    if _is_used(op):
        return False
    op.erase()
    return True


def _erase_for_operand(op: Operation) -> bool:
    return _replace_results(
        op, lambda result: next((operand for operand in op.operands if operand.type == result.type), None)
    )


def _erase_for_argument(op: Operation) -> bool:
    """Replace results by an argument of the enclosing function."""

    def argument(result: Value) -> Value | None:
        function = enclosing(op, _FUNCTION)
        arguments = list(function.regions[0].blocks[0].arguments) if function is not None else []
        return next((each for each in arguments if each.type == result.type), None)

    return _replace_results(op, argument)


def _erase_for_new_argument(op: Operation) -> bool:
    def argument(result: Value) -> Value | None:
        function = enclosing(op, _FUNCTION)
        return None if function is None or _is_called(function) else add_argument(function, result.type)

    return _replace_results(op, argument)


def _erase_for_constant(op: Operation) -> bool:
    if op.name == _CONSTANT:
        return False

    def constant(result: Value) -> Value | None:
        if (value := zero(result.type)) is None:
            return None
        made = ir.Operation.create(
            _CONSTANT, [result.type], [], {"value": value}, loc=op.location, ip=ir.InsertionPoint(op)
        )
        return made.result

    return _replace_results(op, constant)


def _replace_results(op: Operation, replacement: Callable[[Value], Value | None]) -> bool:
    if not _is_used(op):
        return _erase(op)
    for result in op.results:
        if not _has_uses(result):
            continue
        if (value := replacement(result)) is None:
            return False
        result.replace_all_uses_with(value)
    op.erase()
    return True


def _is_used(op: Operation) -> bool:
    return any(_has_uses(result) for result in op.results)


def _has_uses(value: Value) -> bool:
    return next(iter(value.uses), None) is not None


# ---- functions ----


def _functions(module: Operation) -> list[Operation]:
    return operations_named(module, _FUNCTION)


def _list_defined(module: Operation) -> list[Operation]:
    return [op for op in _functions(module) if len(op.regions[0].blocks)]


def _drop_body(function: Operation) -> bool:
    """Replace a function by its declaration."""
    attributes = {name: function.attributes[name] for name in function.attributes.keys()}  # noqa: SIM118
    attributes["sym_visibility"] = ir.StringAttr.get("private")
    ir.Operation.create(_FUNCTION, [], [], attributes, regions=1, loc=function.location, ip=ir.InsertionPoint(function))
    function.erase()
    return True


def _is_called(function: Operation) -> bool:
    """Check whether anything refers to a function. In doubt it does."""
    name = ir.StringAttr(function.attributes["sym_name"]).value
    operations = operations_in(outermost(function))
    return any(f"@{name}" in str(op.attributes[key]) for op in operations for key in op.attributes.keys())  # noqa: SIM118


def add_argument(function: Operation, type_: Type) -> Value:
    """Append a parameter to a function."""
    before = function_type_of(function)
    argument = function.regions[0].blocks[0].add_argument(type_, function.location)
    _set_type(function, [*before.inputs, type_], before.results)
    if "arg_attrs" in function.attributes:
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([*function.attributes["arg_attrs"], ir.DictAttr.get({})])
    return argument


def _set_type(function: Operation, inputs: Sequence[Type], results: Sequence[Type]) -> None:
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(list(inputs), list(results)))


def _without(function: Operation, attribute: str, index: int) -> None:
    if attribute in function.attributes:
        kept = list(function.attributes[attribute])
        function.attributes[attribute] = ir.ArrayAttr.get(kept[:index] + kept[index + 1 :])


class _Slot(NamedTuple):
    """An argument or a result of a function."""

    operation: Operation
    place: int


def _slots(kind: str) -> Callable[[Operation], list[_Slot]]:
    """Return a lister of functions' `inputs` or `results`, the last first, so that the others keep their indices."""

    def slots(module: Operation) -> list[_Slot]:
        counts = [(function, len(getattr(function_type_of(function), kind))) for function in _functions(module)]
        return [_Slot(function, index) for function, count in counts for index in reversed(range(count))]

    return slots


def _drop_argument(slot: _Slot) -> bool:
    function, index = slot
    entry = next(iter(function.regions[0].blocks), None)  # a declaration has none
    if _is_called(function) or (entry is not None and _has_uses(entry.arguments[index])):
        return False
    before = function_type_of(function)
    if entry is not None:
        entry.erase_argument(index)
    _set_type(function, [*before.inputs[:index], *before.inputs[index + 1 :]], before.results)
    _without(function, "arg_attrs", index)
    return True


def _drop_result(slot: _Slot) -> bool:
    function, index = slot
    if _is_called(function):
        return False
    before = function_type_of(function)
    for op in [op for op in operations_named(function, _RETURN) if enclosing(op, _FUNCTION) == function]:
        kept = [value for at, value in enumerate(op.operands) if at != index]
        ir.Operation.create(_RETURN, [], kept, loc=op.location, ip=ir.InsertionPoint(op))
        op.erase()
    _set_type(function, before.inputs, [*before.results[:index], *before.results[index + 1 :]])
    _without(function, "res_attrs", index)
    return True


# ---- regions ----


def _with_regions(module: Operation) -> list[Operation]:
    """Return operations with one block per region, except for functions and modules. Nested ones come first."""
    return [
        op
        for op in reversed(operations_in(module))
        if len(op.regions) and op.name != _FUNCTION and all(len(region.blocks) == 1 for region in op.regions)
    ]


def _inline_first_region(op: Operation) -> bool:
    return _inline(op, op.regions[0].blocks[0])


def _inline_last_region(op: Operation) -> bool:
    return _inline(op, op.regions[len(op.regions) - 1].blocks[0])


def _inline(op: Operation, block: Block) -> bool:
    """Move the operations of a block out, and replace the results by the yielded values."""
    if not (inside := operations_of(block)):
        return False
    if not all(_replace_by_alike(argument, op.operands) for argument in block.arguments):
        return False
    if not all(_replace_by_alike(result, inside[-1].operands) for result in op.results):
        return False
    for operation in inside[:-1]:
        operation.move_before(op)
    op.erase()
    return True


def _replace_by_alike(value: Value, candidates: Iterable[Value]) -> bool:
    """Replace a value by the first candidate of its type, if it is used. Return False if there is none."""
    if not _has_uses(value):
        return True
    if (alike := next((candidate for candidate in candidates if candidate.type == value.type), None)) is not None:
        value.replace_all_uses_with(alike)
    return alike is not None


# ---- attributes and constants ----


class _Named(NamedTuple):
    """An attribute of an operation."""

    operation: Operation
    name: str


def _attributes(module: Operation) -> list[_Named]:
    return [_Named(op, name) for op in (module, *operations_in(module)) for name in sorted(op.attributes.keys())]


def _drop_attribute(named: _Named) -> bool:
    operation, name = named
    if name in ("sym_name", "function_type"):
        return False
    del operation.attributes[name]
    return name not in operation.attributes


def _shrink_attribute(named: _Named) -> bool:
    """Replace numbers by 0, and arrays of elements by a splat of 0."""
    operation, name = named
    before = operation.attributes[name]
    if not (isinstance(before, _NUMBERS) or str(before).startswith("dense_resource")):
        return False
    if (smaller := zero(before.type)) is None or smaller == before:
        return False
    operation.attributes[name] = smaller
    return True


def zero(type_: Type) -> Attribute | None:
    """Return the constant 0 of a type as an attribute, or None if the type has none."""
    if isinstance(type_, (ir.IntegerType, ir.IndexType)):
        return ir.IntegerAttr.get(type_, 0)
    if isinstance(type_, ir.FloatType):
        return ir.FloatAttr.get(type_, 0.0)
    if isinstance(type_, (ir.RankedTensorType, ir.VectorType)) and type_.has_static_shape:
        element = zero(type_.element_type)
        return None if element is None else ir.DenseElementsAttr.get_splat(type_, element)
    return None


#: In the order of trying: the largest reductions come first.
EDITS = (
    Edit("functions and other symbols", _symbols, _erase),
    Edit("bodies of functions", _list_defined, _drop_body),
    Edit("results of functions", _slots("results"), _drop_result),
    Edit("operations", _erasable, _erase),
    Edit("operations, for operands", _erasable, _erase_for_operand),
    Edit("operations, for arguments", _erasable, _erase_for_argument),
    Edit("operations, for new arguments", _erasable, _erase_for_new_argument),
    Edit("operations, for constants", _erasable, _erase_for_constant),
    Edit("first regions", _with_regions, _inline_first_region),
    Edit("last regions", _with_regions, _inline_last_region),
    Edit("arguments of functions", _slots("inputs"), _drop_argument),
    Edit("attributes", _attributes, _drop_attribute),
    Edit("constants", _attributes, _shrink_attribute),
)
