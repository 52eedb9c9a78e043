# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a structured operation's loops are to run: a value, and the text of the attribute `tir.plan`.

    order (0 1) 3 2; carried 1; vector 3 x 16; tile 3: 4, 0: 6; blocks 2: 512; panel 1 along 2: 512; rule matmul
    epilogue of 0
    start

A loop has the operation's number for it. Neighbours in brackets run as one loop, which has the first one's number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...bindings.mlir import ir
from ...bindings.rewriting import located_error
from ...support.errors import RelaxError
from ...support.suggest import suggest

#: On a structured operation: how it is to run, or why it becomes plain loops.
PLAN, UNPLANNED = "tir.plan", "tir.unplanned"


class Panel(NamedTuple):
    """For each step of the vector loop, the vectors of an input along a reduction, of which a block has `length`."""

    operand: int
    dim: int
    length: int


class EpilogueOf(NamedTuple):
    """The operation works on each result of the reduction that an operand of it is, before that leaves registers."""

    operand: int

    def __str__(self) -> str:
        return f"epilogue of {self.operand}"


class Start(NamedTuple):
    """The operation fills with a number which a reduction starts from in registers: nothing is filled."""

    def __str__(self) -> str:
        return "start"


@dataclass(frozen=True)
class Plan:
    """How the loops of an operation run, those that run as one joined: loops are numbered by their place in `loops`."""

    #: Every loop, outermost first.
    order: tuple[int, ...]
    #: How many of the last loops are reductions whose results so far stay in registers.
    carried: int
    #: The loop that becomes lanes.
    vector: int
    lanes: int
    #: Points (vectors, of the vector loop) that one step takes; 1 where nothing is said.
    tile: Mapping[int, int] = field(default_factory=dict)
    #: Loops around all others that cut a loop into blocks: (loop, points in a block), outermost first.
    blocks: tuple[tuple[int, int], ...] = ()
    #: The loop along which inputs that lie across the lanes are read, in squares; its tile is the number of lanes.
    square: int | None = None
    #: What is copied to where it lies without gaps before it is read again and again.
    panel: Panel | None = None
    #: Who has made it, for people.
    rule: str = "own"
    #: The operation's loops that each loop is; empty where each is one.
    loops: tuple[tuple[int, ...], ...] = ()

    @property
    def joined(self) -> tuple[tuple[int, ...], ...]:
        return self.loops or tuple((dim,) for dim in range(len(self.order)))

    def __str__(self) -> str:
        names = [chain[0] for chain in self.joined]
        chains = [" ".join(map(str, self.joined[dim])) for dim in self.order]
        clauses = ["order " + " ".join(f"({chain})" if " " in chain else chain for chain in chains)]
        if self.carried:
            clauses.append(f"carried {self.carried}")
        clauses.append(f"vector {names[self.vector]} x {self.lanes}")
        for word, counts in (("tile", self.tile.items()), ("blocks", self.blocks)):
            if counts:
                clauses.append(f"{word} " + ", ".join(f"{names[dim]}: {count}" for dim, count in counts))
        if self.square is not None:
            clauses.append(f"square {names[self.square]}")
        if self.panel is not None:
            clauses.append(f"panel {self.panel.operand} along {names[self.panel.dim]}: {self.panel.length}")
        return "; ".join([*clauses, f"rule {self.rule}"])


AnyPlan = Plan | EpilogueOf | Start


def set_plan(operation: Any, plan: AnyPlan) -> None:
    operation.attributes[PLAN] = ir.StringAttr.get(str(plan), operation.context)


def plan_of(operation: Any) -> AnyPlan | None:
    """An operation's plan, None where it has none. Raises RelaxError, with the place, for text that is no plan."""
    if PLAN not in operation.attributes:
        return None
    attribute = operation.attributes[PLAN]
    if not isinstance(attribute, ir.StringAttr):
        raise located_error(f"attribute '{PLAN}' must be a string, got {attribute}", operation.location)
    try:
        return parse_plan(attribute.value)
    except RelaxError as error:
        raise located_error(f'{PLAN} "{attribute.value}": {error.message}', operation.location) from None


# ---- from text ----


class _Text:
    """Words, numbers and signs one after the other."""

    def __init__(self, text: str):
        self._pieces = [(match.group(1), match.start(1) + 1) for match in re.finditer(r"\s*([\w-]+|\S)", text)]
        self._pieces.append(("", len(text) + 1))
        self._next = 0

    @property
    def piece(self) -> str:
        """What comes next; empty at the end."""
        return self._pieces[self._next][0]

    def take(self) -> str:
        piece = self.piece
        self._next += bool(piece)
        return piece

    def accept(self, piece: str) -> bool:
        is_next = self.piece == piece
        self._next += is_next
        return is_next

    def expect(self, piece: str) -> None:
        if not self.accept(piece):
            raise self.error(f"expected '{piece}'")

    def number(self, what: str, least: int = 0) -> int:
        if not (self.piece.isascii() and self.piece.isdecimal()):
            raise self.error(f"expected {what}")
        if int(self.piece) < least:
            raise self.error(f"expected {what}, at least {least}")
        return int(self.take())

    def error(self, expected: str, back: int = 0) -> RelaxError:
        piece, column = self._pieces[self._next - back]
        return RelaxError(f"column {column}: {expected}, got {repr(piece) if piece else 'the end'}")


def parse_plan(text: str) -> AnyPlan:
    """Raises RelaxError that names what is wrong and the column."""
    source = _Text(text)
    plan: AnyPlan
    if source.accept("start"):
        plan = Start()
    elif source.accept("epilogue"):
        source.expect("of")
        plan = EpilogueOf(source.number("the number of an operand"))
    else:
        return _Loops(source).plan()
    if source.piece:
        raise source.error("expected the end")
    return plan


class _Loops:
    """The clauses of a plan for loops; the order comes first, as it says which loops there are."""

    def __init__(self, source: _Text):
        self._source = source
        self._places: dict[int, int] = {}

    def plan(self) -> Plan:
        clauses: dict[str, Callable[[], Any]] = {
            "carried": lambda: self._source.number("a number of loops"),
            "vector": self._vector,
            "tile": lambda: dict(self._counts("a number of points")),
            "blocks": lambda: tuple(self._counts("a number of points")),
            "square": self._loop,
            "panel": self._panel,
            "rule": self._word,
        }
        self._source.expect("order")
        loops, order = self._order()
        found: dict[str, Any] = {}
        while self._source.accept(";"):
            word = self._source.piece
            if word not in clauses:
                known = ", ".join(clauses)
                raise self._source.error(f"expected one of {known}{suggest(word, clauses)}")
            if word in found:
                raise self._source.error(f"expected no second '{word}'")
            self._source.take()
            found[word] = clauses[word]()
        if self._source.piece:
            raise self._source.error("expected ';' or the end")
        if "vector" not in found:
            raise self._source.error("expected a clause 'vector'")
        vector, lanes = found.pop("vector")
        return Plan(order, found.pop("carried", 0), vector, lanes, loops=loops, **found)

    def _order(self) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
        chains: list[tuple[int, ...]] = []
        seen: set[int] = set()
        while not chains or self._source.piece not in (";", ""):
            is_group = self._source.accept("(")
            chain = [self._new_loop(seen)]
            while is_group and not self._source.accept(")"):
                chain.append(self._new_loop(seen))
            chains.append(tuple(chain))
        loops = tuple(sorted(chains))
        self._places = {chain[0]: place for place, chain in enumerate(loops)}
        return loops, tuple(loops.index(chain) for chain in chains)

    def _new_loop(self, seen: set[int]) -> int:
        loop = self._source.number("a loop")
        if loop in seen:
            raise self._source.error(f"expected each loop once, and loop {loop} stands before", back=1)
        seen.add(loop)
        return loop

    def _loop(self) -> int:
        loop = self._source.number("a loop")
        if loop not in self._places:
            known = ", ".join(map(str, sorted(self._places)))
            raise self._source.error(f"expected a loop of the order ({known})", back=1)
        return self._places[loop]

    def _vector(self) -> tuple[int, int]:
        loop = self._loop()
        self._source.expect("x")
        return loop, self._source.number("a number of lanes", 1)

    def _counts(self, what: str) -> list[tuple[int, int]]:
        counts: list[tuple[int, int]] = []
        while not counts or self._source.accept(","):
            loop = self._loop()
            if loop in dict(counts):
                raise self._source.error("expected each loop once", back=1)
            self._source.expect(":")
            counts.append((loop, self._source.number(what, 1)))
        return counts

    def _panel(self) -> Panel:
        operand = self._source.number("the number of an operand")
        self._source.expect("along")
        loop = self._loop()
        self._source.expect(":")
        return Panel(operand, loop, self._source.number("a number of points", 1))

    def _word(self) -> str:
        word = self._source.take()
        if not word.replace("_", "a").replace("-", "a").isalnum():
            raise self._source.error("expected a name", back=bool(word))
        return word
