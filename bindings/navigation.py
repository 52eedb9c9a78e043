# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Navigation in IR: nested and enclosing operations, defining operations and users of values."""

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
    """Operation, operation view or module."""

    @property
    def operation(self) -> Operation: ...


def address_of(operation: Operation) -> int:
    """Return the address of an operation, or 0 if its handle is marked as erased.

    Unmarked handles of erased operations crash on any other access, and another operation may have the same address.
    """
    try:
        capsule = getattr(operation, "_CAPIPtr")  # noqa: B009  # the bindings' stubs do not tell of it
    except RuntimeError:
        return 0
    return int(_capsule_pointer(capsule, _capsule_name(capsule)))


def parent_of(operation: Operation) -> Operation | None:
    """Return the parent of an operation, or None for an outermost operation."""
    # The handle that owns an outermost operation raises an error when asked for its parent.
    parent = operation.parent if operation.attached else None
    return None if parent is None else parent.operation


def ancestors(operation: Operation) -> Iterator[Operation]:
    """Yield the enclosing operations, innermost first."""
    while (around := parent_of(operation)) is not None:
        yield around
        operation = around


def outermost(operation: Operation) -> Operation:
    for around in ancestors(operation):
        operation = around
    return operation


def enclosing(operation: Operation, name: str) -> Operation | None:
    """Return the nearest enclosing operation of this name, or None."""
    return next((around for around in ancestors(operation) if around.name == name), None)


def body_of(op: OperationBase) -> Block:
    """Return the first block of an operation, such as a module, a function or a loop."""
    return op.regions[0].blocks[0]


def blocks_of(op: OperationBase) -> list[Block]:
    """Return the blocks of all regions of an operation."""
    return [block for region in op.regions for block in region.blocks]


def operations_of(block: Block) -> list[Operation]:
    """Return a list of a block's operations, which stays valid while the block changes."""
    return [view.operation for view in block.operations]


def last_of(block: Block) -> Operation:
    return block.operations[len(block.operations) - 1].operation


def operation_before(op: Operation) -> Operation:
    """Return the preceding operation in the block."""
    inside = operations_of(op.block)
    return inside[inside.index(op) - 1]


def operations_in(root: OperationBase, is_opaque: Callable[[Operation], bool] | None = None) -> list[Operation]:
    """Return the nested operations in pre-order, without the contents of opaque operations."""
    if is_opaque is None:
        return _all_in(root)[1:]
    operations: list[Operation] = []
    advance, skip = ir.WalkResult.ADVANCE, ir.WalkResult.SKIP

    def visit_outside(operation: Operation) -> object:
        operations.append(operation)
        # The first visited operation is the root.
        return skip if len(operation.regions) and len(operations) > 1 and is_opaque(operation) else advance

    root.walk(visit_outside, ir.WalkOrder.PRE_ORDER)
    return operations[1:]


@enters
def _all_in(root: OperationBase) -> list[Operation]:
    """Return an operation and its nested operations in pre-order."""
    operations: list[Operation] = []
    mlir_walk(root, functools.partial(_visit, operations), ir.WalkOrder.PRE_ORDER)
    return operations


@fragile
def _visit(found: list[Operation], operation: Operation) -> object:
    """Collect an operation. The function never raises, so MLIR may call it without a guard."""
    found.append(operation)
    return _ADVANCE


@enters
def operations_named(root: OperationBase, *names: str) -> list[Operation]:
    """Return the nested operations of these names, inner ones first, except in unreachable blocks.

    MLIR searches for them, in a tenth of the time of filtering `operations_in`.
    """
    operations: list[Operation] = []
    patterns, find = rewrite.RewritePatternSet(root.context), functools.partial(_find, operations)
    for name in set(names):  # two patterns for a name would find the operation twice
        patterns.add(name, find)
    rewrite.walk_and_apply_patterns(root, patterns.freeze())
    return operations


@fragile
def _find(found: list[Operation], op: OpView, rewriter: object) -> bool:
    """Collect an operation that a pattern matches, and leave it unchanged. The function never raises."""
    found.append(op.operation)
    return True


def defining_op(value: Value, *names: str) -> OpView | None:
    """Return the defining operation if its name is listed. Return None for others and for block arguments."""
    owner = value.owner
    if type(owner) is Block:
        return None
    return owner if not names or owner.operation.name in names else None


def made_by(value: Value, *names: str) -> Operation | None:
    """Return the defining operation like `defining_op`, but without the view of its class."""
    if isinstance(owner := value.owner, ir.Block):
        return None
    operation: Operation = owner.operation
    return operation if not names or operation.name in names else None


def constant_of(value: Value) -> int | None:
    """Return the number of an integer constant, or None if the value is not constant."""
    constant = made_by(value, "arith.constant")
    return None if constant is None else int(constant.attributes["value"].value)


def use_count(value: Value) -> int:
    """Return the number of operands that are this value."""
    return sum(1 for _ in value.uses)


def is_used_once(value: Value) -> bool:
    uses = iter(value.uses)
    return next(uses, None) is not None and next(uses, None) is None


def users_of(value: Value) -> list[Operation]:
    """Return the operations that use a value, once per use."""
    return [use.owner.operation for use in value.uses]


def used_inside(operation: Operation) -> list[Value]:
    """Return the values defined outside an operation that its regions use."""
    inside = [each.operation for each in operations_in(operation)]
    blocks = {block for each in (operation, *inside) for region in each.regions for block in region.blocks}
    own = {value for each in inside for value in each.results}
    own.update(argument for block in blocks for argument in block.arguments)
    return list(dict.fromkeys(used for each in inside for used in each.operands if used not in own))


def used_by(operation: Operation) -> list[Value]:
    """Return the operands of an operation and the outside values that its regions use."""
    return [*operation.operands, *(used_inside(operation) if len(operation.regions) else ())]


def innermost(op: OperationBase, name: str) -> Any:
    """Return the operation itself or the nearest enclosing operation of this name, or None."""
    parent: Operation | None = op.operation
    while parent is not None and parent.name != name:
        parent = parent_of(parent)
    return parent


def functions_in(module: OperationBase) -> Iterator[Operation]:
    """Yield the functions of a module, without those of nested modules."""
    return (op for op in operations_of(body_of(module)) if op.name == "func.func")


def operations_in_functions(module: OperationBase, *names: str) -> list[Operation]:
    """Return the operations in a module's functions, optionally filtered by name.

    Nested modules, which contain many kernels, are excluded.
    """
    inside = (
        operations_named(function, *names) if names else operations_in(function) for function in functions_in(module)
    )
    return [each for of_function in inside for each in of_function]


def functions_at(op: OperationBase) -> Iterator[Operation]:
    """Yield the functions that a pass runs on: a module's functions, or the function itself."""
    if op.name == "builtin.module":
        yield from functions_in(op)
    elif op.name == "func.func":
        yield op.operation


def has_body(function: OperationBase) -> bool:
    """Check whether a function is defined, not only declared."""
    return len(function.regions[0].blocks) > 0


def text_in(op: OperationBase, name: str, otherwise: str = "") -> str:
    """Return the text of a string attribute, or a default."""
    attributes = op.attributes
    return string_value(attributes[name]) if name in attributes else otherwise


def symbol_name(op: OperationBase) -> str:
    """Return the name of a symbol such as a function or a global, or an empty string."""
    return text_in(op, "sym_name")


def callee_of(call: OperationBase) -> str:
    """Return the name of the called function."""
    return str(call.attributes["callee"].value)


def function_type_of(function: OperationBase) -> Type:
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def is_private(op: OperationBase) -> bool:
    """Check whether a symbol can only be used inside its module."""
    attributes = op.attributes
    return "sym_visibility" in attributes and attributes["sym_visibility"].value == "private"
