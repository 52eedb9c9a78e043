# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ways through IR: into operations, out of them, from values to users."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ..support.callbacks import enters, fragile
from .ir import Block, Operation, OperationBase, OpView, Type, Value
from .mlir import ir, mlir_walk, rewrite, string_value

_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_ADVANCE = ir.WalkResult.ADVANCE


class Holder(Protocol):
    """An operation, a view of one, a module."""

    @property
    def operation(self) -> Operation: ...


def address_of(operation: Operation) -> int:
    """The address of an operation, 0 where its handle knows that it is gone. Others crash when they are asked anything
    else, and another operation may have got that address.
    """
    try:
        capsule = getattr(operation, "_CAPIPtr")  # noqa: B009  # the bindings' stubs do not tell of it
    except RuntimeError:
        return 0
    return int(_capsule_pointer(capsule, _capsule_name(capsule)))


def parent_of(operation: Operation) -> Operation | None:
    """The operation around an operation; None for the outermost one."""
    # The handle that owns an outermost operation raises when it is asked for its parent.
    parent = operation.parent if operation.attached else None
    return None if parent is None else parent.operation


def ancestors(operation: Operation) -> Iterator[Operation]:
    """The operations around one, from the inside out."""
    while (around := parent_of(operation)) is not None:
        yield around
        operation = around


def outermost(operation: Operation) -> Operation:
    for around in ancestors(operation):
        operation = around
    return operation


def enclosing(operation: Operation, name: str) -> Operation | None:
    """The nearest operation of this name around one."""
    return next((around for around in ancestors(operation) if around.name == name), None)


def body_of(op: OperationBase) -> Block:
    """The first block of an operation: a module's, a function's, a loop's."""
    return op.regions[0].blocks[0]


def blocks_of(op: OperationBase) -> list[Block]:
    """The blocks of all regions of an operation."""
    return [block for region in op.regions for block in region.blocks]


def operations_of(block: Block) -> list[Operation]:
    """The operations of a block, as they are now: who goes through them may change it."""
    return [view.operation for view in block.operations]


def last_of(block: Block) -> Operation:
    return block.operations[len(block.operations) - 1].operation


def operation_before(op: Operation) -> Operation:
    """The one in front of an operation in its block."""
    inside = operations_of(op.block)
    return inside[inside.index(op) - 1]


def operations_in(root: OperationBase, is_opaque: Callable[[Operation], bool] | None = None) -> list[Operation]:
    """The operations in an operation, itself left out, outer ones first; nothing that is in an opaque one."""
    if is_opaque is None:
        return _all_in(root)[1:]
    found: list[Operation] = []
    advance, skip = ir.WalkResult.ADVANCE, ir.WalkResult.SKIP

    def visit_outside(operation: Operation) -> object:
        found.append(operation)
        # The first is the root.
        return skip if len(operation.regions) and len(found) > 1 and is_opaque(operation) else advance

    root.walk(visit_outside, ir.WalkOrder.PRE_ORDER)
    return found[1:]


@enters
def _all_in(root: OperationBase) -> list[Operation]:
    """Return an operation and all operations in it, outer ones first."""
    found: list[Operation] = []
    mlir_walk(root, functools.partial(_visit, found), ir.WalkOrder.PRE_ORDER)
    return found


@fragile
def _visit(found: list[Operation], operation: Operation) -> object:
    """Note an operation. This function raises nothing, so that MLIR may call it without a guard."""
    found.append(operation)
    return _ADVANCE


@enters
def operations_named(root: OperationBase, *names: str) -> list[Operation]:
    """The operations of these names in an operation, itself left out, inner ones first; none in unreachable
    blocks. MLIR looks for them, in a tenth of the time that it takes to look at all of `operations_in`.
    """
    found: list[Operation] = []
    patterns, find = rewrite.RewritePatternSet(root.context), functools.partial(_find, found)
    for name in set(names):  # two patterns for a name would find it twice
        patterns.add(name, find)
    rewrite.walk_and_apply_patterns(root, patterns.freeze())
    return found


@fragile
def _find(found: list[Operation], op: OpView, rewriter: object) -> bool:
    """Note an operation that a pattern matches, and leave it unchanged. This function raises nothing."""
    found.append(op.operation)
    return True


def defining_op(value: Value, *names: str) -> OpView | None:
    """The operation that makes a value, if it is one of these; None for others and for block arguments."""
    owner = value.owner
    if type(owner) is Block:
        return None
    return owner if not names or owner.operation.name in names else None


def made_by(value: Value, *names: str) -> Operation | None:
    """As `defining_op`, the operation itself instead of the view of its class."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    operation: Operation = owner.operation
    return operation if not names or operation.name in names else None


def constant_of(value: Value) -> int | None:
    """The number that an integer is, where it is a constant."""
    constant = made_by(value, "arith.constant")
    return None if constant is None else int(constant.attributes["value"].value)


def use_count(value: Value) -> int:
    return sum(1 for _ in value.uses)


def is_used_once(value: Value) -> bool:
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is None


def users_of(value: Value) -> list[Operation]:
    """The operations that use a value, once for each use."""
    return [use.owner.operation for use in value.uses]


def used_inside(operation: Operation) -> list[Value]:
    """The values from around that are used in an operation's regions."""
    inside = [each.operation for each in operations_in(operation)]
    blocks = {block for each in (operation, *inside) for region in each.regions for block in region.blocks}
    own = {value for each in inside for value in each.results}
    own.update(argument for block in blocks for argument in block.arguments)
    return list(dict.fromkeys(used for each in inside for used in each.operands if used not in own))


def used_by(operation: Operation) -> list[Value]:
    """The values from around that an operation uses, those in its regions among them."""
    return [*operation.operands, *(used_inside(operation) if len(operation.regions) else ())]


def innermost(op: OperationBase, name: str) -> Any:
    """The operation itself or the nearest one around it of this name; None where there is none."""
    found: Operation | None = op.operation
    while found is not None and found.name != name:
        found = parent_of(found)
    return found


def functions_in(module: OperationBase) -> Iterator[Operation]:
    """The functions of a module, those of modules inside it left out."""
    return (op for op in operations_of(body_of(module)) if op.name == "func.func")


def operations_in_functions(module: OperationBase, *names: str) -> list[Operation]:
    """The operations in functions of a module, or those of these names: not those in modules inside it, of which
    kernels have many."""
    inside = (operations_named(each, *names) if names else operations_in(each) for each in functions_in(module))
    return [each for of_function in inside for each in of_function]


def functions_at(op: OperationBase) -> Iterator[Operation]:
    """The functions that a pass runs on: a module's, or the one that it is given; none in other operations."""
    if op.name == "builtin.module":
        yield from functions_in(op)
    elif op.name == "func.func":
        yield op.operation


def has_body(function: OperationBase) -> bool:
    return len(function.regions[0].blocks) > 0


def text_in(op: OperationBase, name: str, otherwise: str = "") -> str:
    """The text of an attribute, or what holds where there is none."""
    attributes = op.attributes
    return string_value(attributes[name]) if name in attributes else otherwise


def symbol_name(op: OperationBase) -> str:
    """The name of a function, a global or another symbol; empty for what has none."""
    return text_in(op, "sym_name")


def callee_of(call: OperationBase) -> str:
    """The name of the function that a call is of."""
    return str(call.attributes["callee"].value)


def function_type_of(function: OperationBase) -> Type:
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def is_private(op: OperationBase) -> bool:
    attributes = op.attributes
    return "sym_visibility" in attributes and attributes["sym_visibility"].value == "private"
