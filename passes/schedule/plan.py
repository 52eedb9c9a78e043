# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plan of a structured operation's loops (tiling, order, lanes): a value, and the text of the attribute `tir.plan`.

    order (0 1) 3 2; carried 1; vector 3 x 16; tile 3: 4, 0: 6; blocks 2: 512; panel 1 along 2: 512; dot 2: 4;
    tiles 0: 16; parallel 3: 256; rule matmul
    epilogue of 0
    start

A loop has the operation's number for it. Neighbours in brackets run as one loop, which has the first one's number.

On a GPU threads of a block take loops, and what is in brackets need not be neighbours:

    order (0 2 3) 1 (4 5 6); carried 1; vector 1 x 4; tile 0: 8, 1: 2; blocks 4: 16; threads 0: 16, 1: 16; shared 0 1;
    stages 2; instruction m16n8k16; parts 4: 8; rule product
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.rewriting import located_error
from ...dialects.core.ir_attributes import PLAN
from ...support.errors import RelaxError
from ...support.suggest import suggest


class Panel(NamedTuple):
    """For each step of the vector loop, the vectors of an input along a reduction, of which a block has `length`."""

    operand: int
    dim: int
    length: int
    #: Whether the input is packed already: it is unpacked from panels (packing.py).
    is_packed: bool = False


class Dot(NamedTuple):
    """The reduction of which `size` steps are one, by an instruction that sums products of adjacent elements."""

    dim: int
    group: int
    #: Whether rows of the input that is read as vectors are packed in such groups already (packing.py).
    is_packed: bool = False


class Tiles(NamedTuple):
    """A dot's instruction works on tiles: of N rows, points of a loop, with as many groups of the reduction."""

    dim: int
    size: int


class Parts(NamedTuple):
    """Split reduction: blocks of threads share its steps in N parts, which a second kernel combines.

    With `steps`, as many as make `number` blocks of all, by the sizes at run time, but none of fewer steps.
    """

    dim: int
    number: int
    steps: int | None = None


class Parallel(NamedTuple):
    """The loop whose points threads share, in grains of N points: what one thread takes at a time.

    Without a number, as many as make up for the time that sharing takes, by the dynamic sizes.
    """

    dim: int
    grain: int | None


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
    #: The loop along which inputs across the lanes are read, transposed in squares; its tile is the number of lanes.
    square: int | None = None
    #: The input that is packed (copied to contiguous memory) before it is read again and again.
    panel: Panel | None = None
    #: What threads share; None where one does it all.
    parallel: Parallel | None = None
    #: Who has made it, for people.
    rule: str = "own"
    #: The operation's loops that each loop is; empty where each is one.
    loops: tuple[tuple[int, ...], ...] = ()
    #: How products of narrow numbers are summed; None where each is widened first.
    dot: Dot | None = None
    #: The rows that a dot product takes at once; None where it takes vectors.
    tiles: Tiles | None = None
    #: How many threads of a block share each loop: a GPU's; empty where there are no blocks of threads.
    threads: tuple[tuple[int, int], ...] = ()
    #: The inputs of which a block's threads keep in shared memory what `blocks` says.
    shared: tuple[int, ...] = ()
    #: How many such blocks of an input are in shared memory at once: while one is used others are on their way.
    stages: int = 1
    #: The instruction that multiplies tiles, which all threads of a warp run together; None where each adds its own.
    instruction: str | None = None
    #: How blocks of threads share a reduction; None where a block does all of it.
    parts: Parts | None = None

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
        for word, counts in (("tile", self.tile.items()), ("blocks", self.blocks), ("threads", self.threads)):
            if counts:
                clauses.append(f"{word} " + ", ".join(f"{names[dim]}: {count}" for dim, count in counts))
        if self.shared:
            clauses.append("shared " + " ".join(map(str, self.shared)))
        if self.stages > 1:
            clauses.append(f"stages {self.stages}")
        if self.instruction is not None:
            clauses.append(f"instruction {self.instruction}")
        if self.parts is not None:
            of_steps = f" blocks of {self.parts.steps}" if self.parts.steps else ""
            clauses.append(f"parts {names[self.parts.dim]}: {self.parts.number}{of_steps}")
        if self.square is not None:
            clauses.append(f"square {names[self.square]}")
        if self.panel is not None:
            packed = " packed" if self.panel.is_packed else ""
            clauses.append(f"panel {self.panel.operand} along {names[self.panel.dim]}: {self.panel.length}{packed}")
        if self.dot is not None:
            packed = " packed" if self.dot.is_packed else ""
            clauses.append(f"dot {names[self.dot.dim]}: {self.dot.group}{packed}")
        if self.tiles is not None:
            clauses.append(f"tiles {names[self.tiles.dim]}: {self.tiles.size}")
        if self.parallel is not None:
            clauses.append(f"parallel {names[self.parallel.dim]}: {self.parallel.grain or 'by work'}")
        return "; ".join([*clauses, f"rule {self.rule}"])


def group_of(plan: Plan, dim: int) -> int:
    """How many steps of a loop are one point of it."""
    return plan.dot.group if plan.dot is not None and plan.dot.dim == dim else 1


def rows_of(plan: Plan, dim: int) -> int:
    """How many points of a loop, or groups of a reduction, a tile has."""
    return plan.tiles.size if plan.tiles and plan.dot and dim in (plan.tiles.dim, plan.dot.dim) else 1


def points_of_step(plan: Plan, dim: int) -> int:
    """How many elements of a loop one step takes."""
    lanes = plan.lanes if dim == plan.vector else 1
    return plan.tile.get(dim, 1) * lanes * group_of(plan, dim) * rows_of(plan, dim)


class PanelForm(NamedTuple):
    """The layout of panels (packing.py): their columns, the rows of a group, and how many groups make a tile."""

    width: int
    group: int
    depth: int


def panel_form(plan: Plan, panel: Panel) -> PanelForm:
    """The columns of a tile are contiguous, or else those of all vectors of a step."""
    width = points_of_step(plan, plan.vector) if plan.tiles is None else plan.lanes
    return PanelForm(width, group_of(plan, panel.dim), rows_of(plan, panel.dim))


AnyPlan = Plan | EpilogueOf | Start


def set_plan(operation: Operation, plan: AnyPlan) -> None:
    operation.attributes[PLAN] = ir.StringAttr.get(str(plan), operation.context)


def plan_of(operation: Operation) -> AnyPlan | None:
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

_NUMBER, _COUNT = "[0-9]+", "0*[1-9][0-9]*"
_LOOPS = rf"(?:{_NUMBER}|\(\s*{_NUMBER}(?:\s+{_NUMBER})*\s*\))"
_COUNTS = rf"{_NUMBER}\s*:\s*{_COUNT}(?:\s*,\s*{_NUMBER}\s*:\s*{_COUNT})*"
#: The form of each clause behind its word, and an example of it.
_CLAUSES = {
    "order": (rf"{_LOOPS}(?:\s+{_LOOPS})*", "order (0 1) 3 2"),
    "carried": (_NUMBER, "carried 1"),
    "vector": (rf"{_NUMBER}\s+x\s+{_COUNT}", "vector 3 x 16"),
    "tile": (_COUNTS, "tile 3: 4, 0: 6"),
    "blocks": (_COUNTS, "blocks 2: 512"),
    "square": (_NUMBER, "square 0"),
    "panel": (rf"{_NUMBER}\s+along\s+{_NUMBER}\s*:\s*{_COUNT}(?:\s+packed)?", "panel 1 along 2: 512"),
    "dot": (rf"{_NUMBER}\s*:\s*{_COUNT}(?:\s+packed)?", "dot 2: 4"),
    "tiles": (rf"{_NUMBER}\s*:\s*{_COUNT}", "tiles 0: 16"),
    "parallel": (rf"{_NUMBER}\s*:\s*(?:{_COUNT}|by\s+work)", "parallel 3: 256"),
    "threads": (_COUNTS, "threads 0: 16, 1: 16"),
    "shared": (rf"{_NUMBER}(?:\s+{_NUMBER})*", "shared 0 1"),
    "stages": (_COUNT, "stages 2"),
    "parts": (rf"{_NUMBER}\s*:\s*{_COUNT}(?:\s+blocks\s+of\s+{_COUNT})?", "parts 2: 8"),
    "instruction": (r"\w+", "instruction m16n8k16"),
    "rule": (r"[\w-]+", "rule matmul"),
}


class _Clause(NamedTuple):
    text: str
    column: int

    @property
    def numbers(self) -> list[int]:
        return [int(number) for number in re.findall(_NUMBER, self.text)]

    def error(self, problem: str) -> RelaxError:
        return RelaxError(f"column {self.column}: {problem}")


def parse_plan(text: str) -> AnyPlan:
    """Raises RelaxError that names what is wrong and the column."""
    if text.strip() == "start":
        return Start()
    if epilogue := re.fullmatch(rf"\s*epilogue\s+of\s+({_NUMBER})\s*", text):
        return EpilogueOf(int(epilogue[1]))
    clauses = _clauses(text)
    missing = next((word for word in ("order", "vector") if word not in clauses), None)
    if missing is not None:
        raise _Clause("", len(text) + 1).error(f"expected a clause '{missing}', like '{_CLAUSES[missing][1]}'")
    order = _order(clauses["order"])
    loops = tuple(sorted(order))
    places = {chain[0]: place for place, chain in enumerate(loops)}

    def loop(word: str, number: int) -> int:
        if number not in places:
            raise clauses[word].error(f"loop {number} of '{word}' is none of the order ({', '.join(map(str, places))})")
        return places[number]

    def counts(word: str) -> list[tuple[int, int]]:
        numbers = clauses[word].numbers if word in clauses else []
        found = [(loop(word, dim), count) for dim, count in zip(numbers[::2], numbers[1::2], strict=True)]
        if len(dict(found)) != len(found):
            raise clauses[word].error(f"'{word}' has a loop twice")
        return found

    vector, lanes = clauses["vector"].numbers
    panel = clauses["panel"].numbers if "panel" in clauses else None
    dot = clauses["dot"].numbers if "dot" in clauses else None
    tiles = clauses["tiles"].numbers if "tiles" in clauses else None
    parts = clauses["parts"].numbers if "parts" in clauses else None

    def is_packed(word: str) -> bool:
        return clauses[word].text.endswith("packed")

    shared, *grain = clauses["parallel"].numbers if "parallel" in clauses else [None]
    return Plan(
        tuple(loops.index(chain) for chain in order),
        clauses["carried"].numbers[0] if "carried" in clauses else 0,
        loop("vector", vector),
        lanes,
        dict(counts("tile")),
        tuple(counts("blocks")),
        loop("square", clauses["square"].numbers[0]) if "square" in clauses else None,
        None if panel is None else Panel(panel[0], loop("panel", panel[1]), panel[2], is_packed("panel")),
        None if shared is None else Parallel(loop("parallel", shared), grain[0] if grain else None),
        clauses["rule"].text if "rule" in clauses else Plan.rule,
        loops,
        None if dot is None else Dot(loop("dot", dot[0]), dot[1], is_packed("dot")),
        None if tiles is None else Tiles(loop("tiles", tiles[0]), tiles[1]),
        tuple(counts("threads")),
        tuple(clauses["shared"].numbers) if "shared" in clauses else (),
        clauses["stages"].numbers[0] if "stages" in clauses else Plan.stages,
        clauses["instruction"].text if "instruction" in clauses else None,
        None if parts is None else Parts(loop("parts", parts[0]), *parts[1:]),
    )


def _clauses(text: str) -> dict[str, _Clause]:
    """The clauses by their words, each of the form that it should have."""
    found: dict[str, _Clause] = {}
    for piece in re.finditer(r"[^;]+|(?<=;)(?=;|$)|^$", text):
        word, _, rest = piece[0].strip().partition(" ")
        clause = _Clause(rest.strip(), piece.start() + 1 + len(piece[0]) - len(piece[0].lstrip()))
        if word not in _CLAUSES:
            known = ", ".join(_CLAUSES)
            raise clause.error(
                f"expected one of {known}, got {repr(word) if word else 'nothing'}{suggest(word, _CLAUSES)}"
            )
        if word in found:
            raise clause.error(f"a second '{word}'")
        form, example = _CLAUSES[word]
        if not re.fullmatch(form, clause.text, re.ASCII):
            raise clause.error(f"expected '{word}' like '{example}', got '{piece[0].strip()}'")
        found[word] = clause
    return found


def _order(clause: _Clause) -> list[tuple[int, ...]]:
    numbers = clause.numbers
    twice = next((number for number in numbers if numbers.count(number) > 1), None)
    if twice is not None:
        raise clause.error(f"loop {twice} stands twice in the order")
    return [tuple(map(int, re.findall(_NUMBER, chain))) for chain in re.findall(_LOOPS, clause.text)]
