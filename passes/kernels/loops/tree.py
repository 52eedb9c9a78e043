# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop tree: a PrimFunc as immutable loops around blocks. Only types are IR.

A block computes one element of its outputs for each point of its iters. `bindings` map the variables of the loops
around to the point. Points outside of the iters' extents are left out. Loops and blocks have unique names in a
function, which schedules use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Union

from ....dialects.core.indices import regrouped
from ....dialects.core.symbols_expr import Size, make_variable, substituted, variables_of
from ....support.replacing import replace
from ....targets.core.machine import Machine
from .body_scalars import Expr, Load
from .index_exprs import places_of_load
from .tree_buffers import Buffer

SERIAL = "serial"
PARALLEL, VECTORIZED, UNROLLED = "parallel", "vectorized", "unrolled"
#: Kind of a loop with one step that represents a block around others, and has the block's name.
AROUND = "block"
#: Kind of a serial loop with steps that start work for later steps.
PIPELINED = "pipelined"
#: Annotation of a parallel loop: number of steps that a thread takes at a time.
GRAIN = "grain"
#: Annotation of a pipelined loop: number of steps in flight.
STAGES = "num_stages"
#: Axes of a GPU's threads, by their names in TVM.
THREAD_AXES = tuple(f"{kind}.{axis}" for kind in ("blockIdx", "threadIdx") for axis in "xyz")
#: Maximum number of threads of a block.
MOST_THREADS = Machine.block_threads
SPATIAL = "S"
REDUCE = "R"


@dataclass(frozen=True)
class Iter:
    """Variable of a block. Each step of a spatial iter has outputs of its own; all steps of a reduction share them."""

    name: str
    kind: str
    extent: Size


class SumOrder(NamedTuple):
    """Order in which the steps of a block's reduction are added."""

    #: Iters of the reduction, the outermost first.
    iters: tuple[str, ...]
    #: Text of an order with lanes, which no loops of a schedule have, or "".
    lanes: str = ""


#: Indices; None for an index that depends on more than loops and iters.
Place = Sequence[Union[Size, None]]  # noqa: UP007  # made while this is imported


class Access(NamedTuple):
    """Element of a buffer, in terms of the block's iters."""

    buffer: Buffer
    indices: tuple[Size, ...]

    def at(self, values: Mapping[str, Size]) -> Access:
        return Access(self.buffer, tuple(substituted(index, values) for index in self.indices))


@dataclass(frozen=True)
class Region:
    """Declared region that a block reads or writes.

    `starts` and `stops` (exclusive) are in terms of the block's iters.
    """

    buffer: Buffer
    starts: tuple[Size, ...]
    stops: tuple[Size, ...]
    is_written: bool

    def at(self, values: Mapping[str, Size]) -> Region:
        starts, stops = (tuple(substituted(end, values) for end in ends) for ends in (self.starts, self.stops))
        return replace(self, starts=starts, stops=stops)


@dataclass(frozen=True, eq=False)
class Block:
    """Block. `results[n]` goes to `writes[n]`.

    Elements in expressions are numbered: the reads, then the previous writes.
    """

    name: str
    iters: tuple[Iter, ...]
    #: Value of each iter, in terms of the variables of the loops around.
    bindings: tuple[Size, ...]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    results: tuple[Expr, ...]
    #: Values of the outputs before the first step of the reductions, or None if the outputs' previous values are used.
    inits: tuple[Expr, ...] | None = None
    #: Conditions of a point: each index, in terms of the loops around, is below its limit. Split loops may exceed the
    #: original extent.
    where: tuple[tuple[Size, Size], ...] = ()
    #: Conditions of the reductions' steps only, in terms of the iters. The init does not depend on them.
    within: tuple[tuple[Size, Size], ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)
    #: True if the block runs for some of its iters' points only. Other parts of the original block run for the rest.
    is_part: bool = False
    #: Regions that annotate_buffer_access declares.
    regions: tuple[Region, ...] = ()
    #: Order of the reduction, or None for a block that a step has made.
    sum_order: SumOrder | None = None

    @property
    def accesses(self) -> tuple[Access, ...]:
        return (*self.reads, *self.writes)

    @cached_property
    def buffers(self) -> list[Buffer]:
        """Return all buffers that the block reads or writes."""
        return list(dict.fromkeys([*(access.buffer for access in self.accesses), *self.loaded]))

    @property
    def is_reduction(self) -> bool:
        return any(iter_.kind == REDUCE for iter_ in self.iters)

    @cached_property
    def _point(self) -> dict[str, Size]:
        return dict(zip((iter_.name for iter_ in self.iters), self.bindings, strict=True))

    def point(self) -> Mapping[str, Size]:
        """Return the values of the iters in terms of the loops around."""
        return self._point

    @cached_property
    def placed_accesses(self) -> tuple[Access, ...]:
        """Return the accesses in terms of the loops around."""
        return tuple(map(self.placed, self.accesses))

    def at(self, values: Mapping[str, Size]) -> Block:
        """Substitute values for the block's iters."""
        moved = self.with_accesses(lambda access: access.at(values)).with_exprs(lambda expr: expr.at(values))
        return replace(moved, regions=tuple(region.at(values) for region in self.regions))

    def with_accesses(self, change: Callable[[Access], Access]) -> Block:
        """Apply a function to each access."""
        return replace(self, reads=tuple(map(change, self.reads)), writes=tuple(map(change, self.writes)))

    def with_exprs(self, change: Callable[[Expr], Expr]) -> Block:
        """Apply a function to each result and each init."""
        inits = None if self.inits is None else tuple(map(change, self.inits))
        return replace(self, results=tuple(map(change, self.results)), inits=inits)

    def placed(self, access: Access) -> Access:
        """Return an access in terms of the loops around."""
        return access.at(self.point())

    @cached_property
    def loads(self) -> list[Load]:
        """Return the reads at computed indices, or under a condition."""
        parts = (part for expr in (*self.results, *(self.inits or ())) for part in expr.walk())
        return list({id(part): part for part in parts if isinstance(part, Load)}.values())

    @cached_property
    def loaded(self) -> list[Buffer]:
        return list(dict.fromkeys(load.buffer for load in self.loads))

    @cached_property
    def elements(self) -> set[int]:
        """Return the numbers of the elements that the results depend on."""
        return {number for expr in self.results for number in expr.elements()}

    def read_places(self, buffer: Buffer) -> list[Place]:
        """Return the indices of the reads of a buffer, in terms of the loops around."""
        point, count = self.point(), len(self.reads)
        read = (
            access for number, access in enumerate(self.placed_accesses) if number < count or number in self.elements
        )
        found: list[Place] = [each.indices for each in read if each.buffer is buffer]
        for load in self.loads:
            if load.buffer is buffer:
                places = places_of_load(load)
                found.append(tuple(None if index is None else substituted(index, point) for index in places))
        return found

    def needed_places(self, buffer: Buffer) -> list[Place]:
        """Return the bounds of the declared read region of a buffer, or the places of its reads if none is declared."""
        said = [region.at(self.point()) for region in self.regions if region.buffer is buffer and not region.is_written]
        if not said:
            return self.read_places(buffer)
        return [place for each in said for place in (each.starts, tuple(stop - 1 for stop in each.stops))]

    def places(self, buffer: Buffer) -> list[Place]:
        """Return the indices of all reads and writes of a buffer."""
        written = self.placed_accesses[len(self.reads) :]
        return [*self.read_places(buffer), *(access.indices for access in written if access.buffer is buffer)]

    def reads_of(self, buffer: Buffer) -> list[Access]:
        """Return the reads of a buffer, including outputs to which the block adds."""
        read = [access for access in self.reads if access.buffer is buffer]
        kept = [access for number, access in enumerate(self.writes) if self.reads_output(number)]
        return read + [access for access in kept if access.buffer is buffer]

    def reads_output(self, number: int) -> bool:
        """Return True if a result depends on the previous value of its output."""
        return len(self.reads) + number in self.elements

    def writes_of(self, buffer: Buffer) -> list[Access]:
        return [access for access in self.writes if access.buffer is buffer]


@dataclass(frozen=True, eq=False)
class Loop:
    """Loop `for name in range(extent)`. Extents do not depend on other loops."""

    name: str
    extent: Size
    body: tuple[Node, ...]
    kind: str = SERIAL
    annotations: Mapping[str, Any] = field(default_factory=dict)

    def inner_extents(self) -> dict[str, Size]:
        """Return the extents of the loops inside."""
        return {loop.name: loop.extent for loop in loops_in(self.body)}


Node = Union[Loop, Block]  # noqa: UP007  # made while this is imported


@dataclass(frozen=True)
class Tree:
    """PrimFunc as a tree. `buffers` are all its buffers, parameters first."""

    name: str
    buffers: tuple[Buffer, ...]
    body: tuple[Node, ...]

    # ---- queries ----

    def blocks(self) -> list[Block]:
        """Return the blocks in the order in which they run."""
        return list(self._blocks)

    def loops(self) -> list[Loop]:
        return list(self._loops)

    @cached_property
    def _blocks(self) -> list[Block]:
        return blocks_in(self.body)

    @cached_property
    def _loops(self) -> list[Loop]:
        return loops_in(self.body)

    @cached_property
    def names(self) -> frozenset[str]:
        """Return the names of all loops and blocks."""
        return frozenset({loop.name for loop in self._loops} | {block.name for block in self._blocks})

    def block(self, name: str) -> Block:
        return next(block for block in self._blocks if block.name == name)

    def loop(self, name: str) -> Loop:
        return next(loop for loop in self._loops if loop.name == name)

    def block_names(self) -> list[str]:
        """Return the names of all blocks, including blocks around others."""
        return [*(block.name for block in self.blocks()), *(loop.name for loop in self.outer_blocks())]

    def outer_blocks(self) -> list[Loop]:
        """Return the blocks around others."""
        return [loop for loop in self.loops() if loop.kind == AROUND]

    def around(self, name: str) -> list[Loop]:
        """Return the loops around a block or a loop, outermost first."""
        found = _path(self.body, name)
        assert found is not None
        return found

    def extents(self) -> dict[str, Size]:
        return {loop.name: loop.extent for loop in self.loops()}

    def writers(self, buffer: Buffer) -> list[Block]:
        return [block for block in self.blocks() if block.writes_of(buffer)]

    def readers(self, buffer: Buffer) -> list[Block]:
        """Return blocks that read what others have written. A reduction's reads of its own outputs do not count."""
        return [
            block
            for block in self.blocks()
            if any(access.buffer is buffer for access in block.reads) or buffer in block.loaded
        ]

    def nest_of(self, block: Block) -> int:
        """Return the number of the top-level nest that contains a block."""
        return next(number for number, node in enumerate(self.body) if block in blocks_in([node]))

    # ---- names ----

    def new_name(self, wanted: str, taken: Iterable[str] = ()) -> str:
        """Return a name that no loop or block has."""
        return unique(wanted, {*self.names, *taken})

    def new_buffer_name(self, wanted: str) -> str:
        return unique(wanted, {buffer.name for buffer in self.buffers})

    # ---- transformations ----

    def replaced(self, name: str, change: Callable[[Any], Sequence[Node]]) -> Tree:
        """Replace a loop or block by other nodes, and remove loops that become empty."""
        return replace(self, body=_replaced(self.body, name, change))

    def mapped(self, change: Callable[[Block], Block]) -> Tree:
        """Apply a function to each block."""
        return replace(self, body=map_nodes(self.body, change))

    def with_buffer(self, buffer: Buffer) -> Tree:
        return replace(self, buffers=(*self.buffers, buffer))

    def without_unused(self) -> Tree:
        """Remove buffers that no block uses. Parameters stay."""
        used = {buffer for block in self.blocks() for buffer in block.buffers}
        return replace(self, buffers=tuple(buffer for buffer in self.buffers if buffer.is_given or buffer in used))

    def exchanged(self, old: Buffer, new: Buffer) -> Tree:
        """Replace a buffer by another one, with the same indices in all accesses."""
        return self.mapped(lambda block: exchange_buffers(block, old, new)).redeclared(old, new)

    def redeclared(self, old: Buffer, new: Buffer) -> Tree:
        """Replace the declaration of a buffer that no block uses any more."""
        return replace(self, buffers=tuple(new if buffer is old else buffer for buffer in self.buffers))


def unique(wanted: str, known: Iterable[str]) -> str:
    known = set(known)
    name, number = wanted, 0
    while name in known:
        number += 1
        name = f"{wanted}_{number}"
    return name


def variable(name: str, extent: Size) -> Size:
    """Return a variable that counts from 0 to `extent` - 1."""
    return make_variable(name, max(extent - 1, 0) if isinstance(extent, int) else None)


def iter_variable(iter_: Iter) -> Size:
    """Return an iter's variable, which knows its largest value."""
    return variable(iter_.name, iter_.extent)


def blocks_in(nodes: Iterable[Node]) -> list[Block]:
    """Return the blocks in nodes, in program order."""
    found: list[Block] = []
    for node in nodes:
        found += [node] if isinstance(node, Block) else blocks_in(node.body)
    return found


def loops_in(nodes: Iterable[Node]) -> list[Loop]:
    """Return all loops, outer ones first."""
    found: list[Loop] = []
    for node in nodes:
        if isinstance(node, Loop):
            found += [node, *loops_in(node.body)]
    return found


def names_in(nodes: Iterable[Node]) -> set[str]:
    """Return the names of all loops and blocks in nodes."""
    nodes = list(nodes)
    return {loop.name for loop in loops_in(nodes)} | {block.name for block in blocks_in(nodes)}


def map_nodes(nodes: Iterable[Node], change: Callable[[Block], Block]) -> tuple[Node, ...]:
    """Apply a function to each block in nodes."""
    return tuple(
        change(node) if isinstance(node, Block) else replace(node, body=map_nodes(node.body, change)) for node in nodes
    )


def rebind(nodes: Iterable[Node], values: Mapping[str, Size]) -> tuple[Node, ...]:
    """Substitute values for the loops' variables."""

    def change(block: Block) -> Block:
        where = tuple((substituted(index, values), limit) for index, limit in block.where)
        bindings = tuple(regrouped(substituted(binding, values)) for binding in block.bindings)
        return replace(block, bindings=bindings, where=where)

    return map_nodes(nodes, change)


def exchange_buffers(block: Block, old: Buffer, new: Buffer) -> Block:
    """Return a block that accesses a buffer in place of another one."""
    other = block.with_accesses(lambda access: Access(new, access.indices) if access.buffer is old else access)
    regions = tuple(replace(region, buffer=new) if region.buffer is old else region for region in block.regions)
    return replace(other.with_exprs(lambda expr: expr.with_buffers({old: new})), regions=regions)


def nested(loops: Iterable[tuple[str, Size]], *nodes: Node) -> tuple[Node, ...]:
    """Return nodes in new loops with these names and extents, outermost first."""
    for name, extent in reversed(list(loops)):
        nodes = (Loop(name, extent, nodes),)
    return nodes


def written_by(blocks: Iterable[Block]) -> list[Buffer]:
    return list(dict.fromkeys(access.buffer for block in blocks for access in block.writes))


def around_all(paths: Sequence[Sequence[Loop]]) -> list[Loop]:
    """Return the common prefix of paths, which are loops around blocks."""
    return [level[0] for level in zip(*paths, strict=False) if all(loop.name == level[0].name for loop in level)]


def loops_of(block: Block, kind: str = "") -> set[str]:
    """Return the loops that move the block's iters, of all kinds or of one kind."""
    pairs = zip(block.iters, block.bindings, strict=True)
    return {name for each, binding in pairs if kind in ("", each.kind) for name in variables_of(binding)}


def _path(nodes: Sequence[Node], name: str) -> list[Loop] | None:
    for node in nodes:
        if node.name == name:
            return []
        inner = _path(node.body, name) if isinstance(node, Loop) else None
        if inner is not None:
            assert isinstance(node, Loop)
            return [node, *inner]
    return None


def _replaced(nodes: Sequence[Node], name: str, change: Callable[[Any], Sequence[Node]]) -> tuple[Node, ...]:
    found: list[Node] = []
    for node in nodes:
        if node.name == name:
            found += change(node)
        elif isinstance(node, Loop):
            if body := _replaced(node.body, name, change):
                found.append(node if body == node.body else replace(node, body=body))
        else:
            found.append(node)
    return tuple(found)
