# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules and functions, also in a few words; calls, and branches between blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from string import ascii_uppercase

from ...bindings.ir import Attribute, Block, Operation, OperationBase, Type, Value
from ...bindings.mlir import ir, readable
from ..relax.function_attributes import ARGUMENT_NAME
from ..tir.prim_func import PRIM_FUNC, is_prim_func
from .attributes import attribute_items, attribute_text, short_item
from .expr import as_name, decoded, one_line, quote
from .names import Names, location_name
from .printer import Printer
from .rules import statement
from .types import symbols_of, type_text

#: Of an outline.
_MOST_LINES = 20
_MODULE_SHOWN = frozenset({"sym_name"})
_FUNCTION_SHOWN = frozenset({"sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs", PRIM_FUNC})


def _symbol_name(op: Operation) -> str:
    return one_line(decoded(op.attributes["sym_name"])) if "sym_name" in op.attributes else ""


def _decorator(name: str, items: Sequence[str]) -> str:
    return f"@{name}({', '.join(items)})" if items else f"@{name}"


@statement("builtin.module", shown="sym_name")
def _module(printer: Printer, op: Operation) -> bool:
    """The outermost module is a decorator's line before its functions, modules inside are classes."""
    outermost = not op.attached or op.parent is None
    name = _symbol_name(op)
    items = [short_item(*item) for item in attribute_items(op, _MODULE_SHOWN)]
    if outermost and name:
        items.insert(0, quote(name))
    printer.writer.line(_decorator("module", items), location_name(op.location))
    with _own_names(printer):
        if outermost:
            printer.block(op.regions[0].blocks[0])
        else:
            printer.writer.line(f"class {name or '_'}:")
            printer.suite(op.regions[0])
    printer.writer.gap()
    return True


@contextmanager
def _own_names(printer: Printer) -> Iterator[None]:
    outer, printer.names = printer.names, Names()
    yield
    printer.names = outer


@statement("func.func", "gpu.func", "ml_program.func", "transform.named_sequence", shown=" ".join(_FUNCTION_SHOWN))
def _function(printer: Printer, op: Operation) -> bool:
    function_type = op.attributes["function_type"].value
    is_prim = is_prim_func(op)
    printer.writer.line(_function_decorator(op, is_prim), location_name(op.location))
    blocks = list(op.regions[0].blocks)
    with _own_names(printer):
        for symbol in sorted(symbol for type_ in function_type.inputs for symbol in symbols_of(type_)):
            printer.names.reserve(symbol)
        tail = f"){_results_text(op, list(function_type.results))}:"
        head = f"def {_symbol_name(op)}("
        if not blocks:
            names = [_given_name(op, index) or f"arg{index}" for index in range(len(function_type.inputs))]
            printer.writer.call(head, _parameters(op, names, function_type.inputs), f"{tail} ...", each=True)
        else:
            _name_arguments(printer, op, blocks[0], is_prim)
            arguments = list(blocks[0].arguments)
            if op.name == "func.func" and not is_prim:
                printer.fixed.update(arguments)
            parameters = _parameters(op, printer.texts(arguments), [argument.type for argument in arguments])
            printer.writer.call(head, parameters, tail, each=True)
            printer.suite(op.regions[0], lambda end: _last(printer, end))
    printer.writer.gap()
    return True


def _parameters(op: Operation, names: Sequence[str], types: Sequence[Type]) -> list[str]:
    return [
        f"{name}: {type_text(type_)}{_other_attributes(op, 'arg_attrs', index)}"
        for index, (name, type_) in enumerate(zip(names, types, strict=True))
    ]


def _function_decorator(op: Operation, is_prim: bool) -> str:
    kind = "tir.prim_func" if is_prim else "relax.function" if op.name == "func.func" else op.name
    prefix = f"{kind.partition('.')[0]}."
    items = [short_item(name.removeprefix(prefix), text) for name, text in attribute_items(op, _FUNCTION_SHOWN)]
    if "sym_visibility" in op.attributes:
        items.insert(0, decoded(op.attributes["sym_visibility"]))
    return _decorator(kind, items)


def _name_arguments(printer: Printer, op: Operation, block: Block, is_prim: bool) -> None:
    letters = iter(ascii_uppercase if is_prim else "")
    for index, argument in enumerate(block.arguments):
        given = _given_name(op, index) or as_name(location_name(argument.location))
        letter = next(letters, "") if isinstance(argument.type, ir.ShapedType) else ""
        printer.bind(argument, printer.names.exact(given or letter or f"arg{index}"))


def _given_name(op: Operation, index: int) -> str:
    """The name that an argument's attribute gives it; empty where there is none."""
    attributes = _dictionary(op, "arg_attrs", index)
    if attributes is None or ARGUMENT_NAME not in attributes:
        return ""
    name = attributes[ARGUMENT_NAME]
    return as_name(decoded(name)) if isinstance(name, ir.StringAttr) else ""


def _dictionary(op: Operation, name: str, index: int) -> Attribute | None:
    if name not in op.attributes:
        return None
    dictionaries = op.attributes[name]
    return dictionaries[index] if index < len(dictionaries) else None


def _other_attributes(op: Operation, name: str, index: int) -> str:
    """An argument's or result's attributes besides its name: ` {...}` or nothing."""
    attributes = _dictionary(op, name, index)
    only_name = attributes is not None and len(attributes) == 1 and ARGUMENT_NAME in attributes
    return "" if not attributes or only_name else f" {attribute_text(attributes)}"


def _results_text(op: Operation, types: Sequence[Type]) -> str:
    texts = [f"{type_text(type_)}{_other_attributes(op, 'res_attrs', index)}" for index, type_ in enumerate(types)]
    if not texts:
        return ""
    return f" -> {texts[0]}" if len(texts) == 1 else f" -> ({', '.join(texts)})"


def _last(printer: Printer, op: Operation) -> None:
    """A function's end says nothing where nothing is returned."""
    if not op.name.endswith((".return", ".yield")) or len(op.operands) or printer.notes(op):
        printer.operation(op)


@statement("func.return")
def _return(printer: Printer, op: Operation) -> bool:
    items = printer.texts(op.operands)
    notes = printer.notes(op)
    line = f"return {', '.join(items)}".rstrip() + notes
    if printer.writer.fits(line):
        printer.emit(line)
    else:
        printer.emit_call("return (", items, f"){notes}", "")
    return True


@statement("func.call", shown="callee")
def _call(printer: Printer, op: Operation) -> bool:
    items = printer.texts(op.operands)
    printer.flush_reads()
    head = f"{printer.targets(op)}{one_line(str(op.attributes['callee']))}("
    printer.emit_call(head, items, f"){printer.notes(op)}", printer.comment(op))
    return True


# ---- branches ----


def _jump(printer: Printer, block: Block, values: Sequence[Value]) -> str:
    arguments = f"({', '.join(printer.texts(values))})" if values else ""
    return f"goto {printer.labels.get(block, '...')}{arguments}"


@statement("cf.br")
def _branch(printer: Printer, op: Operation) -> bool:
    printer.emit(f"{_jump(printer, op.successors[0], list(op.operands))}{printer.notes(op)}")
    return True


@statement("cf.cond_br")
def _conditional_branch(printer: Printer, op: Operation) -> bool:
    condition, *values = op.operands
    split = list(op.attributes["operandSegmentSizes"])[1]
    taken = _jump(printer, op.successors[0], values[:split])
    other = _jump(printer, op.successors[1], values[split:])
    printer.emit(f"if {printer.text(condition)}: {taken} else: {other}{printer.notes(op)}")
    return True


# ---- in a few words: functions with what they take and give ----


def outline(module: OperationBase) -> str:
    """`module of 2 functions`, and what each takes and gives; what is no function is counted."""
    operations = [op.operation for op in module.regions[0].blocks[0].operations]
    functions = [operation for operation in operations if operation.name == "func.func"]
    others = len(operations) - len(functions)
    head = f"module of {len(functions)} function{'' if len(functions) == 1 else 's'}"
    head += f" and {others} other operation{'' if others == 1 else 's'}" if others else ""
    lines = [f"  {signature(function)}" for function in functions[:_MOST_LINES]]
    if len(functions) > _MOST_LINES:
        lines.append(f"  and {len(functions) - _MOST_LINES} more")
    return "\n".join([head, *lines])


def signature(function: OperationBase) -> str:
    """`main(x: Tensor((n, 8), "float32")) -> Tensor((n, 8), "float32")`, with `private` before it."""
    attributes = function.attributes
    type_ = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value)
    name = _readable(attributes["sym_name"])
    named = zip(_names(function, len(type_.inputs)), map(type_text, type_.inputs), strict=True)
    inputs = ", ".join(f"{argument}: {text}" for argument, text in named)
    results = list(map(type_text, type_.results))
    given = results[0] if len(results) == 1 else f"({', '.join(results)})"
    is_private = "sym_visibility" in attributes and str(attributes["sym_visibility"]) == '"private"'
    return f"{'private ' if is_private else ''}{name}({inputs}) -> {given if results else 'None'}"


def _readable(attribute: Attribute) -> str:
    return readable(lambda: ir.StringAttr(attribute).value)


def _names(function: OperationBase, count: int) -> list[str]:
    names = [f"arg{index}" for index in range(count)]
    if "arg_attrs" in function.attributes:
        for index, given in enumerate(function.attributes["arg_attrs"]):
            if ARGUMENT_NAME in given:
                names[index] = _readable(given[ARGUMENT_NAME])
    return names
