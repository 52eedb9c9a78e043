# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pairs of bytes for CPUs that add two products of an unsigned and a signed byte in 16 bits, with saturation.

A pair saturates if both weights have the same sign and their sum is outside of [-128, 128]. Constant weights are known:

- `safe`: no pair of the weights can saturate.
- `masked`: one weight of each other pair is negated, so that the signs of the pair differ. A mask complements the row's
  byte x: the product of 255 - x and -w is x * w - 255 * w. The sums subtract the last term, which is the product of a
  row of zeros. Masks also flip the sign bits of signed rows, at no cost. They take as many bytes as the weights.

Both need fewer instructions than products of 16 bits, which take 4 for 32 products and widen bytes first: `safe` takes
3, `masked` takes 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ....bindings.rewriting import Decline
from ....emit.structured import StructuredOp
from ....targets.core.machine import Machine
from .dots import dots_of, factor_kinds
from .loop_collapsing import join
from .packed_plans import Packing
from .packing import masked_type, unmasked
from .plan import MASKED, SAFE, Plan

if TYPE_CHECKING:
    from numpy import ndarray

#: Largest absolute sum of a pair's weights: 255 times more does not fit in 16 bits.
_LARGEST = 128
#: Groups of a reduction inside of another one that are one step, without a loop. Blocks of 8 channels have two: the
#: loop took 0.17 of the time of convolutions with masks.
_FEW_STEPS = 2
#: Rows that share weights, from which masks pay off: they double the bytes of the weights, and need a row of zeros.
_FEWEST_ROWS = 8


def in_byte_pairs(
    op: StructuredOp, packing: Packing, packed: Sequence[ndarray], machine: Machine
) -> tuple[Packing, Sequence[ndarray]]:
    """Return the packing for pairs of bytes, and its packed weights, if the machine and all weights allow pairs."""
    plan, joined = packing.plan, join(op, packing.plan.joined)
    if (kind := _kind_of_rows(joined, plan, machine)) is None:
        return packing, packed
    if not any(_unsafe(weights).any() for weights in packed):
        return _with(joined, packing, SAFE), packed
    columns = packing.operand
    sharing = [joined.sizes[dim] for dim in joined.parallels if not joined.uses(columns, dim)]
    if math.prod(_FEWEST_ROWS if size is None else size for size in sharing) < _FEWEST_ROWS:
        return packing, packed
    masked = [found for weights in packed if (found := with_masks(weights, kind)) is not None]
    return (_with(joined, packing, MASKED), masked) if len(masked) == len(packed) else (packing, packed)


def _kind_of_rows(op: StructuredOp, plan: Plan, machine: Machine) -> str | None:
    """Return the kind of the rows' elements if the machine has pairs for the plan, else None."""
    if plan.dot is None or not any(dot.byte_pairs for dot in machine.dots):
        return None
    try:
        dots = dots_of(op, replace(plan, dot=plan.dot._replace(pairs=SAFE)), machine)
        return None if dots is None or not dots.pairs else factor_kinds(op)[0][dots.rows]
    except Decline:
        return None


def _with(op: StructuredOp, packing: Packing, pairs: str) -> Packing:
    plan = packing.plan
    assert plan.dot is not None
    dot, steps = plan.dot._replace(pairs=pairs), (op.sizes[plan.dot.dim] or 0) // plan.dot.group
    tile = {**plan.tile, dot.dim: steps} if 1 < steps <= _FEW_STEPS and plan.carried > 1 else plan.tile
    return packing._replace(
        plan=replace(plan, dot=dot, tile=tile),
        type_of=lambda type_: masked_type(packing.type_of(type_), dot),
        unpack=lambda packed, type_: packing.unpack(unmasked(packed, dot), type_),
    )


def _unsafe(packed: ndarray) -> ndarray:
    """Return the pairs of packed weights that can saturate. Weights of different signs have no large sum."""
    pairs = packed.reshape(-1, 2).astype("int16")
    return abs(pairs[:, 0] + pairs[:, 1]) > _LARGEST


def with_masks(packed: ndarray, kind: str) -> ndarray | None:
    """Return factors of which no pair saturates, and the masks of the rows behind them.

    `kind` is the kind of the rows' elements. Return None for a pair of -128, which have no negative.
    """
    import numpy

    weights, unsafe = packed.reshape(-1), numpy.flatnonzero(_unsafe(packed))
    negated = 2 * unsafe + (weights[2 * unsafe + 1] != -_LARGEST)
    if (weights[negated] == -_LARGEST).any():
        return None
    both = numpy.stack([weights, numpy.full_like(weights, -_LARGEST if kind == "s8" else 0)])
    both[0, negated] *= -1
    both[1, negated] ^= -1
    first, *inside = packed.shape
    return both.reshape(2 * first, *inside)
