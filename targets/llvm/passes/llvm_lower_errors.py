# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes functions that can fail return a status: 0, or -1 with the error set. What fails gives its memory back first.

A PrimFunc is shared by operators at many places, so the place that errors name comes from the caller: it is an
`!llvm.ptr` behind the other parameters.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

from ....bindings.diagnostics import locate
from ....bindings.legality import operations_in
from ....bindings.mlir import ir, string_value
from ....bindings.pass_manager import run_upstream
from ....bindings.rewriting import located_error
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.legalize.builder import OPERATOR
from ....passes.lower_calls.function import INPUTS
from ..llvm_text import PTR, has_symbol, merge, text_global
from ..memref_values import address_of, call, constant
from ..packed_call import add_raise_at
from ..packed_support import MESSAGE_BYTES, RELEASE
from .llvm_name_functions import name_in_program

_ASSERT = "tir.assert"
_STATUS = "tir.return_unless_ok"
_MOST_TEXT = (MESSAGE_BYTES - 100) // 2


@register_pass
@dataclass(frozen=True)
class LowerErrors(Pass):
    """Makes functions that can fail return a status, and calls of them pass failures on."""

    name: ClassVar[str] = "llvm-lower-errors"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "arith", "cf", "memref", "scf", "llvm")

    def run(self, op: Any) -> None:
        functions = {_name(function): function for function in _functions(op)}
        failing = _failing(functions)
        with op.context:
            for name in failing:
                _FailingFunction(op, functions[name], failing).run()


def _functions(module: Any) -> list[Any]:
    operations = [view.operation for view in module.regions[0].blocks[0].operations]
    return [op for op in operations if op.name == "func.func" and len(op.regions[0].blocks)]


def _name(function: Any) -> str:
    return string_value(function.attributes["sym_name"])


def _callee(op: Any) -> str:
    return str(op.attributes["callee"].value)


def is_entry(function: Any) -> bool:
    return INPUTS in function.attributes


def _failing(functions: dict[str, Any]) -> dict[str, bool]:
    """The functions that can fail, callees first; whether each is told the place."""
    calls = {name: {_callee(op) for op in operations_in(f) if op.name == "func.call"} for name, f in functions.items()}
    direct = {name for name, f in functions.items() if is_entry(f) or _can_fail(f)}
    found = set(direct)
    while more := {name for name, callees in calls.items() if callees & found} - found:
        found |= more
    return {name: not is_entry(function) for name, function in functions.items() if name in found}


def _can_fail(function: Any) -> bool:
    return any(op.name in (_ASSERT, _STATUS) for op in operations_in(function))


class _FailingFunction:
    def __init__(self, module: Any, function: Any, failing: dict[str, bool]):
        self._module = module
        self._function = function
        self._failing = failing
        self._is_told = failing[_name(function)]
        self._where: Any = None
        #: Where to go on failure, by the memory to give back.
        self._exits: dict[tuple[Any, ...], Any] = {}

    def run(self) -> None:
        function = self._function
        with function.location:
            if any(op.name.startswith("affine.") for op in operations_in(function)):
                run_upstream(function, ["lower-affine"], verify=False)
            self._declare()
            for block in function.regions[0].blocks:
                self._mark(block, [])
            if any(op.regions for op in operations_in(function)):
                run_upstream(function, ["convert-scf-to-cf"], verify=False)
            for op in operations_in(function):
                if op.name == "func.return":
                    self._succeed(op)
                elif op.name in (_ASSERT, _STATUS):
                    _require_way_out(op)
            for block in list(function.regions[0].blocks):
                self._split(block)
            for op in [op for op in operations_in(function) if op.name == "tir.release"]:
                with op.location, ir.InsertionPoint(op):
                    call(RELEASE, list(op.operands))
                op.erase()

    def _declare(self) -> None:
        function, block = self._function, self._function.regions[0].blocks[0]
        pointer, i32 = ir.Type.parse(PTR), ir.IntegerType.get_signless(32)
        if self._is_told:
            self._where = block.add_argument(pointer, function.location)
        inputs = [argument.type for argument in block.arguments]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, [i32]))
        # It returns a status, which no PrimFunc does.
        for name in [name for name in function.attributes if name.startswith("tir.")]:
            del function.attributes[name]

    # ---- while control flow is structured: what is to be given back where ----

    def _mark(self, block: Any, around: list[Any]) -> None:
        """Tells what can fail which memory the function owns there: made in the block before it, or around."""
        is_body = block.owner.operation.name == "func.func"
        owned = [*around, *([] if is_body else filter(_is_owned, block.arguments))]
        for op in [view.operation for view in block.operations]:
            for inner in [inner for region in op.regions for inner in region.blocks]:
                self._mark(inner, owned)
            if op.name in _GIVES_BACK:
                owned = [value for value in owned if value != op.operands[0]]
            owned += filter(_is_owned, op.results)
            if op.name in (_ASSERT, _STATUS):
                self._mark_memory(op, owned)
            elif op.name == "func.call" and _callee(op) in self._failing:
                self._mark_call(op, owned)

    def _mark_memory(self, op: Any, owned: list[Any]) -> None:
        """The memory goes behind the other operands."""
        with ir.InsertionPoint(op), op.location:
            attributes = {name: op.attributes[name] for name in op.attributes}
            ir.Operation.create(op.name, operands=[*op.operands, *owned], attributes=attributes)
        op.erase()

    def _mark_call(self, op: Any, owned: list[Any]) -> None:
        i32 = ir.IntegerType.get_signless(32)
        with ir.InsertionPoint(op), op.location:
            operands = list(op.operands)
            if self._failing[_callee(op)]:
                operands.append(self._place(op))
            attributes = {"callee": op.attributes["callee"]}
            made = ir.Operation.create("func.call", results=[i32], operands=operands, attributes=attributes)
            ir.Operation.create(_STATUS, operands=[made.result, *owned])
        op.erase()

    def _place(self, op: Any) -> Any:
        """The text that errors begin with."""
        if self._where is not None:
            return self._where
        callee = _find(self._module, _callee(op)) if op.name == "func.call" else None
        return self._text(_place_text(callee, op.location))

    def _text(self, content: str) -> Any:
        name = f"__relax_where.{hashlib.sha256(content.encode()).hexdigest()[:16]}"
        if not has_symbol(self._module, name):
            merge(self._module, text_global(name, content))
        return address_of(name)

    # ---- as blocks ----

    def _succeed(self, op: Any) -> None:
        with ir.InsertionPoint(op), op.location:
            ir.Operation.create("func.return", operands=[constant(0, 32)])
        op.erase()

    def _split(self, block: Any) -> None:
        """Ends the block at what can fail; what comes after moves into a block of its own."""
        rest = None
        for op in [view.operation for view in block.operations]:
            if rest is not None:
                rest.append(op)
            if op.name in (_ASSERT, _STATUS):
                rest = op.block.create_after()
                with op.location:
                    self._branch(op, rest)

    def _branch(self, op: Any, rest: Any) -> None:
        """Goes on where all is well; else sets the error, gives back memory and returns."""
        operands = list(op.operands)
        way_out = self._exit(tuple(value for value in operands if _is_memory(value)), op.location)
        failed = way_out if op.name == _STATUS else self._function.regions[0].blocks.append()
        with ir.InsertionPoint(op):
            condition = operands[0] if op.name == _ASSERT else _equal_zero(operands[0])
            _conditional_branch(condition, rest, failed)
        if op.name == _ASSERT:
            with ir.InsertionPoint(failed):
                self._raise(op)
                ir.Operation.create("cf.br", successors=[way_out])
        op.erase()

    def _exit(self, owned: tuple[Any, ...], location: Any) -> Any:
        """The block that gives memory back and returns. It gives back the last and leaves the others to theirs.

        A block for each failure would give back the same again and again: as much code as failures times memory.
        """
        for count in range(len(owned) + 1):
            if owned[:count] not in self._exits:
                self._exits[owned[:count]] = self._add_exit(owned[:count], location)
        return self._exits[owned]

    def _add_exit(self, owned: tuple[Any, ...], location: Any) -> Any:
        block = self._function.regions[0].blocks.append()
        with ir.InsertionPoint(block), location:
            if owned:
                _give_back(owned[-1])
                ir.Operation.create("cf.br", successors=[self._exits[owned[:-1]]])
            else:
                ir.Operation.create("func.return", operands=[constant(-1, 32)])
        return block

    def _raise(self, op: Any) -> None:
        numbers = [value for value in list(op.operands)[1:] if not _is_memory(value)]
        text = _cut(string_value(op.attributes["message"]))
        message = text.replace("%", "%%").replace("{}", "%lld")
        kind = string_value(op.attributes["kind"])
        symbol = add_raise_at(self._module, kind, message)
        where = self._where if self._where is not None else self._text(_place_text(self._function, op.location))
        padded = [*numbers, *(constant(0, 64) for _ in range(3 - len(numbers)))]
        call(symbol, [where, *padded], ir.IntegerType.get_signless(32))


def _require_way_out(op: Any) -> None:
    """Raises RelaxError where control flow is left that no branch can leave."""
    around = op.parent.operation
    if around.name != "func.func":
        what = "'tir.assert' op" if op.name == _ASSERT else "a call that can fail"
        raise located_error(f"{what} inside of '{around.name}' has no way out of it", op.location)


def _find(module: Any, name: str) -> Any:
    """The function of that name, None where the module only declares it."""
    function = ir.SymbolTable(module)[name].operation
    return function if len(function.regions[0].blocks) else None


def _place_text(callee: Any, location: Any) -> str:
    """`relax.take "node" at model.onnx:3:1`, as much of it as is known."""
    file, line, column, node = locate(location)
    what = ""
    if callee is not None:
        operator = callee.attributes.get(OPERATOR)
        what = string_value(operator) if operator is not None else f"@{name_in_program(callee)}"
    named = f'"{node}"' if node else ""
    place = f"at {file}:{line}:{column}" if line else ""
    return _cut(" ".join(part for part in (what, named, place) if part) or "the program")


def _cut(text: str) -> str:
    """As much of a text as two of them, and numbers, have room for in a message; whole characters."""
    data = text.encode()
    return text if len(data) <= _MOST_TEXT else data[: _MOST_TEXT - 3].decode(errors="ignore") + "..."


def _is_memory(value: Any) -> bool:
    return isinstance(value.type, (ir.MemRefType, ir.UnrankedMemRefType)) or str(value.type) == PTR


_GIVES_BACK = ("memref.dealloc", "tir.release")


def _is_owned(value: Any) -> bool:
    """Whether a value is memory that the function gives back somewhere."""
    return _is_memory(value) and any(use.owner.operation.name in _GIVES_BACK for use in value.uses)


def _give_back(value: Any) -> None:
    name = "memref.dealloc" if isinstance(value.type, ir.MemRefType) else "tir.release"
    ir.Operation.create(name, operands=[value])


def _equal_zero(status: Any) -> Any:
    predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
    return ir.Operation.create(
        "arith.cmpi",
        results=[ir.IntegerType.get_signless(1)],
        operands=[status, constant(0, 32)],
        attributes={"predicate": predicate},
    ).result


def _conditional_branch(condition: Any, yes: Any, no: Any) -> None:
    segments = ir.DenseI32ArrayAttr.get([1, 0, 0])
    weights = ir.DenseI32ArrayAttr.get([2000, 1])
    attributes = {"operandSegmentSizes": segments, "branch_weights": weights}
    ir.Operation.create("cf.cond_br", operands=[condition], successors=[yes, no], attributes=attributes)
