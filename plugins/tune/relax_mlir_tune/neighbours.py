# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of kernels with the same operations at other sizes, which a search tries first."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import relax_mlir as rx
from relax_mlir.bindings.rewriting import Decline
from relax_mlir.dialects.tir.prim_func import prim_funcs_in
from relax_mlir.emit.structured import StructuredOp
from relax_mlir.passes.kernels.schedule.fitting import check_plan
from relax_mlir.passes.kernels.schedule.plan import parse_plan
from relax_mlir.passes.kernels.schedule.tuned_plans import MachineFacts, TunedKernel
from relax_mlir.schedules import Plan

from .space import PlanChoice, Plans, Space

#: Largest number of similar kernels with plans to try.
_MOST = 3
_BYTES = 8
#: Sizes in a kernel's text: of shaped types, of index constants, and in names of values.
_SIZES = re.compile(r"(?<=[<x])(?:\d+|\?)(?=x)")
_INDICES = re.compile(r"%c\d+(?:_\d+)?|arith\.constant \d+ : index")
_NAME = re.compile(r"@[\w$.]+\(")
_SHAPE = re.compile(r"(?<=[<x])\d+(?=x)")


def structure_of(module: rx.Module) -> str:
    """Return a hash of a task's kernel without its name and sizes."""
    (function,) = prim_funcs_in(module.operation)
    text = _INDICES.sub("index", _SIZES.sub("_", _NAME.sub("@kernel(", str(function), count=1)))
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=_BYTES).hexdigest()


def neighbouring_plans(
    space: Space, key: str, structure: str, types: Sequence[str], kernels: Iterable[TunedKernel]
) -> list[Plans]:
    """Return plans of the most similar tuned kernels, adapted to the sizes of a space. Plans that do not fit are left
    out."""
    facts = MachineFacts.of(space.machine)
    near = [kernel for kernel in kernels if kernel.structure == structure and kernel.key != key and kernel.fits(facts)]
    near.sort(key=lambda each: (_distance(types, each.types), each.key))
    found = dict.fromkeys(plans for tuned_kernel in near[:_MOST] if (plans := _adapt(space, tuned_kernel)) is not None)
    found.pop(space.default, None)
    return list(found)


def _distance(one: Sequence[str], other: Sequence[str]) -> float:
    """Return how much the sizes of parameters differ, as the sum of the logarithms of ratios."""
    sizes = [[int(size) for text in names for size in _SHAPE.findall(text)] for names in (one, other)]
    if len(sizes[0]) != len(sizes[1]):
        return math.inf
    return sum(abs(math.log2(max(left, 1) / max(right, 1))) for left, right in zip(*sizes, strict=True))


def _adapt(space: Space, kernel: TunedKernel) -> Plans | None:
    """Return a kernel's plans for a space: of operations that a search changed, where they fit."""
    if len(kernel.plans) != len(space.default) or len(kernel.default) != len(kernel.plans):
        return None
    plans = list(space.default)
    for choice in space.choices:
        if (text := kernel.plans[choice.place]) == kernel.default[choice.place]:
            continue
        if (fitted := _fit_plan(choice, text, space)) is None:
            return None
        plans[choice.place] = fitted
    return tuple(plans) if space.fits(plans) else None


def _fit_plan(choice: PlanChoice, text: str, space: Space) -> str | None:
    try:
        plan, default = parse_plan(text), parse_plan(space.default[choice.place])
        if not isinstance(plan, Plan) or not isinstance(default, Plan):
            return None
        for each in (_clip_plan(plan, choice.op), plan):
            try:
                check_plan(choice.op, each, space.machine)
            except Decline:
                continue
            return str(default if replace(each, rule=default.rule) == default else each)
    except Decline:
        return None
    return None


def _sizes(plan: Plan, op: StructuredOp) -> dict[int, int | None]:
    """Return the sizes of a plan's loops, of which some are joined. None is a dynamic size."""
    groups = plan.loops or tuple((dim,) for dim in op.dims)
    sizes: dict[int, int | None] = {}
    for place, dims in enumerate(groups):
        known = [size for dim in dims if (size := op.sizes[dim]) is not None]
        sizes[place] = math.prod(known) if len(known) == len(dims) else None
    return sizes


def _clip_plan(plan: Plan, op: StructuredOp) -> Plan:
    """Return a plan with tiles, blocks and panels that are no longer than the loops."""
    sizes = _sizes(plan, op)
    tile = {}
    for dim, points in plan.tile.items():
        size = sizes.get(dim)
        steps = None if size is None else -(-size // (plan.lanes if dim == plan.vector else 1))
        tile[dim] = points if steps is None else max(min(points, steps), 1)
    blocks = []
    for dim, length in plan.blocks:
        step = tile.get(dim, 1) * (plan.lanes if dim == plan.vector else 1)
        size = sizes.get(dim)
        rounded = max(length // step, 1) * step
        if size is None or rounded < size:
            blocks.append((dim, rounded))
    if (panel := plan.panel) is not None:
        # A panel without blocks has the whole loop.
        whole = dict(blocks).get(panel.dim, sizes.get(panel.dim))
        panel = None if whole is None else panel._replace(length=whole)
    return replace(plan, tile=tile, blocks=tuple(blocks), panel=panel)
