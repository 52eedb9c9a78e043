# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of operators in 16 bits: always, never, or following their operands.

    rx.rules.register_precision("mynpu.gemm", "always")

Unregistered operators follow their row: contractions always use 16 bits. Elementwise operators and data movement
follow. All others never use 16 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from ....dialects.core.dialect import find_op
from ....dialects.core.opdef import OpDef
from ....support.blaming import place_of_caller
from ....support.errors import RelaxError
from ....support.registry import Named, NamedRegistry, names_of
from ....support.suggest import suggest

Precision = Literal["always", "follow", "never"]


_FACTS = NamedRegistry[Precision]("a precision of", clash=lambda fact, taken: fact.thing != taken.thing)


def register_precision(op: str | Sequence[str], precision: Precision) -> None:
    """State whether one or more operators are computed in 16 bits: "always", "follow" or "never".

    A registration overrides this project's table. Unknown operators and contradictory registrations are refused.
    """
    known = get_args(Precision)
    if precision not in known:
        raise RelaxError(f"a precision is one of {', '.join(known)}, not '{precision}'{suggest(str(precision), known)}")
    place = place_of_caller(1)
    _FACTS.add([Named(find_op(name).full_name, precision, place) for name in names_of(op)])


def precision_of(row: OpDef) -> Precision:
    """Return the precision of an operator: its registration, the table's entry, or the default of its row."""
    if (registered := _FACTS.find(row.full_name)) is not None:
        return registered.thing
    if row.full_name in _TABLE:
        return _TABLE[row.full_name]
    if not row.pure or row.infer is None:
        return "never"
    if row.pattern == "out_ewise_fusable":
        return "always"
    is_plain = row.is_plain_view or row.pattern in ("elemwise", "broadcast", "injective")
    return "follow" if is_plain else "never"


def _of(precision: Precision, names: str) -> dict[str, Precision]:
    return {f"relax.{name}": precision for name in names.split()}


_TABLE: dict[str, Precision] = {
    # Results may leave the range of f16, or lose their digits, although operands do not.
    **_of("never", "exp log power square sinh cosh tan acosh asinh atanh log_add_exp rsqrt divide ewise_fma"),
    **_of("never", "floor_divide mod floor_mod left_shift right_shift bitcast one_hot"),
    **_of("never", "quantize dequantize requantize"),
    # Accumulators are wide, and results are in the range of the operands or of 1.
    **_of("follow", "nn.softmax nn.log_softmax nn.layer_norm nn.rms_norm nn.group_norm nn.instance_norm nn.batch_norm"),
    **_of("follow", "nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.max_pool1d nn.max_pool2d nn.max_pool3d mean max min"),
    **_of("follow", "nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d nn.pad image.resize2d"),
    # Caches keep their element type.
    **_of("follow", "nn.attention_cached"),
    # Only sizes matter.
    **_of("follow", "shape_of size zeros_like ones_like"),
}
