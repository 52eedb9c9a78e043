# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor intrinsics: instructions and micro-kernels, each with the small loop nest that it replaces (tensorization).

@rx.schedules.register_tensor_intrin("mynpu.tile", '''
@T.prim_func
def tile(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((4, 16), "float32")):
    for i, j, k in T.grid(4, 16, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
''')
def tile(a, b, c):
    ...emits what does that, on memrefs of these shapes with strides: `tir.call_extern`, vectors, loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import permutations
from types import MappingProxyType
from typing import Any, NamedTuple

from ....dialects.core.symbols_expr import Size, substituted, variables_of
from ....dialects.tir.prim_func import prim_funcs_in
from ....support.errors import RelaxError
from ....support.registry import Named, NamedRegistry
from ....targets.core.registry import load_tensor_intrins
from .body_scalars import Compute, Element, Expr
from .bufferized import Scratch
from .memories import EmitWait
from .ranges import guards, range_of
from .show import Shown
from .tree import AROUND, SERIAL, Access, Block, Loop, Tree, loops_in
from .tree_buffers import Buffer

#: Kind of a loop that an intrinsic computes, with all loops inside; annotation with the intrinsic's name.
TENSORIZED, INTRIN = "tensorized", "tensor_intrin"
_COMMUTATIVE = frozenset(
    "arith.addf arith.addi arith.mulf arith.muli arith.maximumf arith.minimumf arith.maxsi arith.minsi arith.maxui "
    "arith.minui arith.andi arith.ori arith.xori".split()
)
_MOST_READS = 6


class Operand(NamedTuple):
    """Operand of an intrinsic.

    A part of a buffer, with its start, and sizes and strides along the intrinsic's dimensions.
    """

    access: Access
    dims: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


class Mismatch(Exception):
    """Reason why loops do not compute the same as an intrinsic."""


class Engine(NamedTuple):
    """Execution of an intrinsic.

    `cost` is the cost of one run, or a function from the number of runs to their cost. `memories` are the memories of
    operands, by name. `wait` emits the wait for an asynchronous intrinsic.
    """

    cost: float | Callable[[int], float] = 1.0
    memories: Mapping[str, str] = MappingProxyType({})
    wait: EmitWait | None = None

    def cost_of(self, runs: int) -> float:
        return self.cost(runs) if callable(self.cost) else self.cost * runs


class TensorIntrin:
    """Tensor intrinsic. `emit(*memrefs)` emits code for memrefs in the order of the description's parameters.

    `needs_stack`: `emit` also gets the block for stack allocations. `is_targets`: the intrinsic belongs to a target,
    and auto_tensorize uses it only by name. `needs`: alternative sets of features; the machine must have all features
    of one set.
    """

    def __init__(
        self,
        emit: Callable[..., object],
        tree: Tree | Callable[[], Tree],
        *,
        needs_stack: bool = False,
        engine: Engine | None = None,
        is_targets: bool = False,
        needs: Sequence[str] = (),
    ):
        self.emit, self._tree, self.needs_stack, self.is_targets = emit, tree, needs_stack, is_targets
        self.needs = tuple(needs)
        self.engine = engine or Engine()
        # Registries report where this function is defined.
        self.__wrapped__ = emit

    @cached_property
    def tree(self) -> Tree:
        """Return the loops that the intrinsic computes."""
        return self._tree() if callable(self._tree) else self._tree


def _import_targets(name: str | None) -> None:
    """Import the intrinsics of a target. Their names begin with the target's, as LLVM's intrinsics do."""
    if name is not None:
        load_tensor_intrins(name.partition(".")[0])


_INTRINS = NamedRegistry[TensorIntrin]("a tensor intrinsic", source=_import_targets)


def add_intrin(name: str, intrin: TensorIntrin) -> None:
    """Register an intrinsic. Refuses a name that is taken."""
    _INTRINS.register(name, intrin)


def all_intrins() -> list[Named[TensorIntrin]]:
    """Return all intrinsics, sorted by name, with the places of their registration."""
    return _INTRINS.all()


def find_intrin(name: str) -> TensorIntrin:
    """Return the intrinsic of a name. Raises RelaxError, which suggests the nearest name."""
    return _INTRINS.get(name)


def described(description: Any) -> Tree:
    """Return the loops of a description, which is a module with one PrimFunc.

    Raises RelaxError for invalid descriptions.
    """
    functions = prim_funcs_in(description.operation)
    if len(functions) != 1:
        raise RelaxError(f"an intrinsic's description must be one PrimFunc, not {len(functions)}")
    tree = Scratch(functions[0]).read.tree
    blocks = tree.blocks()
    if len(blocks) != 1 or blocks[0].inits is not None:
        raise RelaxError(
            "an intrinsic's description must have one block without an init; decompose_reduction removes an init"
        )
    _check_described(tree, blocks[0])
    return tree


def _check_described(tree: Tree, block: Block) -> None:
    """Check that the parameters are exactly the memory that one run uses."""
    steps = {iter_.name: iter_.extent for iter_ in block.iters}
    if not all(isinstance(extent, int) for extent in steps.values()):
        raise RelaxError("the sizes of an intrinsic's description must be numbers")
    if block.loaded:
        raise RelaxError(f"{_AT_VARIABLES}, '{block.loaded[0].name}' is read at computed indices")
    for access in block.accesses:
        name = access.buffer.name
        if not access.buffer.is_given:
            raise RelaxError(
                f"an intrinsic's description must not allocate memory, such as '{name}': make the buffer a parameter"
            )
        for index, size in zip(access.indices, access.buffer.shape, strict=True):
            if str(index) not in steps:
                raise RelaxError(f"{_AT_VARIABLES}, '{name}' is used at {index}")
            if steps[str(index)] != size:
                problem = f"'{name}' has {size} elements along '{index}', which has {steps[str(index)]} steps"
                raise RelaxError(f"an intrinsic's description must use all of each parameter: {problem}")
    unused = next((buffer.name for buffer in tree.buffers if buffer not in block.buffers), None)
    if unused is not None:
        raise RelaxError(f"an intrinsic's description must use all parameters: '{unused}' is unused")


_AT_VARIABLES = "an intrinsic's description must use its block's variables as indices"


def operands_of(tree: Tree, loop: Loop, intrin: TensorIntrin) -> list[Operand]:
    """Return the parts of buffers that an intrinsic gets for one run of a loop.

    Raises Mismatch if the loop does not fit it.
    """
    wanted = intrin.tree
    (target,) = wanted.blocks()
    block = _only_block(loop)
    inner = {each.name: each.extent for each in (loop, *loops_in(loop.body))}
    pairs = _paired(block, target, _ranges(tree, block, inner))
    order = _same_reads(block, target, pairs, inner)
    found: dict[int, Operand] = {}
    buffers = [buffer for buffer in wanted.buffers if buffer.is_given]
    accesses = [*(block.reads[number] for number in order), *block.writes]
    for access, described_access in zip(accesses, target.accesses, strict=True):
        place = buffers.index(described_access.buffer)
        operand = _operand(block, access, described_access, pairs, inner)
        if found.setdefault(place, operand) != operand:
            parts = f"parts of '{found[place].access.buffer.name}' and of '{access.buffer.name}'"
            raise Mismatch(
                f"the intrinsic's '{described_access.buffer.name}' would be {parts}, but it must be one part"
            )
    operands = [found[place] for place in range(len(buffers))]
    _check_places(block, buffers, operands, intrin.engine.memories)
    return operands


def _check_places(
    block: Block, buffers: Sequence[Buffer], operands: Sequence[Operand], memories: Mapping[str, str]
) -> None:
    """Check that each operand is in the memory that the intrinsic requires."""
    for described_as, operand in zip(buffers, operands, strict=True):
        buffer, wanted = operand.access.buffer, memories.get(described_as.name, operand.access.buffer.scope)
        if buffer.scope == wanted:
            continue
        step = "cache_write" if block.writes_of(buffer) else "cache_read"
        hint = f'sch.{step}({block.name}, "{buffer.name}", "{wanted}")'
        raise Mismatch(f"'{buffer.name}' is in '{buffer.scope}', but the intrinsic's '{described_as.name}' must be in "
                       f"'{wanted}': {hint} copies it there")  # fmt: skip


def _only_block(loop: Loop) -> Block:
    node: Any = loop
    while isinstance(node, Loop):
        if node.kind not in (SERIAL, TENSORIZED, AROUND):
            raise Mismatch(f"'{node.name}' is {node.kind}: an intrinsic replaces serial loops")
        if len(node.body) != 1:
            raise Mismatch(f"'{node.name}' contains {len(node.body)} nodes: an intrinsic computes one block")
        node = node.body[0]
    assert isinstance(node, Block)
    return node


def _ranges(tree: Tree, block: Block, inner: Mapping[str, Size]) -> dict[str, int]:
    """Return the number of steps of each iter that moves inside of the loop."""
    if block.inits is not None:
        raise Mismatch(f"'{block.name}' has an init: remove it first with decompose_reduction")
    for guard in guards(block, tree.extents()):
        if not variables_of(guard.at).isdisjoint(inner):
            raise Mismatch(
                f"'{block.name}' has points only where {guard.at} is below {guard.limit}: pad the block first"
            )
    ranges: dict[str, int] = {}
    for iter_, at in zip(block.iters, block.bindings, strict=True):
        if not (used := variables_of(at) & set(inner)):
            continue
        reached = range_of(at, inner)
        steps = 1
        for name in used:
            steps *= inner[name] if isinstance(inner[name], int) else 0  # type: ignore[assignment]
        if reached is None or reached.extent != steps:
            raise Mismatch(f"'{iter_.name}' is {at}, which does not advance one by one inside of the loop")
        ranges[iter_.name] = steps
    return ranges


def _paired(block: Block, target: Block, ranges: Mapping[str, int]) -> dict[str, str]:
    """Return the intrinsic's iter for each moving iter of the block, pairwise in order."""
    own = [iter_ for iter_ in block.iters if iter_.name in ranges]
    if len(own) != len(target.iters):
        raise Mismatch(f"{len(own)} variables of '{block.name}' move inside of the loop, the intrinsic has "
                       f"{len(target.iters)}")  # fmt: skip
    for mine, other in zip(own, target.iters, strict=True):
        if mine.kind != other.kind:
            kinds = _kind(mine.kind), _kind(other.kind)
            raise Mismatch(f"'{mine.name}' is {kinds[0]}, but the intrinsic's '{other.name}' is {kinds[1]}")
        if (steps := ranges[mine.name]) != other.extent:
            raise Mismatch(f"'{mine.name}' has {steps} steps, but the intrinsic's '{other.name}' has {other.extent}")
    return {mine.name: other.name for mine, other in zip(own, target.iters, strict=True)}


def _kind(kind: str) -> str:
    return "spatial" if kind == "S" else "a reduction"


def _same_reads(block: Block, target: Block, pairs: Mapping[str, str], inner: Mapping[str, Size]) -> tuple[int, ...]:
    """Return the order of the block's reads for which the block computes the same as the intrinsic."""
    count = len(target.reads)
    if len(block.reads) != count or len(block.writes) != len(target.writes):
        raise Mismatch(f"inputs and outputs of '{block.name}' are {len(block.reads)} and {len(block.writes)}, the "
                       f"intrinsic's {count} and {len(target.writes)}")  # fmt: skip
    if count > _MOST_READS:
        raise Mismatch(f"{count} inputs are too many to compare, {_MOST_READS} at most")
    reason = f"'{block.name}' computes {computed_by(block)}, the intrinsic {computed_by(target)}"
    for order in orders_of(block, target):
        try:
            for access, other in zip([*(block.reads[n] for n in order), *block.writes], target.accesses, strict=True):
                _operand(block, access, other, pairs, inner)
        except Mismatch as mismatch:
            reason = str(mismatch)
            continue
        return order
    raise Mismatch(reason)


def orders_of(block: Block, target: Block) -> Iterator[tuple[int, ...]]:
    """Yield the orders of a block's reads for which it computes the same as another block with as many reads."""
    count = len(target.reads)
    for order in permutations(range(count)) if count <= _MOST_READS else ():
        numbers = {own: place for place, own in enumerate(order)}
        numbers.update({count + number: count + number for number in range(len(block.writes))})
        if all(_same(mine, other, numbers) for mine, other in zip(block.results, target.results, strict=True)):
            yield order


def computed_by(block: Block) -> str:
    shown = Shown(block, block.results)
    texts = [shown.text(expr) for expr in block.results]
    return "; ".join([*shown.lines, ", ".join(texts)])


def _same(mine: Expr, other: Expr, numbers: Mapping[int, int]) -> bool:
    if isinstance(mine, Element) and isinstance(other, Element):
        return numbers[mine.number] == other.number
    if not isinstance(mine, Compute) or not isinstance(other, Compute):
        return False
    if (mine.name, str(mine.type), len(mine.operands)) != (other.name, str(other.type), len(other.operands)):
        return False
    if mine.name == "arith.constant" and str(dict(mine.attributes)["value"]) != str(dict(other.attributes)["value"]):
        return False
    orders = permutations(other.operands) if mine.name in _COMMUTATIVE else [other.operands]
    return any(all(_same(a, b, numbers) for a, b in zip(mine.operands, order, strict=True)) for order in orders)


def _operand(
    block: Block, access: Access, other: Access, pairs: Mapping[str, str], inner: Mapping[str, Size]
) -> Operand:
    """Return the part of a buffer, if its moving dimensions are the intrinsic's, in the same order."""
    if str(access.buffer.element) != str(other.buffer.element):
        raise Mismatch(f"'{access.buffer.name}' has {access.buffer.element}, the intrinsic's '{other.buffer.name}' has "
                       f"{other.buffer.element}")  # fmt: skip
    placed, still = block.placed(access), dict.fromkeys(inner, 0)
    start = Access(access.buffer, tuple(substituted(index, still) for index in placed.indices))
    moves = [index - first for index, first in zip(placed.indices, start.indices, strict=True)]
    moving = [dim for dim, move in enumerate(moves) if move != 0]
    if len(moving) != len(other.indices):
        raise Mismatch(f"'{access.buffer.name}' moves along {len(moving)} of its dimensions, the intrinsic's "
                       f"'{other.buffer.name}' has {len(other.indices)}")  # fmt: skip
    steps = {pairs[name]: _inside(at, inner) for name, at in block.point().items() if name in pairs}
    strides = []
    for dim, index in zip(moving, other.indices, strict=True):
        stride = _stride(moves[dim], steps[str(index)], inner)
        # An intrinsic's code assumes that the elements of its last dimension are contiguous.
        if stride is None or (stride > 1 and index is other.indices[-1]):
            raise Mismatch(f"'{access.buffer.name}' is used at {access.indices[dim]}, the intrinsic's "
                           f"'{other.buffer.name}' at {index}")  # fmt: skip
        strides.append(stride)
    sizes = tuple(int(size) for size in other.buffer.shape)  # type: ignore[arg-type]  # they are numbers: described
    return Operand(start, tuple(moving), sizes, tuple(strides))


def _stride(move: Size, step: Size, inner: Mapping[str, Size]) -> int | None:
    """Return the constant distance between steps in elements, or None if it varies."""
    moved, stepped = (substituted(size, dict.fromkeys(inner, 1)) for size in (move, step))
    if not isinstance(moved, int) or not isinstance(stepped, int) or moved < stepped or stepped < 1:
        return None
    return moved // stepped if move == step * (moved // stepped) else None


def _inside(at: Size, inner: Mapping[str, Size]) -> Size:
    """Return the part of a binding that moves inside of the loop."""
    return at - substituted(at, dict.fromkeys(inner, 0))
