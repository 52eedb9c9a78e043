# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions in C: kernels, with pointers and the sizes they use as parameters, and public functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relax_mlir.bindings.ir import Attribute, Operation, Type, Value
from relax_mlir.bindings.mlir import DYNAMIC, ir, string_value
from relax_mlir.bindings.navigation import body_of, callee_of, text_in
from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.dialects.core.ir_attributes import MAIN_OPERATOR, OPERATOR, SITE
from relax_mlir.support.errors import RelaxError

from . import control, mathematics, memrefs, scalars
from .expressions import Expression, Size, call, cast, name, of_size
from .interface import Interface, interface_of
from .memref_views import MemrefView, dense
from .program import LoweredProgram
from .same_sizes import Place, same_sizes
from .types import INDEX, scalar_type
from .writer import FunctionWriter, Rule, words_in

#: Name of the parameter for the memory of a call.
_MEMORY = "memory"


@dataclass(frozen=True)
class _Parameter:
    """Parameter of a kernel: its declaration, and the operand number and axis that a call passes for it."""

    name: str
    declaration: str
    operand: int = -1
    #: Axis of a size parameter for a memref operand; -1 for its pointer.
    axis: int = -1


@dataclass(frozen=True)
class Written:
    """Text and parameters of a function."""

    name: str
    text: str
    prototype: str
    parameters: tuple[_Parameter, ...] = ()
    interface: Interface | None = None


class FunctionsWriter:
    """Writer of a program's functions, callees first."""

    def __init__(self, program: LoweredProgram) -> None:
        self.program = program
        self.written: dict[str, Written] = {}
        #: Sizes of a kernel that are equal, and their names.
        self._same: Mapping[Place, Place] = {}
        self._sizes: dict[Place, str] = {}
        self._rules: dict[str, Rule] = {
            **scalars.RULES,
            **mathematics.RULES,
            **memrefs.RULES,
            **control.RULES,
            "func.call": self._call,
            "tir.assert": _assert,
            "tir.random_key": _random_key,
        }

    def write_all(self) -> list[Written]:
        for function in self.program.order:
            is_public = function in self.program.public
            self.written[function] = self._public(function) if is_public else self._kernel(function)
        return list(self.written.values())

    def _writer(self, function: str) -> FunctionWriter:
        return FunctionWriter(self.program, function, self.program.names.nested(), self._rules)

    def _body(self, writer: FunctionWriter, function: Operation, *, returns: bool) -> None:
        if len(function.regions[0].blocks) > 1:
            raise writer.refusal(function, "it has several blocks: use scf operations for loops and branches")
        writer.block(body_of(function))
        if returns:
            writer.line("return 0;")

    # ---- kernels ----

    def _kernel(self, function: str) -> Written:
        operation, writer = self.program.functions[function], self._writer(function)
        parameters = [_Parameter(_MEMORY, f"struct {_MEMORY} *{_MEMORY}")]
        parameter_names = _parameter_names(operation, self.program.written[function])
        self._same, self._sizes = same_sizes(self.program.calls_of(function)), {}
        for position, argument in enumerate(body_of(operation).arguments):
            parameters += self._parameters(writer, function, position, argument, parameter_names[position])
        fails = function in self.program.failing
        self._body(writer, operation, returns=fails)
        lines = writer.finished()
        used = words_in(lines)
        taken = tuple(parameter for parameter in parameters if parameter.name in used)
        chosen = self.program.function_names[function]
        head = _signature(f"static {'int' if fails else 'void'} {chosen}", [each.declaration for each in taken])
        comment = _comment(text_in(operation, OPERATOR, f"@{function}").replace("+", " + "))
        return Written(chosen, "\n".join([comment, f"{head} {{", *lines, "}"]), f"{head};", taken)

    def _parameters(
        self, writer: FunctionWriter, function: str, position: int, argument: Value, wanted: str
    ) -> list[_Parameter]:
        type_, chosen = argument.type, writer.names.fresh(wanted)
        if not isinstance(type_, ir.MemRefType):
            writer.know(argument, name(chosen, is_place=isinstance(type_, ir.IndexType)))
            return [_Parameter(chosen, f"{_passed_type(writer, argument)} {chosen}", position)]
        _check_rows(writer, argument, type_)
        sizes: list[Size] = []
        found = []
        for axis, size in enumerate(type_.shape):
            if size == DYNAMIC:
                if (place := self._same.get((position, axis), (position, axis))) not in self._sizes:
                    self._sizes[place] = writer.names.fresh(f"{chosen}_size{axis}")
                    found.append(_Parameter(self._sizes[place], f"{INDEX} {self._sizes[place]}", position, axis))
                sizes.append(name(self._sizes[place], is_place=True, is_natural=True))
            else:
                sizes.append(int(size))
        view = dense(name(chosen), type_.element_type, sizes)
        writer.know(argument, view)
        const = "" if position in self.program.written[function] else "const "
        return [_Parameter(chosen, f"{const}{view.memory_type} *{chosen}", position), *found]

    def _call(self, writer: FunctionWriter, op: Operation) -> None:
        if SITE in op.attributes:
            writer.line("")
            for line in _comment(_site_text(op.attributes[SITE]), 110).split("\n"):
                writer.line(line)
        callee = self.written.get(callee_of(op))
        if callee is None:  # an external function of the model, or of <math.h>
            mathematics.call_now(writer, op, callee_of(op))
            return
        operands: list[Expression | MemrefView] = [
            writer.view(value) if isinstance(value.type, ir.MemRefType) else writer.get(value) for value in op.operands
        ]
        writer.settle()
        passed = [_argument(parameter, operands) for parameter in callee.parameters]
        text = f"{callee.name}({', '.join(passed)})"
        if callee_of(op) not in self.program.failing:
            writer.line(f"{text};")
            return
        with writer.braces():
            writer.line(f"const int status = {text};")
            with writer.braces("if (status != 0)"):
                writer.line("return status;")

    # ---- public functions ----

    def _public(self, function: str) -> Written:
        operation, writer = self.program.functions[function], self._writer(function)
        chosen = self.program.function_names[function]
        interface = interface_of(operation, chosen, writer.names, self.program.written[function])
        for argument, described in zip(
            body_of(operation).arguments, (*interface.inputs, *interface.results), strict=True
        ):
            if not isinstance(argument.type, ir.MemRefType):
                if not isinstance(argument.type, (ir.IntegerType, ir.FloatType, ir.IndexType)):
                    raise writer.refusal(operation, f"the size of '{described.label}' depends on the data", _ROOM)
                writer.know(argument, name(described.name))
                continue
            view = dense(name(described.name), argument.type.element_type, described.sizes)
            if view.memory_type != described.c_type:
                const = "" if described.is_written else "const "
                view = dense(cast(f"{const}{view.memory_type} *", name(described.name)), view.element, described.sizes)
            writer.know(argument, view)
        for size in interface.sizes:
            if size.bounds == (None, None) or size.bounds[0] is None:
                status = self.program.status("ValueError", f"@{function}: the size {size.label} is negative")
                with writer.braces(f"if ({size.name} < 0)"):
                    writer.line(f"return {status};")
        self._body(writer, operation, returns=True)
        return self._finished_public(function, writer, interface)

    def _finished_public(self, function: str, writer: FunctionWriter, interface: Interface) -> Written:
        written = writer.finished()
        used = words_in(written)
        unused = [f"    (void){each};" for each in interface.names if each not in used]
        head = _signature(f"int {interface.name}", interface.declarations)
        lines = [*unused, *written]
        if not self.program.options.is_heap:
            return Written(interface.name, "\n".join([f"{head} {{", *lines, "}"]), f"{head};", (), interface)
        inner = self.program.names.fresh(f"{function}_in_memory")
        inner_head = _signature(
            f"static int {inner}", [f"struct {_MEMORY} *{_MEMORY}", *_without_void(interface.declarations)]
        )
        lines = [*([] if _MEMORY in used else [f"    (void){_MEMORY};"]), *lines]
        status = self.program.status("MemoryError", "out of memory")
        outer = [
            f"{head} {{",
            f"    struct {_MEMORY} {_MEMORY} = {{0, 0}};",
            f"    int status = {status};",
            f"    if (begin_memory(&{_MEMORY})) {{",
            f"        status = {inner}({', '.join([f'&{_MEMORY}', *interface.names])});",
            "    }",
            f"    end_memory(&{_MEMORY});",
            "    return status;",
            "}",
        ]
        text = "\n".join([f"{inner_head} {{", *lines, "}", "", *outer])
        return Written(interface.name, text, f"{head};", (), interface)


_ROOM = "C's callers make room for results before they call"


def _without_void(declarations: Sequence[str]) -> list[str]:
    return [declaration for declaration in declarations if declaration != "void"]


def _check_rows(writer: FunctionWriter, argument: Value, type_: Type) -> None:
    if type_.affine_map != ir.AffineMap.get_identity(type_.rank, type_.context):
        function = argument.owner.owner.operation
        raise writer.refusal(function, f"parameter #{argument.arg_number} ({type_}) is not row-major")


def _passed_type(writer: FunctionWriter, argument: Value) -> str:
    try:
        return scalar_type(argument.type)
    except RelaxError as error:
        raise writer.refusal(argument.owner.owner.operation, error.message) from None


def _argument(parameter: _Parameter, operands: Sequence[Expression | MemrefView]) -> str:
    if parameter.operand < 0:
        return parameter.name
    if isinstance(operand := operands[parameter.operand], Expression):
        return operand.text
    return operand.address().text if parameter.axis < 0 else of_size(operand.sizes[parameter.axis]).text


def _parameter_names(function: Operation, written: set[int]) -> list[str]:
    """Return parameter names: the operand names of the main operator, and out for results."""
    arguments = list(body_of(function).arguments)
    known = _operand_names(text_in(function, MAIN_OPERATOR, text_in(function, OPERATOR)))
    results = [position for position in range(len(arguments)) if position in written]
    parameter_names = []
    for position in range(len(arguments)):
        if position in written:
            parameter_names.append("out" if len(results) == 1 else f"out{results.index(position)}")
        else:
            parameter_names.append(known[position] if position < len(known) else f"in{position}")
    return parameter_names


def _operand_names(operator: str) -> list[str]:
    try:
        operands = find_op(operator).operands
    except RelaxError:
        return []
    return [operand.name for operand in operands if operand.arity != "variadic"]


def _assert(writer: FunctionWriter, op: Operation) -> None:
    condition, *numbers = op.operands
    holds = writer.get(condition)
    shown = writer.all(numbers)
    status = writer.program.status_of(op, writer.function)
    if holds.text == "true":
        return
    with writer.braces(f"if (!{holds.atom})"):
        for place, number in enumerate(shown):
            writer.line(f"{writer.program.options.name}_numbers[{place}] = {number.text};")
        writer.line(f"return {status};")


def _random_key(writer: FunctionWriter, op: Operation) -> None:
    """Write a separate statement, so that each key is requested once and in program order."""
    made = call(writer.helper("random_key"))
    writer.settle()
    writer.know(op.results[0], writer.variable(scalar_type(op.results[0].type), made, is_constant=True))


def _signature(head: str, declarations: Sequence[str]) -> str:
    flat = f"{head}({', '.join(declarations) or 'void'})"
    if len(flat) <= 110:
        return flat
    return f"{head}(\n" + ",\n".join(f"    {declaration}" for declaration in declarations) + ")"


def _comment(text: str, width: int = 114) -> str:
    """Return a C comment, wrapped in lines."""
    words = text.replace("*/", "* /").replace("/*", "/ *").split()
    lines, current = [], ""
    for word in words:
        if current and len(current) + len(word) + 1 > width:
            lines.append(current)
            current = word
        else:
            current = f"{current} {word}".strip()
    return "/* " + "\n   ".join([*lines, current]) + " */"


def _site_text(site: Attribute) -> str:
    """Return the model's nodes at a call site, with the inputs and outputs of the call."""
    nodes = [string_value(each) for each in site["nodes"]]
    operators = [string_value(each) for each in site["node_operators"]]
    named = [f"{node} ({operator})" if operator else node for node, operator in zip(nodes, operators, strict=True)]
    inputs, outputs = (", ".join(string_value(each) for each in site[key]) for key in ("inputs", "outputs"))
    origin = f"{', '.join(named)}: " if named else ""
    return f"{origin}{inputs} -> {outputs}"
