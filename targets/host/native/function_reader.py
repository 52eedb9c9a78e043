# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of one host function: from the statements of its source to the text of a function in the LLVM dialect."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from . import language, types
from .blocks import CodeBlock, CodeValue, FunctionCode
from .calls import Calls
from .language import I32, Function, Status
from .symbols import Symbols

#: Numbers that a message takes (__relax_fail in support.py).
_MOST_NUMBERS = 4
_FAIL_TYPES = "(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64, i64) -> i32"


def function_text(symbols: Symbols, function: Function[..., Any], node: ast.FunctionDef) -> str:
    """Return the text of a function from its definition. Raise ModelError for a wrong type, with its place."""
    inputs, result, _ = function.signature
    names = [argument.arg for argument in node.args.args]
    parameters = {name: CodeValue(type_, f"%{name}") for name, type_ in zip(names, inputs, strict=True)}
    reader = _FunctionReader(symbols, function, FunctionCode(parameters))
    reader.read(node)
    listed = ", ".join(f"%{name}: {types.llvm_type(value.type)}" for name, value in parameters.items())
    attributes = f" attributes {{{', '.join(function.flags)}}}" if function.flags else ""
    linkage = {"library": "hidden ", "exported": ""}.get(function.scope, "internal ")
    returned = f" -> {types.llvm_type(result)}" if result is not None else ""
    head = f"llvm.func {linkage}@{symbols.function(function)}({listed}){returned}{attributes}"
    return f"{head} {{\n{reader.blocks.text()}\n}}\n"


class _FunctionReader(Calls):
    """Emission of statements."""

    #: Loops around the place: the block for `continue`, the block behind the loop, and the number of finally blocks.
    _loops: tuple[tuple[CodeBlock, CodeBlock, int], ...] = ()
    #: Statements of the finally blocks around the place.
    _final: tuple[Sequence[ast.stmt], ...] = ()

    def read(self, node: ast.FunctionDef) -> None:
        result = self.function.signature[1]
        self.read_all(node.body)
        if self.blocks.is_open():
            if result is not None and result is not Status:
                raise self.refuse(node.body[-1], f"no return of {types.type_name(result)} behind it")
            self._leave(None)

    def read_all(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            if not self.blocks.is_open():
                raise self.refuse(statement, "nothing gets here")
            read = getattr(self, f"read_{type(statement).__name__.lower()}", None)
            if read is None:
                raise self.refuse(statement, "host functions have no such statement")
            read(statement)
            if (
                isinstance(statement, ast.If)
                and self._known_branch(statement) is not None
                and not self.blocks.is_open()
            ):
                return  # the rest is for other architectures

    # ---- variables ----

    def read_expr(self, node: ast.Expr) -> None:
        if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
            self.value(node.value)

    def read_pass(self, node: ast.Pass) -> None:
        """Do nothing."""

    def read_assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if isinstance(target, ast.Name):
            self._assign(target, self.value(node.value))
        elif isinstance(target, ast.Tuple):
            values = self.parts(self.value(node.value))
            if len(values) != len(target.elts):
                raise self.refuse(node, f"{len(target.elts)} names for {len(values)} values")
            for item, value in zip(target.elts, values, strict=True):
                self._assign(item, value)
        else:
            place = self.place(target)
            self.store(node.value, place, self.value(node.value))

    def read_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise self.refuse(node, "expected a value")
        type_ = self._type(node.annotation)
        self._assign(node.target, self.of_type(node.value, type_)._replace(type=type_))

    def read_augassign(self, node: ast.AugAssign) -> None:
        changed = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        self.read_assign(ast.copy_location(ast.Assign([node.target], changed), node))

    def _assign(self, target: ast.expr, value: CodeValue) -> None:
        if not isinstance(target, ast.Name):
            raise self.refuse(target, "expected a name")
        if value.type is None:
            raise self.refuse(target, "the call returns no value")
        before = self.blocks.variables.get(target.id)
        if before is not None:
            self.require(target, value.type, before.type)
            value = CodeValue(before.type, value.name)
        self.blocks.variables[target.id] = value

    # ---- control flow ----

    def read_if(self, node: ast.If) -> None:
        if (chosen := self._known_branch(node)) is not None:
            self.read_all(chosen)
            return
        then, otherwise, end = self.blocks.new(), self.blocks.new(), self.blocks.new()
        self.branch(node.test, then, otherwise if node.orelse else end)
        for block, body in ((then, node.body), (otherwise, node.orelse)):
            if body and block.edges:
                self._continue_in(block, body, end)
        self.blocks.start(end)

    def _known_branch(self, node: ast.If) -> Sequence[ast.stmt] | None:
        """Return the statements that a comparison with the architecture selects."""
        test = node.test
        if not (isinstance(test, ast.Compare) and isinstance(test.left, ast.Call)):
            return None
        if self.static(test.left.func)[1] is not language.architecture:
            return None
        is_same = self.static(test.comparators[0])[1] == self.symbols.architecture
        return node.body if is_same == isinstance(test.ops[0], ast.Eq) else node.orelse

    def _continue_in(self, block: CodeBlock, body: Iterable[ast.stmt], end: CodeBlock) -> None:
        self.blocks.start(block)
        self.read_all(body)
        if self.blocks.is_open():
            self.blocks.jump(end)

    def read_while(self, node: ast.While) -> None:
        body, end = self.blocks.new(), self.blocks.new()
        head = self._start_loop(node)
        if isinstance(node.test, ast.Constant) and node.test.value is True:
            self.blocks.jump(body)
        else:
            self.branch(node.test, body, end)
        self._read_body(body, node.body, head, end)
        self.blocks.start(end)

    def read_for(self, node: ast.For) -> None:
        call = node.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"):
            raise self.refuse(node.iter, "a loop runs over range(stop) or range(start, stop)")
        if not isinstance(node.target, ast.Name) or len(call.args) > 2:
            raise self.refuse(node.iter, "a loop has one variable, and steps of 1")
        stop = self.value(call.args[-1])
        start = self.value(call.args[0] if len(call.args) == 2 else ast.copy_location(ast.Constant(0), call), stop.type)
        self.require(call.args[0], start.type, stop.type)
        index, form = node.target.id, types.llvm_type(stop.type)
        self.blocks.variables[index] = start
        step, body, end = self.blocks.new(), self.blocks.new(), self.blocks.new()
        head = self._start_loop(node)
        is_inside = self.emit(bool, f'llvm.icmp "slt" {self.blocks.variables[index].name}, {stop.name} : {form}')
        self.blocks.branch(is_inside.name, body, end)
        self._read_body(body, node.body, step, end)
        if step.edges:
            self.blocks.start(step)
            one = self._constant(call, 1, stop.type)
            self.blocks.variables[index] = self.arithmetic(call, ast.Add(), self.blocks.variables[index], one)
            self.blocks.jump(head)
        self.blocks.start(end)

    def _start_loop(self, node: ast.For | ast.While) -> CodeBlock:
        names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
        head = self.blocks.new()
        self.blocks.jump(head)
        self.blocks.start(head, sorted(names))
        return head

    def _read_body(self, block: CodeBlock, body: Iterable[ast.stmt], again: CodeBlock, end: CodeBlock) -> None:
        around = self._loops
        self._loops = (*around, (again, end, len(self._final)))
        self._continue_in(block, body, again)
        self._loops = around

    def read_continue(self, node: ast.Continue) -> None:
        self._jump_out(0)

    def read_break(self, node: ast.Break) -> None:
        self._jump_out(1)

    def _jump_out(self, which: int) -> None:
        *blocks, depth = self._loops[-1]
        self._read_final(depth)
        self.blocks.jump(blocks[which])

    # ---- ends of the function ----

    def read_return(self, node: ast.Return) -> None:
        result = self.function.signature[1]
        if node.value is None:
            if result is not None and result is not Status:
                raise self.refuse(node, f"expected {types.type_name(result)}, got no value")
            return self._leave(None)
        if result is Status:
            return self._leave(self.status_of(node.value))
        if result is None:
            raise self.refuse(node, "the function returns no value")
        return self._leave(self.of_type(node.value, result))

    def _leave(self, value: CodeValue | None) -> None:
        self._read_final(0)
        if value is None and self.function.can_fail:
            value = self._constant(ast.Constant(0), I32(0))
        self.blocks.leave(f"llvm.return {value.name} : {types.llvm_type(value.type)}" if value else "llvm.return")

    def read_raise(self, node: ast.Raise) -> None:
        """Set the error. `raise ValueError("%s: %lld", where, number)` has a text and up to four numbers or texts."""
        result = self.function.signature[1]
        call = node.exc
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args):
            raise self.refuse(node, 'expected an exception with a text: raise ValueError("%s: ...", where)')
        if result not in (Status, I32) and not types.is_pointer(result):
            raise self.refuse(
                node, "the function cannot fail: its result is neither a status nor an address, where NULL fails"
            )
        texts = [self.value(ast.copy_location(ast.Constant(call.func.id), call)), *map(self.value, call.args[:2])]
        operands = [texts[0], texts[1], texts[2] if len(texts) > 2 else texts[0]]
        for argument, value in zip(call.args, operands[1:], strict=False):
            self.require(argument, value.type, str)
        numbers = [self._convert(call, self.value(argument), int) for argument in call.args[2:]]
        if len(numbers) > _MOST_NUMBERS:
            raise self.refuse(node, f"expected at most {_MOST_NUMBERS} numbers behind the text's first operand")
        while len(numbers) < _MOST_NUMBERS:
            numbers.append(self._constant(call, 0))
        self.call(f"@{self.symbols.external('__relax_fail', _FAIL_TYPES)}", [*operands, *numbers], I32)
        self._fail()

    def leave_unless_ok(self, node: ast.AST, status: CodeValue) -> None:
        if not self.function.can_fail:
            raise self.refuse(node, "the callee can fail, and this function's result is not Status: use .status()")
        rest, failed = self.blocks.new(), self.blocks.new()
        is_ok = self.emit(bool, f'llvm.icmp "eq" {status.name}, {self._constant(ast.Constant(0), I32(0)).name} : i32')
        self.blocks.branch(is_ok.name, rest, failed, " weights([2000, 1])")
        self.blocks.start(failed)
        self._fail()
        self.blocks.start(rest)

    def _fail(self) -> None:
        """Leave the function with -1, or with NULL."""
        self._read_final(0)
        result = self.function.signature[1]
        value = self._constant(ast.Constant(0), I32(-1) if result in (Status, I32) else None)
        self.blocks.leave(f"llvm.return {value.name} : {types.llvm_type(result)}")

    # ---- finally ----

    def read_try(self, node: ast.Try) -> None:
        if node.handlers or node.orelse:
            raise self.refuse(node.body[0], "a try statement has a finally block alone")
        around = self._final
        self._final = (*around, node.finalbody)
        self.read_all(node.body)
        if self.blocks.is_open():
            self._read_final(len(around))
        self._final = around

    def _read_final(self, depth: int) -> None:
        """Emit the finally blocks inside of a depth, the innermost first."""
        around = self._final
        while len(self._final) > depth:
            *outer, last = self._final
            self._final = tuple(outer)
            self.read_all(last)
        self._final = around
