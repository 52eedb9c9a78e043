# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive compute_inline: fusion of a producer into its consumers, without a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.core.symbols_expr import Size
from ...support.replacing import replace
from ..loops.body_scalars import Element, Expr, IterIndex, Load
from ..loops.handles import BlockRV
from ..loops.index_exprs import indices_at
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import Access, Block, Buffer
from .code_motion import check_only_writer, check_passes, plain_iter


@register_primitive
def compute_inline(edit: Edit, block: BlockRV) -> None:
    """Computes what a block makes anew wherever it is read; its buffer is gone."""
    found = edit.block(block)
    buffer = check_inlinable(edit, found)
    if buffer.is_given:
        edit.refuse(f"'{buffer.name}' is a parameter, which has to be written")
    readers = edit.tree.readers(buffer)
    users = [each for each in edit.tree.blocks() if buffer in each.buffers and each is not found]
    if not users:  # then it need not run
        edit.replace(found.name, [])
        edit.tree = edit.tree.without_unused()
        return
    blocks = edit.tree.blocks()
    check_passes(edit, found, blocks[blocks.index(found) : blocks.index(readers[-1]) + 1], between=[buffer])
    edit.tree = edit.tree.mapped(lambda each: _inlined(edit, found, each) if each in readers else each)
    edit.replace(found.name, [])
    edit.tree = edit.tree.without_unused()


def check_once(edit: Edit, found: Block) -> Access:
    """Where it alone writes, each element once."""
    if len(found.writes) != 1:
        edit.refuse(f"'{found.name}' has {len(found.writes)} outputs: what can be inlined has one")
    if found.is_reduction or found.inits is not None:
        edit.refuse(f"'{found.name}' is a reduction: use compute_at")
    access = found.writes[0]
    if found.reads_output(0) or any(read.buffer is access.buffer for read in found.reads):
        edit.refuse(f"'{found.name}' goes on with what '{access.buffer.name}' holds: it can run once only")
    check_only_writer(edit, found, access.buffer)
    return access


def check_inlinable(edit: Edit, found: Block) -> Buffer:
    """The buffer that it alone writes, each element once, at its iters."""
    access = check_once(edit, found)
    named = [plain_iter(found, index) for index in access.indices]
    plain = [each for each in named if each is not None]
    fixed = [index for index, each in zip(access.indices, named, strict=True) if each is None]
    if any(index != 0 for index in fixed) or len({each.name for each in plain}) != len(found.iters):
        edit.refuse(f"'{found.name}' writes at [{', '.join(map(str, access.indices))}], which must be its iters alone")
    return access.buffer


def _inlined(edit: Edit, producer: Block, consumer: Block) -> Block:
    """The consumer, with what the producer computes in place of what it has read."""
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

    return merged(replace(consumer, reads=tuple(reads)).with_exprs(lambda expr: expr.rewritten(change)))


def _at(producer: Block, values: dict[str, Size], first: int) -> Expr:
    """What the producer computes at a point; its elements are numbered from here on."""
    return producer.results[0].at(values).renumbered({n: first + n for n in range(len(producer.reads))})


def _loaded(edit: Edit, producer: Block, indices: Sequence[Expr]) -> Expr:
    """What the producer computes at a place that is computed: so it reads there."""
    places = zip(producer.writes[0].indices, indices, strict=True)
    values = {str(place): index for place, index in places if place != 0}

    def at(places: Sequence[Size], name: str) -> list[Expr]:
        found = indices_at(places, values)
        if found is None:
            edit.refuse(f"'{name}' is read at places that are computed, at which '{producer.name}' would compute more")
        return found

    def change(part: Expr) -> Expr | None:
        if isinstance(part, Element):
            access = producer.reads[part.number]
            return Load(access.buffer, tuple(at(access.indices, producer.writes[0].buffer.name)))
        return at([part.value], producer.name)[0] if isinstance(part, IterIndex) else None

    return producer.results[0].rewritten(change)


def merged(block: Block) -> Block:
    """With each element that is read twice read once, and without those that nothing is made of."""
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
