# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop tree: a PrimFunc as loops around blocks, immutable values. Nothing here is IR, but for types.

A block computes one element of its outputs for each point of its iters; `bindings` say which point, by the loops
around. A point outside of its iters' extents is left out. Loops and blocks have names of their own in a function, which
is how schedules speak of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Union

from ...bindings.ir import Type
from ...dialects.core.indices import regrouped
from ...dialects.core.symbols_expr import Size, make_variable, substituted, variables_of
from ...support.replacing import replace
from ...targets.core.backend import Machine
from .body_scalars import Expr, Load
from .index_exprs import places_of_load

SERIAL, PARALLEL, VECTORIZED, UNROLLED = "serial", "parallel", "vectorized", "unrolled"
#: What a loop of one step is that stands for a block around others, and is called as it.
AROUND = "block"
#: In order, where a step begins with what later ones need.
PIPELINED = "pipelined"
#: An annotation of a parallel loop: how many of its steps a thread takes at a time.
GRAIN = "grain"
#: An annotation of a pipelined loop: how many of its steps are under way.
STAGES = "num_stages"
#: A GPU's threads, by their names in TVM.
THREAD_AXES = tuple(f"{kind}.{axis}" for kind in ("blockIdx", "threadIdx") for axis in "xyz")
#: Threads of a block of them, at most.
MOST_THREADS = Machine.block_threads
SPATIAL, REDUCE = "S", "R"


class StrideAlignment(NamedTuple):
    """The stride of an axis is a multiple of a factor, and an offset more."""

    axis: int
    factor: int
    offset: int


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory of a PrimFunc: a parameter, or allocated for it. The blocks say where it is written."""

    name: str
    shape: tuple[Size, ...]
    element: Type
    #: Its memory: "global", "local" (registers, the stack), "shared" (of a GPU's threads).
    scope: str = "global"
    #: Whether it is a parameter.
    is_given: bool = False
    alignments: tuple[StrideAlignment, ...] = ()
    #: Of memory that has several dimensions itself: before which of the buffer's dimensions each other one begins.
    axis_separators: tuple[int, ...] = ()
    #: Loops, outermost first, whose last one's steps go on with what those before have left in it.
    rolling: tuple[str, ...] = ()

    def laid_out(self, shape: tuple[Size, ...]) -> Buffer:
        """With other dimensions; what is known of those that it had is gone."""
        return replace(self, shape=shape, alignments=(), axis_separators=())


@dataclass(frozen=True)
class Iter:
    """A variable of a block: spatial ones have outputs of their own at each step, reductions the same ones."""

    name: str
    kind: str
    extent: Size


#: Indices; None for those that are computed of more than loops and iters.
Place = Sequence[Union[Size, None]]  # noqa: UP007  # made while this is imported


class Access(NamedTuple):
    """An element of a buffer, by the block's iters."""

    buffer: Buffer
    indices: tuple[Size, ...]

    def at(self, values: Mapping[str, Size]) -> Access:
        return Access(self.buffer, tuple(substituted(index, values) for index in self.indices))


@dataclass(frozen=True)
class Region:
    """What a block is said to read or write of a buffer: by its iters, from where on and up to where."""

    buffer: Buffer
    starts: tuple[Size, ...]
    stops: tuple[Size, ...]
    is_written: bool

    def at(self, values: Mapping[str, Size]) -> Region:
        starts, stops = (tuple(substituted(each, values) for each in ends) for ends in (self.starts, self.stops))
        return replace(self, starts=starts, stops=stops)


@dataclass(frozen=True, eq=False)
class Block:
    """`results[n]` goes to `writes[n]`. Scalars' elements are those of reads, then those of writes as they were."""

    name: str
    iters: tuple[Iter, ...]
    #: The point of each iter, by the variables of the loops around.
    bindings: tuple[Size, ...]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    results: tuple[Expr, ...]
    #: What the outputs hold before the first step of the reductions; None where that is what they hold already.
    inits: tuple[Expr, ...] | None = None
    #: Only where these indices, by the loops around, are below these limits there is a point: loops that were split
    #: may go further than they did.
    where: tuple[tuple[Size, Size], ...] = ()
    #: The same of steps of the reductions alone, by the iters: the init is there without them.
    within: tuple[tuple[Size, Size], ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)
    #: Whether it runs for some of its iters' points only: others that were the same block do for the rest.
    is_part: bool = False
    #: Said by annotate_buffer_access.
    regions: tuple[Region, ...] = ()

    @property
    def accesses(self) -> tuple[Access, ...]:
        return (*self.reads, *self.writes)

    @cached_property
    def buffers(self) -> list[Buffer]:
        """All that it reads or writes."""
        return list(dict.fromkeys([*(access.buffer for access in self.accesses), *self.loaded]))

    @property
    def is_reduction(self) -> bool:
        return any(each.kind == REDUCE for each in self.iters)

    @cached_property
    def _point(self) -> dict[str, Size]:
        return dict(zip((each.name for each in self.iters), self.bindings, strict=True))

    def point(self) -> Mapping[str, Size]:
        """Its iters by the loops around."""
        return self._point

    @cached_property
    def placed_accesses(self) -> tuple[Access, ...]:
        """Its accesses by the loops around."""
        return tuple(map(self.placed, self.accesses))

    def at(self, values: Mapping[str, Size]) -> Block:
        """What it computes with other values in place of its iters."""
        moved = self.with_accesses(lambda access: access.at(values)).with_exprs(lambda expr: expr.at(values))
        return replace(moved, regions=tuple(region.at(values) for region in self.regions))

    def with_accesses(self, change: Callable[[Access], Access]) -> Block:
        """With each access changed."""
        return replace(self, reads=tuple(map(change, self.reads)), writes=tuple(map(change, self.writes)))

    def with_exprs(self, change: Callable[[Expr], Expr]) -> Block:
        """With each result and each init changed."""
        inits = None if self.inits is None else tuple(map(change, self.inits))
        return replace(self, results=tuple(map(change, self.results)), inits=inits)

    def placed(self, access: Access) -> Access:
        """An access by the loops around."""
        return access.at(self.point())

    @cached_property
    def loads(self) -> list[Load]:
        """What it reads at places that are computed, or only where a condition holds."""
        parts = (part for expr in (*self.results, *(self.inits or ())) for part in expr.walk())
        return list({id(part): part for part in parts if isinstance(part, Load)}.values())

    @cached_property
    def loaded(self) -> list[Buffer]:
        return list(dict.fromkeys(load.buffer for load in self.loads))

    @cached_property
    def elements(self) -> set[int]:
        """The numbers of the elements that its results are made of."""
        return {number for expr in self.results for number in expr.elements()}

    def read_places(self, buffer: Buffer) -> list[Place]:
        """Where it reads a buffer, by the loops around."""
        point, count = self.point(), len(self.reads)
        read = (each for number, each in enumerate(self.placed_accesses) if number < count or number in self.elements)
        found: list[Place] = [each.indices for each in read if each.buffer is buffer]
        for load in self.loads:
            if load.buffer is buffer:
                places = places_of_load(load)
                found.append(tuple(None if index is None else substituted(index, point) for index in places))
        return found

    def needed_places(self, buffer: Buffer) -> list[Place]:
        """Between which it reads a buffer, as it is said to, or where."""
        said = [each.at(self.point()) for each in self.regions if each.buffer is buffer and not each.is_written]
        if not said:
            return self.read_places(buffer)
        return [place for each in said for place in (each.starts, tuple(stop - 1 for stop in each.stops))]

    def places(self, buffer: Buffer) -> list[Place]:
        """Where it reads or writes a buffer."""
        written = self.placed_accesses[len(self.reads) :]
        return [*self.read_places(buffer), *(each.indices for each in written if each.buffer is buffer)]

    def reads_of(self, buffer: Buffer) -> list[Access]:
        """What it reads of a buffer; what it adds to as well."""
        read = [access for access in self.reads if access.buffer is buffer]
        kept = [access for number, access in enumerate(self.writes) if self.reads_output(number)]
        return read + [access for access in kept if access.buffer is buffer]

    def reads_output(self, number: int) -> bool:
        """Whether a result is made of what the output held before."""
        return len(self.reads) + number in self.elements

    def writes_of(self, buffer: Buffer) -> list[Access]:
        return [access for access in self.writes if access.buffer is buffer]


@dataclass(frozen=True, eq=False)
class Loop:
    """`for name in range(extent)`. Extents do not depend on other loops."""

    name: str
    extent: Size
    body: tuple[Node, ...]
    kind: str = SERIAL
    annotations: Mapping[str, Any] = field(default_factory=dict)

    def inner_extents(self) -> dict[str, Size]:
        """Of the loops in it."""
        return {loop.name: loop.extent for loop in loops_in(self.body)}


Node = Union[Loop, Block]  # noqa: UP007  # made while this is imported


@dataclass(frozen=True)
class Tree:
    """A PrimFunc. `buffers` are all that there are, parameters first."""

    name: str
    buffers: tuple[Buffer, ...]
    body: tuple[Node, ...]

    # ---- looking ----

    def blocks(self) -> list[Block]:
        """In the order in which they run."""
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
        """Of all loops and blocks."""
        return frozenset({loop.name for loop in self._loops} | {block.name for block in self._blocks})

    def block(self, name: str) -> Block:
        return next(block for block in self._blocks if block.name == name)

    def loop(self, name: str) -> Loop:
        return next(loop for loop in self._loops if loop.name == name)

    def block_names(self) -> list[str]:
        """Of all, those around others, too."""
        return [*(block.name for block in self.blocks()), *(loop.name for loop in self.outer_blocks())]

    def outer_blocks(self) -> list[Loop]:
        """Blocks around others."""
        return [loop for loop in self.loops() if loop.kind == AROUND]

    def around(self, name: str) -> list[Loop]:
        """The loops around a block or a loop, outermost first."""
        found = _path(self.body, name)
        assert found is not None
        return found

    def extents(self) -> dict[str, Size]:
        return {loop.name: loop.extent for loop in self.loops()}

    def writers(self, buffer: Buffer) -> list[Block]:
        return [block for block in self.blocks() if block.writes_of(buffer)]

    def readers(self, buffer: Buffer) -> list[Block]:
        """Blocks that read what others have written; what one adds to its own sums does not count."""
        return [
            block
            for block in self.blocks()
            if any(access.buffer is buffer for access in block.reads) or buffer in block.loaded
        ]

    def nest_of(self, block: Block) -> int:
        """Which of the nests that the function is has a block."""
        return next(number for number, node in enumerate(self.body) if block in blocks_in([node]))

    # ---- names ----

    def new_name(self, wanted: str, taken: Iterable[str] = ()) -> str:
        """A name that no loop or block has."""
        return unique(wanted, {*self.names, *taken})

    def new_buffer_name(self, wanted: str) -> str:
        return unique(wanted, {buffer.name for buffer in self.buffers})

    # ---- changing ----

    def replaced(self, name: str, change: Callable[[Any], Sequence[Node]]) -> Tree:
        """With other nodes in place of a loop or block; loops that have nothing in them any more are gone."""
        return replace(self, body=_replaced(self.body, name, change))

    def mapped(self, change: Callable[[Block], Block]) -> Tree:
        """With each block changed."""
        return replace(self, body=mapped(self.body, change))

    def with_buffer(self, buffer: Buffer) -> Tree:
        return replace(self, buffers=(*self.buffers, buffer))

    def without_unused(self) -> Tree:
        """Buffers that no block names any more are gone; parameters stay."""
        used = {buffer for block in self.blocks() for buffer in block.buffers}
        return replace(self, buffers=tuple(each for each in self.buffers if each.is_given or each in used))

    def exchanged(self, old: Buffer, new: Buffer) -> Tree:
        """With another buffer in place of one, at the same indices."""
        return self.mapped(lambda block: exchanged(block, old, new)).redeclared(old, new)

    def redeclared(self, old: Buffer, new: Buffer) -> Tree:
        """With another buffer in place of one, which no block names any more."""
        return replace(self, buffers=tuple(new if each is old else each for each in self.buffers))


def unique(wanted: str, known: Iterable[str]) -> str:
    known = set(known)
    name, number = wanted, 0
    while name in known:
        number += 1
        name = f"{wanted}_{number}"
    return name


def variable(name: str, extent: Size) -> Size:
    """What counts from 0 to before an extent."""
    return make_variable(name, max(extent - 1, 0) if isinstance(extent, int) else None)


def iter_variable(each: Iter) -> Size:
    return variable(each.name, each.extent)


def blocks_in(nodes: Iterable[Node]) -> list[Block]:
    found: list[Block] = []
    for node in nodes:
        found += [node] if isinstance(node, Block) else blocks_in(node.body)
    return found


def loops_in(nodes: Iterable[Node]) -> list[Loop]:
    """Outer ones first."""
    found: list[Loop] = []
    for node in nodes:
        if isinstance(node, Loop):
            found += [node, *loops_in(node.body)]
    return found


def names_in(nodes: Iterable[Node]) -> set[str]:
    nodes = list(nodes)
    return {loop.name for loop in loops_in(nodes)} | {block.name for block in blocks_in(nodes)}


def mapped(nodes: Iterable[Node], change: Callable[[Block], Block]) -> tuple[Node, ...]:
    return tuple(
        change(node) if isinstance(node, Block) else replace(node, body=mapped(node.body, change)) for node in nodes
    )


def rebound(nodes: Iterable[Node], values: Mapping[str, Size]) -> tuple[Node, ...]:
    """With other values in place of loops' variables."""

    def change(block: Block) -> Block:
        where = tuple((substituted(index, values), limit) for index, limit in block.where)
        bindings = tuple(regrouped(substituted(each, values)) for each in block.bindings)
        return replace(block, bindings=bindings, where=where)

    return mapped(nodes, change)


def exchanged(block: Block, old: Buffer, new: Buffer) -> Block:
    other = block.with_accesses(lambda access: Access(new, access.indices) if access.buffer is old else access)
    regions = tuple(replace(each, buffer=new) if each.buffer is old else each for each in block.regions)
    return replace(other.with_exprs(lambda expr: expr.with_buffers({old: new})), regions=regions)


def nested(loops: Iterable[tuple[str, Size]], *nodes: Node) -> tuple[Node, ...]:
    """Nodes in new loops with these names and extents, outermost first."""
    for name, extent in reversed(list(loops)):
        nodes = (Loop(name, extent, nodes),)
    return nodes


def written_by(blocks: Iterable[Block]) -> list[Buffer]:
    return list(dict.fromkeys(access.buffer for block in blocks for access in block.writes))


def around_all(paths: Sequence[Sequence[Loop]]) -> list[Loop]:
    """The loops that paths, of the loops around blocks, have in common."""
    return [level[0] for level in zip(*paths, strict=False) if all(loop.name == level[0].name for loop in level)]


def loops_of(block: Block, kind: str = "") -> set[str]:
    """The loops by which its iters move, all or those of a kind."""
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
            body = _replaced(node.body, name, change)
            if body:
                found.append(node if body == node.body else replace(node, body=body))
        else:
            found.append(node)
    return tuple(found)
