# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive compute_inline: fusion of a producer into its consumers, without a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.core.symbols_expr import Size
from ....support.replacing import replace
from ..loops.body_scalars import Element, Expr, IterIndex, Load
from ..loops.handles import BlockRV
from ..loops.index_exprs import indices_at
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import Access, Block
from ..loops.tree_buffers import Buffer
from .code_motion import check_only_writer, check_passes, plain_iter


@register_primitive
def compute_inline(edit: Edit, block: BlockRV) -> None:
    """Inline a block into all its readers, and remove its buffer."""
    found = edit.block(block)
    buffer = check_inlinable(edit, found)
    if buffer.is_given:
        edit.refuse(f"'{buffer.name}' is a parameter, which must be written")
    readers = edit.tree.readers(buffer)
    users = [each for each in edit.tree.blocks() if buffer in each.buffers and each is not found]
    if not users:  # without readers, the block is dead
        edit.replace(found.name, [])
        edit.tree = edit.tree.without_unused()
        return
    blocks = edit.tree.blocks()
    check_passes(edit, found, blocks[blocks.index(found) : blocks.index(readers[-1]) + 1], between=[buffer])
    edit.tree = edit.tree.mapped(lambda each: _inlined(edit, found, each) if each in readers else each)
    edit.replace(found.name, [])
    edit.tree = edit.tree.without_unused()


def check_once(edit: Edit, block: Block) -> Access:
    """Return the only write of a block that writes each element of its buffer once."""
    if len(block.writes) != 1:
        edit.refuse(f"'{block.name}' has {len(block.writes)} outputs: only a block with one output can be inlined")
    if block.is_reduction or block.inits is not None:
        edit.refuse(f"'{block.name}' is a reduction: use compute_at")
    access = block.writes[0]
    if block.reads_output(0) or any(read.buffer is access.buffer for read in block.reads):
        edit.refuse(f"'{block.name}' depends on previous values of '{access.buffer.name}': it can run only once")
    check_only_writer(edit, block, access.buffer)
    return access


def check_inlinable(edit: Edit, block: Block) -> Buffer:
    """Return the buffer of a block that writes each element once, at indices that are its iters."""
    access = check_once(edit, block)
    named = [plain_iter(block, index) for index in access.indices]
    plain = [iter_ for iter_ in named if iter_ is not None]
    fixed = [index for index, iter_ in zip(access.indices, named, strict=True) if iter_ is None]
    if any(index != 0 for index in fixed) or len({each.name for each in plain}) != len(block.iters):
        edit.refuse(
            f"'{block.name}' writes at [{', '.join(map(str, access.indices))}], but the indices must be its iters"
        )
    return access.buffer


def _inlined(edit: Edit, producer: Block, consumer: Block) -> Block:
    """Return the consumer with the producer's expression in place of the reads of its result."""
    target = producer.writes[0]
    reads = [access for access in consumer.reads if access.buffer is not target.buffer]
    numbers = {number: reads.index(access) for number, access in enumerate(consumer.reads) if access in reads}
    inlined: dict[int, Expr] = {}
    for number, access in enumerate(consumer.reads):
        if access.buffer is target.buffer:
            values = {str(place): at for place, at in zip(target.indices, access.indices, strict=True) if place != 0}
            inlined[number] = _at(producer, values, len(reads))
            reads += [each.at(values) for each in producer.reads]
    for number in range(len(consumer.writes)):
        numbers[len(consumer.reads) + number] = len(reads) + number

    def change(part: Expr) -> Expr | None:
        if isinstance(part, Load) and part.buffer is target.buffer:
            return _loaded(edit, producer, [index.rewritten(change) for index in part.indices])
        if not isinstance(part, Element):
            return None
        return inlined[part.number] if part.number in inlined else Element(numbers[part.number])

    return merge_reads(replace(consumer, reads=tuple(reads)).with_exprs(lambda expr: expr.rewritten(change)))


def _at(producer: Block, values: dict[str, Size], first: int) -> Expr:
    """Return the producer's expression at a point, with its elements numbered from `first`."""
    return producer.results[0].at(values).renumbered({n: first + n for n in range(len(producer.reads))})


def _loaded(edit: Edit, producer: Block, indices: Sequence[Expr]) -> Expr:
    """Return the producer's expression at computed indices, with loads in place of its reads."""
    places = zip(producer.writes[0].indices, indices, strict=True)
    values = {str(place): index for place, index in places if place != 0}

    def at(places: Sequence[Size], name: str) -> list[Expr]:
        if (found := indices_at(places, values)) is None:
            edit.refuse(f"'{name}' is read at computed indices, at which '{producer.name}' cannot be evaluated")
        return found

    def change(part: Expr) -> Expr | None:
        if isinstance(part, Element):
            access = producer.reads[part.number]
            return Load(access.buffer, tuple(at(access.indices, producer.writes[0].buffer.name)))
        return at([part.value], producer.name)[0] if isinstance(part, IterIndex) else None

    return producer.results[0].rewritten(change)


def merge_reads(block: Block) -> Block:
    """Return the block without duplicate and unused reads."""
    used = set().union(*(expr.elements() for expr in (*block.results, *(block.inits or ()))))
    reads: list[Access] = []
    numbers: dict[int, int] = {}
    for number, access in enumerate(block.reads):
        if number in used:
            if access not in reads:
                reads.append(access)
            numbers[number] = reads.index(access)
    for number in range(len(block.writes)):
        numbers[len(block.reads) + number] = len(reads) + number
    return replace(block, reads=tuple(reads)).with_exprs(lambda expr: expr.renumbered(numbers))
