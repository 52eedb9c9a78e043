# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules as classes, functions as decorated functions, and other contents of a module as MLIR text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from string import ascii_uppercase

from ...bindings.context import UPSTREAM_DIALECTS
from ...bindings.ir import Attribute, Block, Operation, Type
from ...bindings.mlir import ir, print_asm
from ...bindings.navigation import enclosing, operations_of, symbol_name
from ..core.ir_attributes import ARGUMENT_NAME, PRIM_FUNC
from ..tir.prim_func import is_prim_func
from .calls import write_blocks
from .expr import as_name, is_name
from .printer import Printer, Unwritable, attribute_of, held, statement
from .value_names import ValueNames, name_in
from .words import quoted

_HEADER = "from relax_mlir.script import ir as I, relax as R, tir as T"
_FUNCTION_SHOWN = frozenset({"sym_name", "function_type", "arg_attrs", "res_attrs"})
_CLASS = "Module"
# MLIR's text for an operand from outside of the printed operation.
_NOT_THERE = "<<UNKNOWN SSA VALUE>>"


# ---- modules ----


def header(printer: Printer) -> str:
    """Return the names that a class's statements need when Python executes them."""
    known = [name for name in sorted(printer.imported) if name in UPSTREAM_DIALECTS]
    return ", ".join([_HEADER, *known])


@statement("builtin.module")
def _module(printer: Printer, op: Operation) -> bool:
    outermost = not op.attached or op.parent is None
    name = symbol_name(op) if "sym_name" in op.attributes else ""
    options = ["ssa=True"] if outermost else []
    if outermost and name or not outermost and not is_name(name):
        options.append(f"name={quoted(name) if name else None}")
    options += printer.keyword("attrs", op, ("sym_name",))
    printer.writer.gap()
    printer.writer.line(f"@I.ir_module({', '.join(options)})" if options else "@I.ir_module")
    printer.writer.line(f"class {name if is_name(name) and not outermost else _CLASS}:")
    with printer.suite(), _functions_of(printer, op):
        _members(printer, op)
        if outermost:
            for line in printer.resources.lines(printer.writer.lines):
                printer.writer.line(line)
    printer.writer.gap()
    return True


def _members(printer: Printer, module: Operation) -> None:
    """Print the members of a module.

    Members without a script form become MLIR text, or the whole module does if they need its symbols.
    """
    operations = operations_of(module.regions[0].blocks[0])
    start = _mark(printer)
    for op in operations:
        before = _mark(printer)
        try:
            printer.operation(op)
            printer.flush()
            if op.name not in ("func.func", "builtin.module"):
                printer.imported.add(op.name.partition(".")[0])
        except Unwritable:
            _back_to(printer, before)
            if not (text := _fragment(module, op)):
                _back_to(printer, start)
                _write_fragment(printer, print_asm(module, assume_verified=True))
                return
            _write_fragment(printer, text)


def _mark(printer: Printer) -> tuple[int, int]:
    return len(printer.writer.lines), printer.writer.depth


def _back_to(printer: Printer, mark: tuple[int, int]) -> None:
    del printer.writer.lines[mark[0] :]
    printer.writer.depth = mark[1]
    printer.forget_waiting()


def _fragment(module: Operation, op: Operation) -> str:
    """Return an operation as the text of a separate module, or an empty string if that would be invalid."""
    alone = ir.Module.create()
    for name in module.attributes:
        alone.operation.attributes[name] = attribute_of(module, name)
    alone.body.append(op.clone())
    text = print_asm(alone.operation, assume_verified=True)
    return text if _NOT_THERE not in text and _is_valid(alone.operation) else ""


def _write_fragment(printer: Printer, text: str) -> None:
    text = text.strip()
    is_plain = all(line.isprintable() for line in text.split("\n")) and '"""' not in text
    printer.writer.line(f'I.mlir(r"""{text}""")' if is_plain else f"I.mlir({quoted(text)})")
    printer.writer.gap()


def _is_valid(op: Operation) -> bool:
    try:
        return bool(op.verify())
    except ir.MLIRError:
        return False


@contextmanager
def _own_names(printer: Printer) -> Iterator[None]:
    outer, printer.names = printer.names, ValueNames()
    try:
        yield
    finally:
        printer.names = outer


@contextmanager
def _functions_of(printer: Printer, module: Operation) -> Iterator[None]:
    """Provide the result types of calls by name: the functions of the innermost module."""
    outer, printer.given_by = printer.given_by, {}
    for op in operations_of(module.regions[0].blocks[0]):
        if op.name == "func.func" and is_name(symbol_name(op)):
            printer.given_by[symbol_name(op)] = list(op.attributes["function_type"].value.results)
    try:
        yield
    finally:
        printer.given_by = outer


def write_alone(printer: Printer, op: Operation) -> None:
    """Print a detached operation. Its operands get names, and calls know the functions of its module."""
    for value in op.operands:
        if not printer.text_of(value):
            owner = value.owner
            wanted = name_in(value.location if isinstance(owner, ir.Block) else owner.operation.location)
            printer.bind(value, printer.names.exact(wanted) if wanted else printer.names.numbered("arg"))
    around = enclosing(op, "builtin.module")
    with _functions_of(printer, around) if around is not None else nullcontext():
        printer.operation(op)
        printer.flush()
    if not printer.writer.lines:  # an expression that is printed at its use
        (value,) = op.results
        printer.writer.line(f"{printer.names.numbered('v')} = {printer.text_of(value)}")


# ---- functions ----


@statement("func.func")
def _function(printer: Printer, op: Operation) -> bool:
    if op.parent is not None and op.parent.operation.name != "builtin.module":
        return False
    type_ = op.attributes["function_type"].value
    blocks = list(op.regions[0].blocks)
    is_prim = is_prim_func(op)
    printer.named_by_location, printer.tensor_word = not is_prim, "T.Tensor" if is_prim else "R.Tensor"
    with _own_names(printer):
        given_names = _given_names(op)
        names = _argument_names(printer, type_.inputs, given_names, blocks, is_prim)
        is_named = not is_prim and given_names == names
        if printer.writer.lines and not printer.writer.lines[-1].endswith(":"):
            printer.writer.gap()
        printer.writer.line(_decorator(printer, op, is_prim, is_named or not names))
        _signature(printer, op, type_, names, is_named, is_empty=not blocks)
        if blocks:
            for argument, name in zip(blocks[0].arguments, names, strict=True):
                printer.bind(argument, name)
            with printer.suite():
                for block in blocks[1:]:
                    printer.labels[block] = printer.names.numbered("bb")
                printer.block(blocks[0])
                write_blocks(printer, blocks[1:], named=())
    printer.writer.gap()
    return True


def _decorator(printer: Printer, op: Operation, is_prim: bool, is_named: bool) -> str:
    options, shown = [], list(_FUNCTION_SHOWN)
    name = symbol_name(op)
    if not is_name(name):
        options.append(f"name={quoted(name)}")
    if is_prim:
        shown.append(PRIM_FUNC)
    elif not is_named:
        options.append("named=False")
    if "sym_visibility" in op.attributes and str(op.attributes["sym_visibility"]) == '"private"':
        shown.append("sym_visibility")
        options.append("private=True")
    options += printer.keyword("attrs", op, shown)
    word = "T.prim_func" if is_prim else "R.function"
    return f"@{word}({', '.join(options)})" if options else f"@{word}"


def _signature(
    printer: Printer, op: Operation, type_: Type, names: Sequence[str], is_named: bool, *, is_empty: bool
) -> None:
    hidden = (ARGUMENT_NAME,) if is_named else ()
    inputs = [
        f"{name}: {_annotate(printer, op, 'arg_attrs', index, input_, hidden)}"
        for index, (name, input_) in enumerate(zip(names, type_.inputs, strict=True))
    ]
    results = [_annotate(printer, op, "res_attrs", index, result, ()) for index, result in enumerate(type_.results)]
    given = results[0] if len(results) == 1 else f"R.Tuple({', '.join(results)})"
    name = symbol_name(op)
    head = f"def {name if is_name(name) else as_name(name) or 'function'}("
    printer.writer.call(head, inputs, f"){f' -> {given}' if results else ''}:{' ...' if is_empty else ''}", each=True)


def _annotate(printer: Printer, op: Operation, name: str, index: int, type_: Type, hidden: Sequence[str]) -> str:
    """Return a type, with the attributes of an argument or result."""
    text = printer.type_text(type_)
    found = [] if name not in op.attributes else op.attributes[name][index]
    if not (rest := [each.name for each in found if each.name not in hidden]):
        return text
    items = [f"{quoted(key)}: {printer.attribute_text(held(found, key))}" for key in rest]
    return f"I.annotated({text}, {{{', '.join(items)}}})"


def _argument_names(
    printer: Printer, inputs: Sequence[Type], given: Sequence[str], blocks: Sequence[Block], is_prim: bool
) -> list[str]:
    located = [name_in(value.location) for value in blocks[0].arguments] if blocks else [""] * len(inputs)
    if is_prim and len(set(located)) < len(located):  # all arguments are named after the function's node
        located = [""] * len(inputs)
    letters = iter(ascii_uppercase if is_prim else "")
    names = []
    for index, type_ in enumerate(inputs):
        letter = next(letters, "") if isinstance(type_, ir.ShapedType) else ""
        wanted = as_name(given[index]) if given else ""
        names.append(printer.names.exact(wanted or located[index] or letter or f"arg{index}"))
    return names


def _given_names(op: Operation) -> list[str]:
    """Return the names in the arguments' attributes, with empty strings for missing names.

    Return an empty list without such attributes.
    """
    if "arg_attrs" not in op.attributes:
        return []
    return [_given_name(attributes) for attributes in op.attributes["arg_attrs"]]


def _given_name(attributes: Attribute) -> str:
    if ARGUMENT_NAME not in attributes or not isinstance(attributes[ARGUMENT_NAME], ir.StringAttr):
        return ""
    try:
        return str(attributes[ARGUMENT_NAME].value)
    except (RuntimeError, UnicodeDecodeError):
        return ""


@statement("func.return")
def _return(printer: Printer, op: Operation) -> bool:
    if len(op.attributes):
        return False
    items = printer.texts(op.operands)
    return printer.emit(f"return {', '.join(items)}".rstrip())


@statement("func.call")
def _call(printer: Printer, op: Operation) -> bool:
    """Print a call `cls.f(x)`. The callee's signature states the result types."""
    callee = str(op.attributes["callee"]).removeprefix("@")
    if printer.given_by.get(callee) != [result.type for result in op.results]:
        return False
    items = printer.texts(op.operands)
    items += printer.keyword("attrs", op, ("callee",))
    printer.flush()
    names = [printer.name(op, result) for result in op.results]
    printer.writer.call(f"{', '.join(names)}{' = ' if names else ''}cls.{callee}(", items, ")")
    return True
