# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packing at compile time: constant parameters are copied once to the layout that a schedule reads.

A nest that only copies a parameter to a buffer is removed if all callers pass a constant: they pass its result instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, function_type_of
from ....dialects.core.indices import evaluated
from ....dialects.core.symbols_expr import Size
from ....support.replacing import replace
from .device_copies import is_copy, source_of
from .tree import Access, Block, Tree, blocks_in
from .tree_buffers import Buffer
from .tree_reader import Read

if TYPE_CHECKING:
    from numpy import ndarray


class ConstantCopy(NamedTuple):
    """Number of a parameter, the block that copies it, and the buffer that replaces it."""

    parameter: int
    block: Block
    buffer: Buffer

    def of(self, elements: ndarray) -> ndarray:
        """Return the block's result for a constant. Elements that the block does not write are zero."""
        import numpy

        points = numpy.indices(_known(iter_.extent for iter_ in self.block.iters), sparse=True)
        iters = {iter_.name: point for iter_, point in zip(self.block.iters, points, strict=True)}

        def places(access: Access) -> tuple[ndarray | int, ...]:
            return tuple(evaluated(index, iters) for index in access.indices)

        made = numpy.zeros(_known(self.buffer.shape), elements.dtype)
        made[places(self.block.writes[0])] = elements[places(source_of(self.block))]
        return made


def _known(sizes: Iterable[Size]) -> list[int]:
    return [size for size in sizes if isinstance(size, int)]


def constant_copies(read: Read, tree: Tree, known: Set[int]) -> list[ConstantCopy]:
    """Return the nests that copy constant parameters (with numbers in `known`) that nothing else reads."""
    found = []
    for node in tree.body:
        (block, *others) = blocks_in([node])
        if others or block.is_part or not is_copy(block) or block.loaded:
            continue
        source, target = source_of(block).buffer, block.writes[0].buffer
        number = int(getattr(read.memory.get(source), "arg_number", -1)) if source.is_given else -1
        users = [each for each in tree.blocks() if source in each.buffers]
        is_own = not target.is_given and target.scope == "global" and tree.writers(target) == [block]
        sizes = [*target.shape, *(iter_.extent for iter_ in block.iters)]
        if number in known and users == [block] and is_own and len(_known(sizes)) == len(sizes):
            found.append(ConstantCopy(number, block, target))
    return found


def take_copied(function: Operation, read: Read, tree: Tree, copies: Sequence[ConstantCopy]) -> tuple[Read, Tree]:
    """Replace the copied parameters of the function by the results of the copies, and remove the nests that copy."""
    memory = dict(read.memory)
    for copy in copies:
        argument = body_of(function).arguments[copy.parameter]
        given = replace(copy.buffer, is_given=True)
        argument.set_type(ir.MemRefType.get(list(given.shape), given.element))
        memory[given] = argument
        source = source_of(copy.block).buffer
        tree = tree.replaced(copy.block.name, lambda _: ()).exchanged(copy.buffer, given)
        ordered = [given if buffer is source else buffer for buffer in tree.buffers if buffer is not given]
        tree = replace(tree, buffers=tuple(ordered))
    inputs = [argument.type for argument in body_of(function).arguments]
    new = ir.FunctionType.get(inputs, function_type_of(function).results)
    function.attributes["function_type"] = ir.TypeAttr.get(new)
    return read._replace(memory=memory), tree
