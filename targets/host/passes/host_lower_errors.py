# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Error lowering.

Functions that can fail free their memory and return a status: 0, or -1 with the error set.

Operators at many places share a PrimFunc. The caller therefore passes the location for error messages, as an
`!llvm.ptr` behind the other parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ....bindings.diagnostics import made_at
from ....bindings.ir import Block, Location, Operation, Type, Value
from ....bindings.mlir import i64_attribute, ir, string_value
from ....bindings.navigation import (
    body_of,
    callee_of,
    defining_op,
    function_type_of,
    functions_in,
    has_body,
    made_by,
    operations_in,
    operations_named,
    operations_of,
    symbol_name,
    users_of,
)
from ....bindings.pass_manager import run_upstream
from ....bindings.rewriting import located_error, made_again, replace_op
from ....dialects.core.ir_attributes import CONTRACT, ENDED_BY, ENTRY, EXIT, GRAPH_INPUTS, OPERATOR
from ....dialects.core.kernel_contract import contract_of
from ....dialects.tir.prim_func import ASSERT
from ....emit.linalg import segments
from ....emit.numbers import number
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..entry import is_entry
from ..llvm_ops import PTR, constant
from ..support import Support, cut
from .host_name_functions import name_in_program

_STATUS = "tir.return_unless_ok"
_PLACE = "tir.place"
_KEPT = (OPERATOR, CONTRACT)


@register_pass
class LowerErrors(Pass):
    """Make functions that can fail return a status, and make their callers propagate failures."""

    name: ClassVar[str] = "host-lower-errors"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "arith", "cf", "memref", "scf", "llvm")

    def run(self, op: Operation) -> None:
        functions = {
            symbol_name(function): function for function in functions_in(op) if has_body(function) or is_entry(function)
        }
        program = _ErrorProgram(functions, _failing(functions), Support(op))
        with op.context:
            for name in program.failing:
                if len(function_type_of(functions[name]).results):
                    problem = f"function '{name}' returns a value, which has no place next to a status"
                    raise located_error(problem, op.location)
                if has_body(functions[name]):
                    _FailingFunction(program, functions[name]).run()
                else:
                    _return_status(functions[name], function_type_of(functions[name]).inputs)


def _knows_place(function: Operation) -> bool:
    """Check whether a function is a graph function or an entry. Both know the location for errors themselves."""
    return GRAPH_INPUTS in function.attributes or is_entry(function)


def _is_stated_to_fail(function: Operation) -> bool:
    contract = contract_of(function)
    return contract is not None and contract.can_fail


def _failing(functions: dict[str, Operation]) -> dict[str, bool]:
    """Return the functions that can fail, callees first. The value is True if the function receives the location."""
    calls = {name: set(map(callee_of, operations_named(function, "func.call"))) for name, function in functions.items()}
    names = {name for name, function in functions.items() if operations_named(function, ASSERT, _STATUS)}
    names |= {name for name, function in functions.items() if _knows_place(function) or _is_stated_to_fail(function)}
    while more := {name for name, callees in calls.items() if callees & names} - names:
        names |= more
    return {name: not _knows_place(function) for name, function in functions.items() if name in names}


@dataclass(frozen=True)
class _ErrorProgram:
    """Data that the functions of a module share."""

    functions: dict[str, Operation]
    failing: dict[str, bool]
    support: Support


@dataclass(eq=False)
class _Held:
    """Memory that a function owns at a point: one buffer, and a link to the buffers owned before.

    Lists without sharing would need failures times buffers entries to state which buffers each failure frees.
    """

    value: Value
    before: _Held | None
    #: Number of the exit that frees this buffer; 0 until an operation at this point can fail.
    number: int = 0


class _FailingFunction:
    def __init__(self, program: _ErrorProgram, function: Operation):
        self._program = program
        self._function = function
        self._has_where = program.failing[symbol_name(function)]
        self._where: Value | None = None
        #: For each exit, the number of the exit that follows. Exit 0 returns and has no successor.
        self._next = [-1]
        #: Block of each exit, once the blocks exist.
        self._exits: list[Block] = []
        #: Memory that the function itself frees.
        self._given_back: set[Value] = set()

    def run(self) -> None:
        function = self._function
        with function.location:
            inside = operations_in(function)
            has_affine = any(op.name.startswith("affine.") for op in inside)
            has_regions = any(op.regions for op in inside)
            # Upstream's passes erase operations: no handles may survive.
            del inside
            if has_affine:
                run_upstream(function, ["lower-affine"], verify=False)
            self._declare()
            self._given_back = {op.operands[0] for op in operations_named(function, *_GIVES_BACK)}
            for block in function.regions[0].blocks:
                self._mark(block, None)
            if has_regions:
                run_upstream(function, ["convert-scf-to-cf"], verify=False)
            self._add_exits()
            releases = []
            for op in operations_in(function):
                if (name := op.name) == _PLACE:
                    with op.location, ir.InsertionPoint(op):
                        replace_op(op, [self._place(op)])
                elif name == "tir.release":
                    releases.append(op)
                elif name == "func.return" and op.block not in self._exits:
                    self._succeed(op)
                elif name in (ASSERT, _STATUS):
                    _require_way_out(op)
            for block in list(function.regions[0].blocks):
                split_behind(block, (ASSERT, _STATUS), self._branch)
            for op in releases:
                with op.location, ir.InsertionPoint(op):
                    self._program.support.call(_ended_by(op.operands[0]), *op.operands)
                op.erase()

    def _declare(self) -> None:
        function, block = self._function, body_of(self._function)
        if self._has_where:
            self._where = block.add_argument(ir.Type.parse(PTR), function.location)
        _return_status(function, [argument.type for argument in block.arguments])
        # The function now returns a status, unlike any PrimFunc or graph function.
        for name in [name for name in function.attributes if name.startswith(("tir.", "relax.")) and name not in _KEPT]:
            del function.attributes[name]
        if not self._has_where:
            function.attributes[ENTRY] = ir.UnitAttr.get()

    # ---- structured control flow: find the memory to free at each failure ----

    def _mark(self, block: Block, held: _Held | None) -> list[Value]:
        """Assign an exit to each operation that can fail.

        The exit frees the memory that the block and its enclosing blocks own at this point.

        Return the memory that the block frees. If only some paths free a buffer, a failure cannot know whether this
        happened.
        """
        is_body = block.owner.operation.name == "func.func"
        operations, gone = operations_of(block), list[Value]()
        for value in () if is_body else block.arguments:
            held = _Held(value, held) if value in self._given_back else held
        for op in operations:
            for value in self._passed_on(op):
                held = _without(held, value)
            inside = [value for region in op.regions for inner in region.blocks for value in self._mark(inner, held)]
            given_back = [op.operands[0]] if op.name in _GIVES_BACK else inside
            for value in given_back:
                held = _without(held, value)
            gone += given_back
            for value in self._owned(op):
                held = _Held(value, held)
            if op.name in (ASSERT, _STATUS):
                self._leave_by(op, held)
            elif op.name == "func.call" and callee_of(op) in self._program.failing:
                self._leave_by(self._with_status(op), held)
        return gone

    def _owned(self, op: Operation) -> list[Value]:
        """Return the results that are memory which the function frees, or creates for another block to free."""
        if op.name == "memref.cast":
            return []
        is_new = op.name == "memref.alloc"
        return [value for value in op.results if value in self._given_back or (is_new and _is_passed_on(value))]

    def _passed_on(self, op: Operation) -> list[Value]:
        """Return the memory that a loop takes over."""
        if op.name not in _LOOPS:
            return []
        casts = [made_by(value, "memref.cast") for value in op.operands]
        made = [value if cast is None else cast.operands[0] for value, cast in zip(op.operands, casts, strict=True)]
        return [value for value in made if made_by(value, "memref.alloc") and value not in self._given_back]

    def _leave_by(self, op: Operation, held: _Held | None) -> None:
        """Store the exit's number on an operation that can fail, after creating the exits that follow."""
        new, each = [], held
        while each is not None and not each.number:
            new.append(each)
            each = each.before
        for each in reversed(new):
            each.number = len(self._next)
            self._next.append(each.before.number if each.before else 0)
            _give_back_later(each)
        op.attributes[EXIT] = i64_attribute(held.number if held else 0)

    def _with_status(self, op: Operation) -> Operation:
        """Make a call return its status, and add an operation that checks the status."""
        i32 = ir.IntegerType.get_signless(32)
        with ir.InsertionPoint(op), op.location:
            operands = list(op.operands)
            if self._program.failing[callee_of(op)]:
                operands.append(self._place(op))
            operation = made_again(op, operands, [i32])
            check = ir.Operation.create(_STATUS, operands=[operation.result])
        op.erase()
        return check

    def _place(self, op: Operation) -> Value:
        """Return the location text for error messages."""
        if self._where is not None:
            return self._where
        if OPERATOR in op.attributes:
            return self._program.support.text(_place_text(op, op.location))
        callee = self._program.functions.get(callee_of(op)) if op.name == "func.call" else self._function
        return self._program.support.text(_place_text(callee, op.location))

    # ---- unstructured control flow ----

    def _add_exits(self) -> None:
        """Add the exits. Each frees one buffer and branches to the next exit; the first exit returns."""
        blocks = self._function.regions[0].blocks
        given_back = operations_named(self._function, *_GIVES_BACK)
        releases = {_exit_of(op): op for op in given_back if EXIT in op.attributes}
        self._exits = [blocks.append() for _ in self._next]
        for exit_, block in enumerate(self._exits):
            with ir.InsertionPoint(block):
                if exit_ == 0:
                    ir.Operation.create("func.return", operands=[constant(-1, 32)])
                    continue
                block.append(releases[exit_])
                del releases[exit_].attributes[EXIT]
                ir.Operation.create("cf.br", successors=[self._exits[self._next[exit_]]])

    def _succeed(self, op: Operation) -> None:
        with ir.InsertionPoint(op), op.location:
            ir.Operation.create("func.return", operands=[constant(0, 32)])
        op.erase()

    def _branch(self, op: Operation, rest: Block) -> None:
        """Continue on success. Otherwise set the error, free the memory and return."""
        way_out = self._exits[_exit_of(op)]
        failed = way_out if op.name == _STATUS else self._function.regions[0].blocks.append()
        with ir.InsertionPoint(op):
            condition = op.operands[0] if op.name == ASSERT else number(op.operands[0]) == 0
            attributes = {**segments(1, 0, 0), "branch_weights": ir.DenseI32ArrayAttr.get([2000, 1])}
            ir.Operation.create("cf.cond_br", operands=[condition], successors=[rest, failed], attributes=attributes)
        if op.name == ASSERT:
            with ir.InsertionPoint(failed):
                self._raise(op)
                ir.Operation.create("cf.br", successors=[way_out])
        op.erase()

    def _raise(self, op: Operation) -> None:
        numbers = list(op.operands)[1:]
        message = cut(op.opview.message).replace("%", "%%").replace("{}", "%lld")
        text = self._program.support.text
        padded = [*numbers, *(constant(0) for _ in range(4 - len(numbers)))]
        self._program.support.call("fail", text(op.opview.kind), text(f"%s: {message}"), self._place(op), *padded)


def _return_status(function: Operation, inputs: Sequence[Type]) -> None:
    i32 = ir.IntegerType.get_signless(32)
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, [i32]))


def _require_way_out(op: Operation) -> None:
    """Raise RelaxError if an operation that can fail is inside a region that no branch can leave."""
    around = op.parent.operation
    if around.name != "func.func":
        what = "'tir.assert' op" if op.name == ASSERT else "a call that can fail"
        raise located_error(f"{what} inside of '{around.name}' has no way out of it", op.location)


def _place_text(callee: Operation | None, location: Location) -> str:
    what = ""
    if callee is not None:
        operator = callee.attributes.get(OPERATOR)
        what = string_value(operator) if operator is not None else f"@{name_in_program(callee)}"
    return cut(made_at(what, location) or "the program")


_GIVES_BACK = ("memref.dealloc", "tir.release")


def _ended_by(value: Value) -> str:
    """Return the library function that releases a value."""
    view = defining_op(value, "llvm.getelementptr")
    attributes = {} if view is None else view.operation.attributes
    return string_value(attributes[ENDED_BY]) if ENDED_BY in attributes else "release"


# Operations that pass memory on to a block that frees the memory.
_LOOPS, _ENDS = ("scf.for", "scf.while"), ("scf.yield", "scf.condition")


def _is_passed_on(value: Value) -> bool:
    """Check whether new memory goes to a loop or to the end of a block, directly or through casts."""
    return any(
        user.name in (*_LOOPS, *_ENDS) or (user.name == "memref.cast" and _is_passed_on(user.results[0]))
        for user in users_of(value)
    )


def _without(held: _Held | None, value: Value) -> _Held | None:
    """Return the owned memory without one value."""
    newer: list[Value] = []
    before = held
    while before is not None and before.value != value:
        newer.append(before.value)
        before = before.before
    if before is None:
        return held
    rest = before.before
    for kept in reversed(newer):
        rest = _Held(kept, rest)
    return rest


def _give_back_later(held: _Held) -> None:
    """Create the operation that frees the memory on failure, right behind the memory's definition.

    _add_exits moves the operation later: the value itself may be replaced until then.
    """
    value = held.value
    name = "memref.dealloc" if isinstance(value.type, ir.MemRefType) else "tir.release"
    is_argument = isinstance(value.owner, ir.Block)
    where = ir.InsertionPoint.at_block_begin(value.owner) if is_argument else ir.InsertionPoint.after(value.owner)
    with where, value.location:
        ir.Operation.create(name, operands=[value], attributes={EXIT: i64_attribute(held.number)})


def _exit_of(op: Operation) -> int:
    return int(op.attributes[EXIT].value)


def split_behind(block: Block, names: Sequence[str], branch: Callable[[Operation, Block], None]) -> None:
    """Split the block behind each operation of these names. The rest moves to a new block, which `branch` receives."""
    rest = None
    for op in operations_of(block):
        if rest is not None:
            rest.append(op)
        if op.name in names:
            rest = op.block.create_after()
            with op.location:
                branch(op, rest)
