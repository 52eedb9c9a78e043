# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cost model of oneDNN relative to the target, roughly: to choose between plans."""

from __future__ import annotations

from collections.abc import Iterable

from ....bindings.ir import Operation
from ....dialects.relax.known_constants import is_constant
from ....passes.partition.pricing import seconds_of
from ..core.operator_checks import call_at
from .convolutions import CONVOLUTIONS, TRANSPOSED

#: Starting a primitive.
_PRIMITIVE_S = 1e-6
#: What it saves of a product's time, as bench/dnnl.py has measured: with weights that it reorders at load, and with
#: channels in blocks. On everything else both wait for the same memory.
_OF_CONVOLUTIONS, _OF_PACKED, _OF_BYTES = 0.2, 0.1, 0.4
_CONVOLUTIONS = frozenset(f"relax.{name}" for name in (*CONVOLUTIONS, *TRANSPOSED))
_MATRICES = frozenset({"relax.matmul", "relax.einsum"})


def seconds(composite: str, operations: Iterable[Operation]) -> float:
    """Of what a pattern has matched: the target's, less what is saved."""
    is_quantized = composite.startswith("dnnl.quantized")
    each = [(op, seconds_of([op])) for op in operations]
    return sum(taken * (1 - _saved(op, is_quantized)) for op, taken in each) + _PRIMITIVE_S


def _saved(op: Operation, is_quantized: bool) -> float:
    if op.name in _CONVOLUTIONS:
        return 0.0 if _is_depthwise(op) else _OF_BYTES if is_quantized else _OF_CONVOLUTIONS
    if op.name not in _MATRICES:
        return 0.0
    return _OF_BYTES if is_quantized else _OF_PACKED * any(map(is_constant, op.operands))


def _is_depthwise(op: Operation) -> bool:
    """Each channel by itself: little to compute with what is read."""
    call = call_at(op)
    return bool(call.groups > 1 and call.groups in call.weight.shape and 1 in call.weight.shape)
