# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Printer of operations in order: each becomes a line, or an expression inside the line that uses its result.

The parsed script computes in the same order. An expression is therefore inlined only if Python's order of evaluation
equals the order of the operations. Python evaluates operands from left to right, then the operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from ...bindings.ir import Attribute, Block, Operation, Type, Value
from ...bindings.mlir import ir
from ...support.registry import entering
from ..core.attributes import AttrKind
from ..core.elements import is_resource
from .attributes import attribute_text, number_text, special_number
from .expr import Expr, Level, Writer
from .resources import Resources
from .types import has_elements, is_scalar, type_text
from .value_names import ValueNames, name_in, result_prefix
from .words import LEAVES, SILENT, case_form, quoted

#: A longer expression gets a line and a name.
_MOST_INLINE = 72
#: Python's parser accepts at most 100 indentation levels.
_MOST_DEPTH = 80
_MOST_USES = 8
#: Constants with more elements, or bytes of text, are written at the end of the module.
MOST_ELEMENTS = 32

_NAMES = re.compile(r"[A-Za-z_]\w*")

#: Function that returns the text of an operation's only result, or None. Operands come from `printer.take`.
ExpressionWriter = Callable[["Printer", Operation], "Expr | None"]
#: Function that writes lines, and returns True if it did.
StatementWriter = Callable[["Printer", Operation], bool]
EXPRESSIONS: dict[str, ExpressionWriter] = {}
STATEMENTS: dict[str, StatementWriter] = {}


#: Decorator for operations that are written as expressions, by name.
expression = entering(EXPRESSIONS)
#: Decorator for operations that are written as lines.
statement = entering(STATEMENTS)


class Unwritable(Exception):
    """Function without a script form: its regions nest too deep, or it uses values above their definition."""


@dataclass
class Inside:
    """Body of a nest. Elements at indices over its loops are its inputs, unless the inputs are listed."""

    indices: frozenset[str]
    operands: frozenset[Value]
    are_listed: bool = False

    def may_load(self, value: Value, places: Sequence[str]) -> bool:
        """Check whether a loaded element is distinguishable from an input."""
        if not set(_NAMES.findall(" ".join(places))) <= self.indices:
            return True
        self.are_listed = True
        return value not in self.operands


class Printer:
    """Printer of operations. The rules call it back for values, names, lines and regions."""

    def __init__(self, resources: Resources) -> None:
        self.writer = Writer()
        self.names = ValueNames()
        self.resources = resources
        #: Names of blocks that are branch targets.
        self.labels: dict[Block, str] = {}
        #: Result types of the module's functions, by name.
        self.given_by: dict[str, list[Type]] = {}
        #: Loop variables of linalg operations, by their blocks.
        self.index_names: dict[tuple[Block, int], str] = {}
        #: Dialects that a module's own statements mention.
        self.imported: set[str] = set()
        self.constants: dict[Attribute, Expr] = {}
        #: True if values are named after their locations: in graphs, which carry the names of a model.
        self.named_by_location = False
        #: Innermost nest with a body that is being printed.
        self.nest: Inside | None = None
        self.tensor_word = "R.Tensor"
        self._texts: dict[Value, Expr] = {}
        # Pending texts, in the order of their operations. Each has a single use in its block.
        self._waiting: list[tuple[Value, Expr, Operation]] = []
        self._is_waiting: set[Value] = set()
        self._leaves: set[Value] = set()
        self._assigned: dict[str, None] = {}
        self._types: dict[tuple[Type, str], str] = {}
        self._attributes: dict[Attribute, str] = {}
        self._remembered: dict[Attribute, object] = {}
        self._named_attributes: dict[tuple[str, str, Attribute], str] = {}
        #: Operators' attributes as Python values.
        self.values: dict[tuple[AttrKind, Attribute], str | None] = {}

    # ---- texts that do not depend on their position ----

    def type_text(self, type_: Type) -> str:
        key = type_, self.tensor_word
        if (text := self._types.get(key)) is None:
            text = self._types[key] = type_text(*key)
        return text

    def attribute_text(self, attribute: Attribute) -> str:
        if (text := self._attributes.get(attribute)) is None:
            text = self._attributes[attribute] = self._attribute_text(attribute)
        return text

    def _attribute_text(self, attribute: Attribute) -> str:
        is_dense = isinstance(attribute, ir.DenseElementsAttr)
        if is_resource(attribute) or (is_dense and not attribute.is_splat and len(attribute) > MOST_ELEMENTS):
            return f"I.resource({quoted(self.resources.name(attribute))})"
        return attribute_text(attribute, self.attribute_text)

    def remembered(self, attribute: Attribute, work: Callable[[Attribute], object]) -> Any:
        """Return the result of `work` on an attribute, computed once."""
        if attribute not in self._remembered:
            self._remembered[attribute] = work(attribute)
        return self._remembered[attribute]

    def other_attributes(self, op: Operation, shown: frozenset[str] | Sequence[str] = ()) -> list[tuple[str, str]]:
        """Return the names and texts of attributes that are neither shown elsewhere nor at their implicit value."""
        found = []
        operation, attributes = op.name, op.attributes
        for name in attributes:
            if name in shown:
                continue
            key = operation, name, held(attributes, name)
            if (text := self._named_attributes.get(key)) is None:
                text = self._named_attributes[key] = self._named_attribute(*key)
            if text:
                found.append((name, text))
        return found

    def keyword(self, name: str, op: Operation, shown: frozenset[str] | Sequence[str]) -> list[str]:
        """Return the other attributes as a keyword argument, or an empty list without any."""
        rest = self.other_attributes(op, shown)
        return [f"{name}={{{', '.join(f'{quoted(each)}: {text}' for each, text in rest)}}}"] if rest else []

    def _named_attribute(self, operation: str, name: str, attribute: Attribute) -> str:
        """Return the text of an attribute, or an empty string for an implicit value."""
        if name in SILENT and str(attribute) == SILENT[name]:
            return ""
        return _case(operation, name, attribute) or self.attribute_text(attribute)

    # ---- values ----

    def take(self, values: Sequence[Value]) -> list[Expr]:
        """Return the texts of operands, in the order of the operation's text."""
        if self._is_waiting and (waiting := [value for value in values if value in self._is_waiting]):
            self._pop(waiting)
        try:
            return [self._texts[value] for value in values]
        except KeyError:
            raise Unwritable("a value is used above its definition") from None

    def _pop(self, waiting: list[Value]) -> None:
        """Inline the pending texts if their order allows it, else write all of them as lines."""
        last = self._waiting[-len(waiting) :]
        if [entry[0] for entry in last] != waiting:
            self.flush()
            return
        del self._waiting[-len(waiting) :]
        for value, expr, _ in last:
            self._texts[value] = expr
            self._is_waiting.discard(value)

    def is_leaf(self, value: Value) -> bool:
        return value in self._leaves

    def is_waiting(self, value: Value) -> bool:
        return value in self._is_waiting

    def texts(self, values: Sequence[Value]) -> list[str]:
        return [expr.text for expr in self.take(values)]

    def flush(self) -> None:
        """Write the pending texts as lines, in order."""
        waiting, self._waiting = self._waiting, []
        self._is_waiting.clear()
        for value, expr, op in waiting:
            self.writer.line(f"{self.name(op, value)} = {expr.text}")

    def forget_waiting(self) -> None:
        """Drop the pending texts of abandoned output."""
        self._waiting, self._is_waiting = [], set()
        self.nest = None

    def bind(self, value: Value, name: str) -> str:
        """Bind the name, or another text, to the value for all of its uses."""
        self._texts[value] = Expr(name)
        return name

    def name(self, op: Operation, value: Value) -> str:
        """Return a new name for a result. In graphs, this is the model's name if the location has one."""
        wanted = name_in(op.location) if self.named_by_location and len(op.results) == 1 else ""
        if wanted:
            return self.bind(value, self.names.exact(wanted))
        number = value.result_number if isinstance(value, ir.OpResult) else 0
        return self.bind(value, self.names.numbered(result_prefix(op, number, value.type)))

    def text_of(self, value: Value) -> str:
        """Return the name of a value, or an empty string."""
        found = self._texts.get(value)
        return found.text if found is not None else ""

    # ---- operations ----

    def operation(self, op: Operation) -> None:
        name = op.name
        if name in LEAVES and len(op.results) == 1 and self._leaf(op):
            return
        write = EXPRESSIONS.get(name)
        expr = write(self, op) if write is not None else None
        if expr is not None:
            self.define(op, expr)
            return
        if (statement := STATEMENTS.get(name)) is not None and statement(self, op):
            return
        STATEMENTS[""](self, op)

    def _leaf(self, op: Operation) -> bool:
        expr = EXPRESSIONS[op.name](self, op)
        if expr is None or len(expr.text) > _MOST_INLINE or ".resource(" in expr.text:
            return False
        self._texts[op.results[0]] = expr
        self._leaves.add(op.results[0])
        return True

    def define(self, op: Operation, expr: Expr) -> None:
        """Write the text of a result on a line now, or keep it pending for its only use."""
        result = op.results[0]
        if len(expr.text) <= _MOST_INLINE and not has_elements(result.type) and self._is_used_once(op, result):
            self._waiting.append((result, expr, op))
            self._is_waiting.add(result)
            return
        self.flush()
        self.writer.line(f"{self.name(op, result)} = {expr.text}")

    @staticmethod
    def _is_used_once(op: Operation, result: Value) -> bool:
        """Check for a single use by an operation of the same block.

        Operations in regions run later, or more than once.
        """
        owner = None
        for use in result.uses:
            if owner is not None:
                return False
            owner = use.owner
        return owner is not None and owner.operation.block == op.block

    def emit(self, text: str) -> bool:
        """Write a line. Return True, which rules return after writing."""
        self.flush()
        self.writer.line(text)
        return True

    # ---- names that are reassigned ----

    def overwritten(self, op: Operation, value: Value, others: Sequence[Value] = (), text: Sequence[Value] = ()) -> str:
        """Return the name for an operation's new version of a value: the value's own name, or a new name from here on.

        `others` are the other operands, which must be different values. Pending texts in `text` stay pending.
        """
        name = self.text_of(value)
        if name.isidentifier() and value not in others and self._ends_at(op, value):
            return name
        if [entry[0] for entry in self._waiting] != [each for each in text if each in self._is_waiting]:
            self.flush()
        shown = self.texts([value])[0]
        made = self.names.numbered(result_prefix(op, 0, value.type))
        self.writer.line(f"{made} = {shown}")
        return made

    def assign(self, name: str, value: Value) -> None:
        """Rebind the name to the value."""
        self.bind(value, name)
        self._assigned.setdefault(name)

    @contextmanager
    def assigned(self) -> Iterator[dict[str, None]]:
        """Yield the names that are reassigned inside, in the order of their first assignment."""
        outer, self._assigned = self._assigned, {}
        inner = self._assigned
        yield inner
        self._assigned = outer
        for name in inner:
            outer.setdefault(name)

    def yielded(self, end: Operation, names: list[str], *, always: bool = False) -> None:
        """Write the end of a region: assign its results to the names.

        Unchanged names are only assigned with `always`.
        """
        texts = self.texts(end.operands)
        changed = [(name, text) for name, text in zip(names, texts, strict=True) if always or name != text]
        if not changed:
            return
        self.emit(f"{', '.join(name for name, _ in changed)} = {', '.join(text for _, text in changed)}")
        for name, _ in changed:
            self._assigned.setdefault(name)

    def _ends_at(self, op: Operation, value: Value) -> bool:
        """Check whether the operation is the last user of a value of this block."""
        owner = value.owner
        block = op.block
        return (owner if isinstance(owner, ir.Block) else owner.operation.block) == block and is_last_user(op, value)

    # ---- regions ----

    @contextmanager
    def suite(self, *, scoped: bool = True) -> Iterator[None]:
        """Write an indented block, with names of its own if `scoped`, and `pass` if it is empty."""
        if self.writer.depth >= _MOST_DEPTH:
            raise Unwritable("regions nest too deep")
        self.flush()
        waiting, self._waiting, self._is_waiting = self._waiting, [], set()
        before = len(self.writer.lines)
        with self.writer.indented(), self.names.scope() if scoped else nullcontext():
            yield
            self.flush()
            if len(self.writer.lines) == before:
                self.writer.line("pass")
        self._waiting = waiting

    def block(self, block: Block, end: Callable[[Operation], object] | None = None) -> None:
        """Write the operations of a block. `end` writes the last one."""
        previous = None
        for op in block.operations:
            if previous is not None:
                self.operation(previous)
            previous = op.operation
        if previous is not None:
            (end or self.operation)(previous)


def attribute_of(op: Operation, name: str) -> Attribute:
    """Return an attribute. Raise Unwritable if the bindings have no class for it: elements of complex numbers."""
    return held(op.attributes, name)


def held(attributes: Any, name: str) -> Attribute:
    """Return one of several attributes. Raise Unwritable if the bindings have no class for it."""
    try:
        return attributes[name]
    except TypeError as error:
        raise Unwritable(str(error)) from None


def _case(operation: str, name: str, attribute: Attribute) -> str:
    """Return the name of an attribute's case, quoted, or an empty string."""
    start, _, end = case_form(operation, name).partition("{}")
    text = str(attribute) if start else ""
    return quoted(text[len(start) : -len(end)]) if start and text.startswith(start) and text.endswith(end) else ""


def number(attribute: Attribute, type_word: str) -> Expr:
    """Return the text of a number: with its type, and without."""
    if text := number_text(attribute):
        return Expr(f"{type_word}({text})", Level.ATOM, text)
    if (special := special_number(attribute)) and type_word:
        return Expr(f"{type_word}({quoted(special)})")
    return Expr(f"I.const({quoted(str(attribute))})")


def is_last_user(op: Operation, value: Value) -> bool:
    """Check whether all other users of a value precede the operation in its block, directly or in regions."""
    around = op.block.owner.operation
    for count, use in enumerate(value.uses):
        if count >= _MOST_USES:
            return False
        if (user := use.owner.operation) == op:
            continue
        while user.block != op.block:
            if (user := user.parent.operation) == around:
                # In another block of the same region.
                return False
        if user == op or not user.is_before_in_block(op):
            return False
    return sum(operand == value for operand in op.operands) == 1


def is_number(type_: Type) -> bool:
    """Check whether Python's operators apply to values of the type: scalars and vectors."""
    return is_scalar(type_) or isinstance(type_, ir.VectorType)
