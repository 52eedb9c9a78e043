# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rough cost model of oneDNN relative to the target, to choose between partition plans."""

from __future__ import annotations

from collections.abc import Iterable

from relax_mlir.codegens import seconds_of
from relax_mlir.dialects.relax.known_constants import is_constant
from relax_mlir.passes.graph.parts.operator_checks import call_at
from relax_mlir.rewriting import Operation

from .convolutions import CONVOLUTIONS, TRANSPOSED

#: Seconds to start a primitive.
_PRIMITIVE_S = 1e-6
#: Fractions of a product's time that oneDNN saves, measured by bench/dnnl.py. Convolutions have blocked channels,
#: packed weights are reordered at load, and bytes are multiplied as integers. All other operators wait for the same
#: memory on oneDNN and on the target.
_SAVED_BY_CONVOLUTIONS, _SAVED_BY_PACKING, _SAVED_BY_BYTES = 0.2, 0.1, 0.4
_CONVOLUTIONS = frozenset(f"relax.{name}" for name in (*CONVOLUTIONS, *TRANSPOSED))
_MATRICES = frozenset({"relax.matmul", "relax.einsum"})


def seconds(composite: str, operations: Iterable[Operation]) -> float:
    """Return the seconds of matched operations: the target's time less the saved fraction, plus the start."""
    is_quantized = composite.startswith("dnnl.quantized")
    each = [(op, seconds_of([op])) for op in operations]
    return sum(taken * (1 - _save(op, is_quantized)) for op, taken in each) + _PRIMITIVE_S


def _save(op: Operation, is_quantized: bool) -> float:
    if op.name in _CONVOLUTIONS:
        return 0.0 if _is_depthwise(op) else _SAVED_BY_BYTES if is_quantized else _SAVED_BY_CONVOLUTIONS
    if op.name not in _MATRICES:
        return 0.0
    return _SAVED_BY_BYTES if is_quantized else _SAVED_BY_PACKING * any(map(is_constant, op.operands))


def _is_depthwise(op: Operation) -> bool:
    """Check whether a convolution is depthwise, with little computation per element that it reads."""
    call = call_at(op)
    return bool(call.groups > 1 and call.groups in call.weight.shape and 1 in call.weight.shape)
