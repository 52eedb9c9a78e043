# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized layers in the integer arithmetic of a recipe: the core operator, and limits on its result.

`out=` of the matched entry states the arithmetic. A layer that it cannot state is an error, because its bits would
differ from the chip's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import made_by, operations_in
from relax_mlir.bindings.rewriting import is_used, replace_op
from relax_mlir.dialects import relax
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.known_constants import elements_of
from relax_mlir.passes.graph.quantization.numbers import dequantized
from relax_mlir.passes.graph.recipes.forms import is_quantized_form, quantized_form
from relax_mlir.passes.graph.recipes.recipe import Op
from relax_mlir.passes.graph.recipes.stated_operators import (
    FUNCTIONS,
    GLOBAL_POOLS,
    LIMITS,
    POOLS,
    PRODUCTS,
    SELECTIONS,
    SUMS,
)
from relax_mlir.passes.patterns.match import matches_of
from relax_mlir.passes.patterns.tree import GraphPattern

from .layer_emission import LayerEmission, limits_of
from .means import emit_global_pool, emit_mean, emit_pool
from .operators import emit_concat, emit_product, emit_selection, emit_sum
from .products import emit_layer
from .resize import emit_resize
from .tables import emit_softmax, emit_table

#: Core operator -> emission of its integers in the result's type.
_EMISSIONS: Mapping[str, Callable[[LayerEmission, Operation], Value]] = {
    **dict.fromkeys(PRODUCTS, emit_layer),
    **dict.fromkeys(FUNCTIONS, emit_table),
    **dict.fromkeys(POOLS, emit_pool),
    **dict.fromkeys(GLOBAL_POOLS, emit_global_pool),
    **dict.fromkeys(SELECTIONS, emit_selection),
    **dict.fromkeys(SUMS, emit_sum),
    "relax.multiply": emit_product,
    "relax.concat": emit_concat,
    "relax.mean": emit_mean,
    "relax.image.resize2d": emit_resize,
    "relax.nn.softmax": emit_softmax,
}


def requantize_layers(root: Operation, patterns: Sequence[tuple[Op, GraphPattern]]) -> int:
    """Rewrite the layers that a recipe's patterns match. Returns their number."""
    found = 0
    forms = [(op, pattern if is_quantized_form(pattern) else quantized_form(pattern, op)) for op, pattern in patterns]
    for operation in [each for each in operations_in(root) if each.name == "relax.quantize"]:
        found += any(_requantize(operation, op, pattern) for op, pattern in forms if op.out is not None)
    return found


def _requantize(quantize: Operation, op: Op, pattern: GraphPattern) -> bool:
    if next(iter(matches_of(pattern, quantize)), None) is None:
        return False
    real = made_by(quantize.operands[0])
    with quantize.location, ir.InsertionPoint(quantize):
        whole = _integers(LayerEmission(op, quantize))
    replace_op(quantize, [whole])
    _erase_unused(real)
    return True


def _erase_unused(real: Operation | None) -> None:
    """Erase real numbers without readers, up to the dequantize of each operand."""
    if real is None or is_used(real):
        return
    before = [] if real.name == "relax.dequantize" else list(map(made_by, real.operands))
    real.erase()
    for each in before:
        _erase_unused(each)


def _integers(to: LayerEmission) -> Value:
    limits: list[Operation] = []
    value = to.quantize.operands[0]
    core = made_by(value)
    while core is not None and core.name in LIMITS:
        limits.append(core)
        value = core.operands[0]
        core = made_by(value)
    if dequantized(value) is not None:
        whole = to.rescaled(to.single(value, "x"))
    elif core is not None and core.name in _EMISSIONS:
        makers = [each.name for each in map(made_by, core.operands) if each is not None]
        is_layer = core.name == "relax.add" and any(name in ("relax.add", *PRODUCTS) for name in makers)
        whole = (emit_layer if is_layer else _EMISSIONS[core.name])(to, core)
    else:
        raise to.fail(f"out= has no integers for {'an argument' if core is None else core.name}; drop out=")
    for limit in reversed(limits):
        whole = _limit_integers(to, whole, limit)
    return whole


def _limit_integers(to: LayerEmission, whole: Value, limit: Operation) -> Value:
    """Limit integers as the operator limits the real numbers that they represent."""
    least: float | None = 0.0
    most: float | None = None
    if limit.name == "relax.clip":
        least, most = (None if each is None else float(each) for each in map(elements_of, limit.operands[1:]))
    low, high = limits_of(to.dtype)
    for bound, choose in ((least, relax.maximum), (most, relax.minimum)):
        if bound is not None:
            whole = choose(whole, const(min(max(round(bound / to.scale) + to.zero, low), high), to.dtype))
    return whole
