# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs: a sequence of operators on earlier values and on new inputs from their rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy
from relax_mlir.dialects.core.dialect import find_op

from .building import Building, Search
from .core.cases import Case, Setup, seeded
from .core.rows import CLASSES, Row
from .core.trees import Leaf, Made, Node, Tree
from .fitting import Reading, all_rows, listed

#: Number of graphs, and fewest and most operators of a graph.
_COUNT, _LEAST, _MOST = 60, 3, 9
#: Most attempts to add an operator, and most calls tried.
_PATIENCE, _MOST_STEPS = 60, 4000
#: One of the first six valid calls is chosen.
_WAYS = 6
#: Families of operators that are defined for all numbers, including special ones.
_FAMILIES = "elementwise linear_algebra manipulate nn_activation nn_conv nn_misc nn_norm nn_pool reduction".split()
_SHARE_ALIKE, _SHARE_ALL = 0.4, 0.25


def cases() -> Iterator[Case]:
    """Yield the random graphs. They differ by seed."""
    for number in range(_COUNT):
        yield _case(f"graph {number}")


def _case(name: str) -> Case:
    return Case(name, "graphs", lambda seed: _drawn(seeded(name, seed)))


def _drawn(random: numpy.random.Generator) -> Setup:
    rows = [row for row in all_rows(_FAMILIES) if _takes_any(row)]
    tree = Tree([], [])
    search = Search(tree, _MOST_STEPS)
    called: dict[Made, Reading] = {}
    wanted = int(random.integers(_LEAST, _MOST + 1))
    for _ in range(_PATIENCE):
        operator = _operator(rows[int(random.integers(len(rows)))], tree, random)
        if ways := list(islice(search.accepted(operator), int(random.integers(1, _WAYS + 1)))):
            called[operator] = ways[-1]
            search.take(operator, ways[-1])
            tree.operators.append(operator)
        if len(called) == wanted:
            break
    read = {node for each in tree.operators for nodes in (each.operands or {}).values() for node in nodes}
    is_whole = random.random() < _SHARE_ALL
    tree.results = [each for each in tree.operators if is_whole or each not in read]
    return Building(tree, called, random).setup()


def _takes_any(row: Row) -> bool:
    """Check whether the first operand may be any operator's result."""
    texts = listed(row.operands[0]) if row.operands else ()
    return bool(texts) and 0 not in row.given and texts[0].dtype in CLASSES and not texts[0].low


def _operator(row: Row, tree: Tree, random: numpy.random.Generator) -> Made:
    """Return an operator on one of the last values, and sometimes on two."""
    operands: dict[str, tuple[Node, ...]] = {}
    for place, (operand, given) in enumerate(zip(find_op(row.op).operands, row.operands, strict=False)):
        texts = listed(given)
        if not texts or not tree.operators or not _takes_any(row._replace(operands=(given,), given={})):
            continue
        if place == 0 or random.random() < _SHARE_ALIKE:
            operands[operand.name] = (_recent(tree, random), *(Leaf() for _ in texts[1:]))
    return Made(op=row.op, operands=operands, is_open=True)


def _recent(tree: Tree, random: numpy.random.Generator) -> Made:
    return tree.operators[-min(int(random.geometric(0.5)), len(tree.operators))]
