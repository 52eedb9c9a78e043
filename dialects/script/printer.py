# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks operations in order: each is a line of its own, or text inside of the line that uses its result.

What is read back computes in the same order: text stands inside of another only where Python's order of evaluation,
operands from left to right and then the operation, is the order of the operations.
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

#: A longer expression gets a line and a name of its own.
_MOST_INLINE = 72
#: Python's parser takes no more than 100 indentations.
_MOST_DEPTH = 80
_MOST_USES = 8
#: Constants of more elements, or bytes of text, stand at the end of the module.
MOST_ELEMENTS = 32

_NAMES = re.compile(r"[A-Za-z_]\w*")

#: Gives the text of an operation's one result; None where it has no form for it. Asks `printer.take` for its operands.
ExpressionWriter = Callable[["Printer", Operation], "Expr | None"]
#: Writes lines and returns whether it did.
StatementWriter = Callable[["Printer", Operation], bool]
EXPRESSIONS: dict[str, ExpressionWriter] = {}
STATEMENTS: dict[str, StatementWriter] = {}


#: Declares how operations of some names are written: as an expression that may stand inside of others.
expression = entering(EXPRESSIONS)
#: Declares how they are written as lines of their own.
statement = entering(STATEMENTS)


class Unwritable(Exception):
    """A function that has no form as a script: its regions nest too deep, or it uses values above their definition."""


@dataclass
class Inside:
    """The body of a nest: elements at places that its loops state are what it reads, unless its inputs are listed."""

    indices: frozenset[str]
    operands: frozenset[Value]
    are_listed: bool = False

    def may_load(self, value: Value, places: Sequence[str]) -> bool:
        """Whether an element that is loaded here is distinguishable from an input."""
        if not set(_NAMES.findall(" ".join(places))) <= self.indices:
            return True
        self.are_listed = True
        return value not in self.operands


class Printer:
    """Writes operations; the rules call it back for values, names, lines and regions."""

    def __init__(self, resources: Resources) -> None:
        self.writer = Writer()
        self.names = ValueNames()
        self.resources = resources
        #: What blocks that are jumped to are called.
        self.labels: dict[Block, str] = {}
        #: What the module's functions give, by their names.
        self.given_by: dict[str, list[Type]] = {}
        #: The loops' variables of linalg operations, by their blocks.
        self.index_names: dict[tuple[Block, int], str] = {}
        #: Dialects that a module's own statements name.
        self.imported: set[str] = set()
        self.constants: dict[Attribute, Expr] = {}
        #: Whether values are called after the names in their locations: in graphs, whose names are a model's.
        self.named_by_location = False
        #: The innermost linalg operation that is a nest and whose body is being written.
        self.nest: Inside | None = None
        self.tensor_word = "R.Tensor"
        self._texts: dict[Value, Expr] = {}
        # Texts that wait for the one operation of their block that uses them, in the order of their operations.
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

    # ---- texts that are the same wherever they stand ----

    def type_text(self, type_: Type) -> str:
        key = type_, self.tensor_word
        text = self._types.get(key)
        if text is None:
            text = self._types[key] = type_text(*key)
        return text

    def attribute_text(self, attribute: Attribute) -> str:
        text = self._attributes.get(attribute)
        if text is None:
            text = self._attributes[attribute] = self._attribute_text(attribute)
        return text

    def _attribute_text(self, attribute: Attribute) -> str:
        is_dense = isinstance(attribute, ir.DenseElementsAttr)
        if is_resource(attribute) or (is_dense and not attribute.is_splat and len(attribute) > MOST_ELEMENTS):
            return f"I.resource({quoted(self.resources.name(attribute))})"
        return attribute_text(attribute, self.attribute_text)

    def remembered(self, attribute: Attribute, work: Callable[[Attribute], object]) -> Any:
        """What is made of an attribute, once."""
        if attribute not in self._remembered:
            self._remembered[attribute] = work(attribute)
        return self._remembered[attribute]

    def other_attributes(self, op: Operation, shown: frozenset[str] | Sequence[str] = ()) -> list[tuple[str, str]]:
        """Names and texts of the attributes that are not shown elsewhere, and are not what silence means."""
        found = []
        operation, attributes = op.name, op.attributes
        for name in attributes:
            if name in shown:
                continue
            key = operation, name, held(attributes, name)
            text = self._named_attributes.get(key)
            if text is None:
                text = self._named_attributes[key] = self._named_attribute(*key)
            if text:
                found.append((name, text))
        return found

    def keyword(self, name: str, op: Operation, shown: frozenset[str] | Sequence[str]) -> list[str]:
        """The other attributes as a keyword argument; nothing where there are none."""
        rest = self.other_attributes(op, shown)
        return [f"{name}={{{', '.join(f'{quoted(each)}: {text}' for each, text in rest)}}}"] if rest else []

    def _named_attribute(self, operation: str, name: str, attribute: Attribute) -> str:
        """Empty for what is meant where nothing is said."""
        if name in SILENT and str(attribute) == SILENT[name]:
            return ""
        return _case(operation, name, attribute) or self.attribute_text(attribute)

    # ---- values ----

    def take(self, values: Sequence[Value]) -> list[Expr]:
        """The texts of operands, in the order in which the operation's text has them."""
        if self._is_waiting:
            waiting = [value for value in values if value in self._is_waiting]
            if waiting:
                self._pop(waiting)
        try:
            return [self._texts[value] for value in values]
        except KeyError:
            raise Unwritable("a value is used above its definition") from None

    def _pop(self, waiting: list[Value]) -> None:
        """What waits goes into the text that is being made, if its order allows that; else all of it becomes lines."""
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
        """What waits becomes lines, in its order."""
        waiting, self._waiting = self._waiting, []
        self._is_waiting.clear()
        for value, expr, op in waiting:
            self.writer.line(f"{self.name(op, value)} = {expr.text}")

    def forget_waiting(self) -> None:
        """What is being written is given up."""
        self._waiting, self._is_waiting = [], set()
        self.nest = None

    def bind(self, value: Value, name: str) -> str:
        """The name, or another text, stands for the value wherever it is used."""
        self._texts[value] = Expr(name)
        return name

    def name(self, op: Operation, value: Value) -> str:
        """A new name for a result; in graphs the model's own, where its location has one."""
        wanted = name_in(op.location) if self.named_by_location and len(op.results) == 1 else ""
        if wanted:
            return self.bind(value, self.names.exact(wanted))
        number = value.result_number if isinstance(value, ir.OpResult) else 0
        return self.bind(value, self.names.numbered(result_prefix(op, number, value.type)))

    def text_of(self, value: Value) -> str:
        """The name that a value has; empty where it has none."""
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
        statement = STATEMENTS.get(name)
        if statement is not None and statement(self, op):
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
        """Decides where the text of a result goes: on a line now, or to where the result is used."""
        result = op.results[0]
        if len(expr.text) <= _MOST_INLINE and not has_elements(result.type) and self._is_used_once(op, result):
            self._waiting.append((result, expr, op))
            self._is_waiting.add(result)
            return
        self.flush()
        self.writer.line(f"{self.name(op, result)} = {expr.text}")

    @staticmethod
    def _is_used_once(op: Operation, result: Value) -> bool:
        """By an operation of the same block: what is in a region runs later, or more than once."""
        found = None
        for use in result.uses:
            if found is not None:
                return False
            found = use.owner
        return found is not None and found.operation.block == op.block

    def emit(self, text: str) -> bool:
        """A line; true, as rules say that they have written."""
        self.flush()
        self.writer.line(text)
        return True

    # ---- names that are assigned again ----

    def overwritten(self, op: Operation, value: Value, others: Sequence[Value] = (), text: Sequence[Value] = ()) -> str:
        """The name that an operation makes a new value of: the value's own, or one that stands for it from here on.

        `others` are its other operands, which must not be the same value; of `text`, what waits stays to be taken.
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
        """From here on the name is that value's."""
        self.bind(value, name)
        self._assigned.setdefault(name)

    @contextmanager
    def assigned(self) -> Iterator[dict[str, None]]:
        """The names that are assigned again inside, in the order of their first time."""
        outer, self._assigned = self._assigned, {}
        inner = self._assigned
        yield inner
        self._assigned = outer
        for name in inner:
            outer.setdefault(name)

    def yielded(self, end: Operation, names: list[str], *, always: bool = False) -> None:
        """A region's end: names become what it gives; those that are it already only where `always`."""
        texts = self.texts(end.operands)
        changed = [(name, text) for name, text in zip(names, texts, strict=True) if always or name != text]
        if not changed:
            return
        self.emit(f"{', '.join(name for name, _ in changed)} = {', '.join(text for _, text in changed)}")
        for name, _ in changed:
            self._assigned.setdefault(name)

    def _ends_at(self, op: Operation, value: Value) -> bool:
        """Liveness: whether the operation is the last user of a value of this block."""
        owner = value.owner
        block = op.block
        return (owner if isinstance(owner, ir.Block) else owner.operation.block) == block and is_last_user(op, value)

    # ---- regions ----

    @contextmanager
    def suite(self, *, scoped: bool = True) -> Iterator[None]:
        """Indented lines, with names of their own where they are `scoped`; `pass` where nothing is written."""
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
        """The operations of a block; `end` writes the last one."""
        previous = None
        for op in block.operations:
            if previous is not None:
                self.operation(previous)
            previous = op.operation
        if previous is not None:
            (end or self.operation)(previous)


def attribute_of(op: Operation, name: str) -> Attribute:
    """Raises Unwritable for what the bindings have no class for: elements of complex numbers."""
    return held(op.attributes, name)


def held(attributes: Any, name: str) -> Attribute:
    """One of several attributes. Raises Unwritable."""
    try:
        return attributes[name]
    except TypeError as error:
        raise Unwritable(str(error)) from None


def _case(operation: str, name: str, attribute: Attribute) -> str:
    """The text of one of several cases."""
    start, _, end = case_form(operation, name).partition("{}")
    text = str(attribute) if start else ""
    return quoted(text[len(start) : -len(end)]) if start and text.startswith(start) and text.endswith(end) else ""


def number(attribute: Attribute, type_word: str) -> Expr:
    """A constant's text: of a number with its type, and without."""
    text = number_text(attribute)
    if text:
        return Expr(f"{type_word}({text})", Level.ATOM, text)
    special = special_number(attribute)
    if special and type_word:
        return Expr(f"{type_word}({quoted(special)})")
    return Expr(f"I.const({quoted(str(attribute))})")


def is_last_user(op: Operation, value: Value) -> bool:
    """Whether all other users of a value come before the operation in its block, or within what does."""
    around = op.block.owner.operation
    for count, use in enumerate(value.uses):
        if count >= _MOST_USES:
            return False
        user = use.owner.operation
        if user == op:
            continue
        while user.block != op.block:
            user = user.parent.operation
            if user == around:
                # In another block of the same region.
                return False
        if user == op or not user.is_before_in_block(op):
            return False
    return sum(operand == value for operand in op.operands) == 1


def is_number(type_: Type) -> bool:
    """Whether values of the type are computed with by signs: scalars, vectors of them."""
    return is_scalar(type_) or isinstance(type_, ir.VectorType)
