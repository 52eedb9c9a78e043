# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loops that a text has around its blocks, as steps of a schedule: tiles and orders, where there are others.

Nests on tensors have one loop for each variable of a block, and how these run is the compiler's choice. Who asks for
a schedule finds the text's loops.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence

from ...dialects.script.syntax import operation_of
from ...passes.loops.trace import HEADER
from .names import Names
from .nest_reader import Nest
from .program import Allocate


def loop_lines(steps: Sequence[Nest | Allocate], names: Names) -> list[str]:
    """The steps from the nests' loops to the text's; none where these are the same."""
    nests = [step for step in steps if isinstance(step, Nest)]
    count = Counter(nest.name for nest in nests)
    lines: list[str] = []
    for number, nest in enumerate(nests):
        if nest.name and count[nest.name] == 1:
            lines += _lines(nest, names, f"b{number}")
    return [HEADER, *lines] if lines else []


def _lines(nest: Nest, names: Names, block: str) -> list[str]:
    """Of one block whose variables are each one loop, or loops in tiles."""
    order = [loop.name for loop in nest.loops]
    extents = {loop.name: names.found(loop.stop) for loop in nest.loops}
    tiles = [_tiles(axis.binding, names) for axis in nest.axes]
    used = [name for held in tiles for name, _ in held]
    if not all(tiles) or sorted(used) != sorted(order) or not all(_is_dense(held, extents) for held in tiles):
        return []
    if used == order and len(tiles) == len(order):
        return []
    # A variable that is one loop is called as the loop is.
    loops = [f"{block}_{held[0][0]}" if len(held) == 1 else f"{block}_{place}" for place, held in enumerate(tiles)]
    lines = [f'{block} = sch.get_block("{nest.name}")', f"{_targets(loops)} = sch.get_loops({block})"]
    for loop, held in zip(loops, tiles, strict=True):
        if len(held) > 1:
            factors = ["None", *(str(extents[name]) for name, _ in held[1:])]
            made = _targets([f"{block}_{name}" for name, _ in held])
            lines.append(f"{made} = sch.split({loop}, [{', '.join(factors)}])")
    if used != order:
        lines.append(f"sch.reorder({', '.join(f'{block}_{name}' for name in order)})")
    return lines


def _targets(names: Sequence[str]) -> str:
    return ", ".join(names) + "," * (len(names) == 1)


def _is_dense(held: Sequence[tuple[str, int]], extents: Mapping[str, object]) -> bool:
    """Whether each loop but the outermost one goes as far as the next one's step."""
    stride = 1
    for name, step in reversed(held):
        if step != stride:
            return False
        if (name, step) != held[0]:
            extent = extents[name]
            if type(extent) is not int:
                return False
            stride *= extent
    return True


def _tiles(node: ast.expr, names: Names) -> list[tuple[str, int]]:
    """The loops of `i0 * 16 + i1` with their strides, the longest first; none of another binding."""
    if isinstance(node, ast.Name):
        return [(node.id, 1)]
    sign, operands = operation_of(node)
    if len(operands) != 2 or sign not in ("+", "*"):
        return []
    left, right = (_tiles(each, names) for each in operands)
    if sign == "+":
        return sorted([*left, *right], key=lambda each: -each[1]) if left and right else []
    held, factor = left, names.found(operands[1])
    if not held or type(factor) is not int:
        held, factor = right, names.found(operands[0])
    return [(name, step * factor) for name, step in held] if type(factor) is int else []
