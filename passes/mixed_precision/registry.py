# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which operators are computed in 16 bits: always, never, or where their operands are.

    rx.rules.register_precision("mynpu.gemm", "always")

What is not registered follows from the operator's row: contractions always, what treats elements one by one or moves
them follows, everything else never.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from ...dialects.core.dialect import find_op
from ...dialects.core.opdef import OpDef
from ...support.blaming import place_of_caller
from ...support.errors import RelaxError
from ...support.registry import Named, NamedRegistry, names_of
from ...support.suggest import suggest

Precision = Literal["always", "follow", "never"]


_FACTS = NamedRegistry[Precision]("a precision of", clash=lambda fact, taken: fact.thing != taken.thing)


def register_precision(op: str | Sequence[str], precision: Precision) -> None:
    """States for an operator (or several) whether it is computed in 16 bits: "always", "follow" or "never".

    It goes before what this project's table says. Refuses unknown operators, and a second word about the same one.
    """
    known = get_args(Precision)
    if precision not in known:
        raise RelaxError(f"a precision is one of {', '.join(known)}, not '{precision}'{suggest(str(precision), known)}")
    place = place_of_caller(1)
    _FACTS.add([Named(find_op(name).full_name, precision, place) for name in names_of(op)])


def precision_of(row: OpDef) -> Precision:
    """What holds for an operator: a registration, the table, or the default of its row."""
    registered = _FACTS.find(row.full_name)
    if registered is not None:
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
    # Their results leave the range of f16, or lose what makes them, where operands do not.
    **_of("never", "exp log power square sinh cosh tan acosh asinh atanh log_add_exp rsqrt divide ewise_fma"),
    **_of("never", "floor_divide mod floor_mod left_shift right_shift bitcast quantize dequantize one_hot"),
    # They sum wide, and what they give is in the range of what they are given, or of 1.
    **_of("follow", "nn.softmax nn.log_softmax nn.layer_norm nn.rms_norm nn.group_norm nn.instance_norm nn.batch_norm"),
    **_of("follow", "nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.max_pool1d nn.max_pool2d nn.max_pool3d mean max min"),
    **_of("follow", "nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d nn.pad image.resize2d"),
    # Caches stay of the type that they are kept in.
    **_of("follow", "nn.attention_cached"),
    # They look at sizes only.
    **_of("follow", "shape_of size zeros_like ones_like"),
}
