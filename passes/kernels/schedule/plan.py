# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plan of a structured operation's loops (tiling, order, lanes): a value, and the text of the attribute `tir.plan`.

    order (0 1) 3 2; carried 1; vector 3 x 16; tile 3: 4, 0: 6; blocks 2: 512; panel 1 along 2: 512; dot 2: 4;
    tiles 0: 16; parallel 3: 256; rule matmul
    epilogue of 0
    start

Loops have the operation's numbers. Adjacent loops in brackets run as one loop, which has the first one's number.

On a GPU, the threads of a block share loops, and loops in brackets need not be adjacent:

    order (0 2 3) 1 (4 5 6); carried 1; vector 1 x 4; tile 0: 8, 1: 2; blocks 4: 16; threads 0: 16, 1: 16; shared 0 1;
    stages 2; instruction m16n8k16; parts 4: 8; rule product
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.rewriting import located_error
from ....dialects.core.ir_attributes import PLAN
from ....support.errors import RelaxError
from ....support.suggest import suggest

#: Forms of constant weights for sums of byte pairs: no pair can saturate, or masks keep pairs from that.
SAFE, MASKED = "safe", "masked"


class Panel(NamedTuple):
    """Copy of an input for each step of the vector loop.

    The copy has the input's vectors along a reduction, of which a block has `length`.
    """

    operand: int
    dim: int
    length: int
    #: True if the input is packed already: it is unpacked from panels (packing.py).
    is_packed: bool = False

    def __str__(self) -> str:
        return f"{self.operand} along {self.dim}: {self.length}{' packed' if self.is_packed else ''}"


class Dot(NamedTuple):
    """Dot product: an instruction sums products of adjacent elements, so that `group` reduction steps become one."""

    dim: int
    group: int
    #: True if rows of the input that is read as vectors are packed in such groups already (packing.py).
    is_packed: bool = False
    #: Pairs of bytes that an instruction with saturating sums multiplies (byte_pairs.py): "" for none, SAFE or MASKED.
    pairs: str = ""

    def __str__(self) -> str:
        return f"{self.dim}: {self.group}{' packed' if self.is_packed else ''}{self.pairs and f' {self.pairs}'}"


class Tiles(NamedTuple):
    """Tiles on which a dot's instruction works.

    A tile has `size` rows, which are points of a loop, and as many groups of the reduction.
    """

    dim: int
    size: int

    def __str__(self) -> str:
        return f"{self.dim}: {self.size}"


class Parts(NamedTuple):
    """Split reduction: thread blocks share its steps in `number` parts, which a second kernel combines.

    With `steps`, the sizes at run time determine the number of parts. There are as many as make `number` blocks in
    total, and each has at least `steps` steps.
    """

    dim: int
    number: int
    steps: int | None = None

    def __str__(self) -> str:
        return f"{self.dim}: {self.number}{f' blocks of {self.steps}' if self.steps else ''}"


class Parallel(NamedTuple):
    """Loop that threads share. A thread takes `grain` points at a time.

    Without a number, the grain follows from the dynamic sizes, so that the work makes up for the cost of sharing.
    """

    dim: int
    grain: int | None = None

    def __str__(self) -> str:
        return f"{self.dim}: {self.grain or 'by work'}"


class EpilogueOf(NamedTuple):
    """Plan of an epilogue, which works on each result of the reduction `operand` before the result leaves registers."""

    operand: int

    def __str__(self) -> str:
        return f"epilogue of {self.operand}"


class Start(NamedTuple):
    """Plan of a fill with a number from which a reduction starts in registers: memory is not filled."""

    def __str__(self) -> str:
        return "start"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Plan of an operation's loops, after some of them are joined. Loops are numbered by their place in `loops`."""

    #: All loops, outermost first.
    order: tuple[int, ...]
    #: Number of the last loops that are reductions with accumulators in registers.
    carried: int = 0
    #: Loop that becomes lanes.
    vector: int
    lanes: int
    #: Points of one step (vectors, for the vector loop); 1 by default.
    tile: Mapping[int, int] = field(default_factory=dict)
    #: The operation's loops in each loop. Empty if no loops are joined.
    loops: tuple[tuple[int, ...], ...] = ()
    #: Loops around all others that split a loop into blocks: (loop, points in a block), outermost first.
    blocks: tuple[tuple[int, int], ...] = ()

    # ---- for GPUs ----
    #: Number of a block's threads that share each loop. Empty without thread blocks.
    threads: tuple[tuple[int, int], ...] = ()
    #: Inputs of which a block's threads keep the part that `blocks` states in shared memory.
    shared: tuple[int, ...] = ()
    #: Number of such parts of an input in shared memory at once: others are in flight while one is used.
    stages: int = 1
    #: Instruction on tiles, which all threads of a warp run together, or None for scalar instructions of each thread.
    instruction: str | None = None
    #: Split of a reduction among thread blocks, or None if one block does all of it.
    parts: Parts | None = None

    # ---- for CPUs ----
    #: Loop along which inputs across the lanes are read, transposed in squares. Its tile is the number of lanes.
    square: int | None = None
    #: Input that is packed (copied to contiguous memory) before it is read repeatedly.
    panel: Panel | None = None
    #: Dot products of narrow numbers, or None if numbers are widened first.
    dot: Dot | None = None
    #: Rows of a dot product on tiles, or None for dot products on vectors.
    tiles: Tiles | None = None
    #: Loop that threads share, or None for one thread.
    parallel: Parallel | None = None

    #: Rule that chose the plan, for display.
    rule: str = "own"

    @property
    def joined(self) -> tuple[tuple[int, ...], ...]:
        return self.loops or tuple((dim,) for dim in range(len(self.order)))

    def __str__(self) -> str:
        chains = [" ".join(map(str, self.joined[dim])) for dim in self.order]
        # Clauses are in the order of the fields.
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name in _FORMS}
        values["order"] = " ".join(f"({chain})" if " " in chain else chain for chain in chains)
        values["vector"] = f"{self.vector} x {self.lanes}"
        names = {dim: chain[0] for dim, chain in enumerate(self.joined)}
        texts = {word: _FORMS[word].text(value, names) for word, value in values.items()}
        return "; ".join(f"{word} {text}" for word, text in texts.items() if text)


def group_of(plan: Plan, dim: int) -> int:
    """Return the number of steps of a loop that form one point."""
    return plan.dot.group if plan.dot is not None and plan.dot.dim == dim else 1


def rows_of(plan: Plan, dim: int) -> int:
    """Return the number of points of a loop, or of groups of a reduction, in a tile."""
    return plan.tiles.size if plan.tiles and plan.dot and dim in (plan.tiles.dim, plan.dot.dim) else 1


def points_of_step(plan: Plan, dim: int) -> int:
    """Return the number of elements of a loop that one step takes."""
    lanes = plan.lanes if dim == plan.vector else 1
    return plan.tile.get(dim, 1) * lanes * group_of(plan, dim) * rows_of(plan, dim)


class PanelForm(NamedTuple):
    """Layout of panels (packing.py): columns, rows of a group, and groups of a tile."""

    width: int
    group: int
    depth: int


def panel_form(plan: Plan, panel: Panel) -> PanelForm:
    """Return the layout of a panel.

    The columns of a tile are contiguous; without tiles, the columns of all vectors of a step are.
    """
    width = points_of_step(plan, plan.vector) if plan.tiles is None else plan.lanes
    return PanelForm(width, group_of(plan, panel.dim), rows_of(plan, panel.dim))


AnyPlan = Plan | EpilogueOf | Start


def set_plan(operation: Operation, plan: AnyPlan) -> None:
    operation.attributes[PLAN] = ir.StringAttr.get(str(plan), operation.context)


def plan_of(operation: Operation) -> AnyPlan | None:
    """Return an operation's plan, or None. Raises RelaxError, with the location, for text that is no plan."""
    if PLAN not in operation.attributes:
        return None
    if not isinstance(attribute := operation.attributes[PLAN], ir.StringAttr):
        raise located_error(f"attribute '{PLAN}' must be a string, got {attribute}", operation.location)
    try:
        return parse_plan(attribute.value)
    except RelaxError as error:
        raise located_error(f'{PLAN} "{attribute.value}": {error.message}', operation.location) from None


# ---- clauses of the text ----

_NUMBER, _COUNT = "[0-9]+", "0*[1-9][0-9]*"
_NUMBERS = rf"{_NUMBER}(?:\s+{_NUMBER})*"
_CHAIN = rf"(?:{_NUMBER}|\(\s*{_NUMBERS}\s*\))"
_PAIR = rf"{_NUMBER}\s*:\s*{_COUNT}"
_PAIRS = rf"{_PAIR}(?:\s*,\s*{_PAIR})*"


class _Form(NamedTuple):
    """Form of a clause after its word, and functions that read and write the value of the field with this name."""

    example: str
    pattern: str
    read: Callable[[str], Any] = str
    #: A value that has no clause becomes "".
    write: Callable[[Any], str] = str
    #: Numbers of loops: the operation's in the text, places in `Plan.loops` for `read` and `write`.
    loop: str = rf"{_NUMBER}(?=\s*:|\s+x\s)"

    def renumber(self, text: str, numbers: Mapping[int, int]) -> str:
        return re.sub(self.loop, lambda loop: str(numbers[int(loop[0])]), text)

    def text(self, value: Any, names: Mapping[int, int]) -> str:
        return "" if value is None else self.renumber(self.write(value), names)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(_NUMBER, text)))


def _pairs(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(zip(_numbers(text)[::2], _numbers(text)[1::2], strict=True))


def _write_pairs(pairs: Iterable[tuple[int, int]]) -> str:
    return ", ".join(f"{dim}: {count}" for dim, count in pairs)


def _record(kind: Callable[..., object]) -> Callable[[str], object]:
    return lambda text: kind(*_numbers(text), *[True] * text.endswith("packed"))


def _read_dot(text: str) -> Dot:
    dim, group = _numbers(text)
    words = text.split()
    return Dot(dim, group, "packed" in words, words[-1] if words[-1] in (SAFE, MASKED) else "")


#: Forms by word, which is the name of a field of `Plan`. Clauses `order` and `vector` state two fields each.
_FORMS = {
    "order": _Form("order (0 1) 3 2", rf"{_CHAIN}(?:\s+{_CHAIN})*"),
    "carried": _Form("carried 1", _NUMBER, int, lambda carried: str(carried or "")),
    "vector": _Form("vector 3 x 16", rf"{_NUMBER}\s+x\s+{_COUNT}", _numbers),
    "tile": _Form("tile 3: 4, 0: 6", _PAIRS, lambda text: dict(_pairs(text)), lambda tile: _write_pairs(tile.items())),
    "blocks": _Form("blocks 2: 512", _PAIRS, _pairs, _write_pairs),
    "square": _Form("square 0", _NUMBER, int, loop=_NUMBER),
    "panel": _Form("panel 1 along 2: 512", rf"{_NUMBER}\s+along\s+{_PAIR}(?:\s+packed)?", _record(Panel)),
    "dot": _Form("dot 2: 4", rf"{_PAIR}(?:\s+packed)?(?:\s+(?:{SAFE}|{MASKED}))?", _read_dot),
    "tiles": _Form("tiles 0: 16", _PAIR, _record(Tiles)),
    "parallel": _Form("parallel 3: 256", rf"{_NUMBER}\s*:\s*(?:{_COUNT}|by\s+work)", _record(Parallel)),
    "threads": _Form("threads 0: 16, 1: 16", _PAIRS, _pairs, _write_pairs),
    "shared": _Form("shared 0 1", _NUMBERS, _numbers, lambda inputs: " ".join(map(str, inputs))),
    "stages": _Form("stages 2", _COUNT, int, lambda stages: str(stages) if stages > 1 else ""),
    "parts": _Form("parts 2: 8", rf"{_PAIR}(?:\s+blocks\s+of\s+{_COUNT})?", _record(Parts)),
    "instruction": _Form("instruction m16n8k16", r"\w+"),
    "rule": _Form("rule matmul", r"[\w-]+"),
}


class _Clause(NamedTuple):
    word: str
    text: str
    column: int

    def error(self, problem: str) -> RelaxError:
        return RelaxError(f"column {self.column}: {problem}")

    def value(self, places: Mapping[int, int]) -> Any:
        form = _FORMS[self.word]
        loops = [int(loop) for loop in re.findall(form.loop, self.text)]
        if unknown := [loop for loop in loops if loop not in places]:
            raise self.error(f"loop {unknown[0]} of '{self.word}' is not in the order ({', '.join(map(str, places))})")
        if len(set(loops)) != len(loops):
            raise self.error(f"'{self.word}' has a loop twice")
        return form.read(form.renumber(self.text, places))


def parse_plan(text: str) -> AnyPlan:
    """Parse a plan. Raises RelaxError, which names the problem and the column."""
    if text.strip() == "start":
        return Start()
    if epilogue := re.fullmatch(rf"\s*epilogue\s+of\s+({_NUMBER})\s*", text):
        return EpilogueOf(int(epilogue[1]))
    clauses = _clauses(text)
    for word in ("order", "vector"):
        if word not in clauses:
            raise _Clause(word, "", len(text) + 1).error(f"expected a clause '{word}', like '{_FORMS[word].example}'")
    order = [_numbers(chain) for chain in re.findall(_CHAIN, clauses["order"].text)]
    numbers = [number for chain in order for number in chain]
    if twice := [number for number in numbers if numbers.count(number) > 1]:
        raise clauses["order"].error(f"loop {twice[0]} occurs twice in the order")
    loops = tuple(sorted(order))
    places = {chain[0]: place for place, chain in enumerate(loops)}
    values = {word: clauses[word].value(places) for word in _FORMS if word in clauses}
    values["order"] = tuple(loops.index(chain) for chain in order)
    values["vector"], lanes = values["vector"]
    return Plan(**values, lanes=lanes, loops=loops)


def _clauses(text: str) -> dict[str, _Clause]:
    """Return the clauses by their words, after a check of their form."""
    clauses: dict[str, _Clause] = {}
    for piece in re.finditer(r"[^;]+|(?<=;)(?=;|$)|^$", text):
        word, _, rest = piece[0].strip().partition(" ")
        clause = _Clause(word, rest.strip(), piece.start() + 1 + len(piece[0]) - len(piece[0].lstrip()))
        if word not in _FORMS:
            known, got = ", ".join(_FORMS), repr(word) if word else "nothing"
            raise clause.error(f"expected one of {known}, got {got}{suggest(word, _FORMS)}")
        if word in clauses:
            raise clause.error(f"'{word}' occurs twice")
        form = _FORMS[word]
        if not re.fullmatch(form.pattern, clause.text, re.ASCII):
            raise clause.error(f"expected '{word}' like '{form.example}', got '{piece[0].strip()}'")
        clauses[word] = clause
    return clauses
