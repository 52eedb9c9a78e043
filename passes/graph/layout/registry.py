# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of layout rules, by operator.

    @register_layout("relax.flip")
    def flip(call, layout):
        axis = layout.place(call.axis)
        return None if axis is None else call.follow(layout, axis=axis)

A layout here permutes a tensor's own dimensions A, B, C, ...: an NCHW tensor that is stored as NHWC has the layout
ACDB. A rule receives the layout of a neighbouring tensor: an operand, or a result as its user wants it. The rule
returns the layouts of operands and results and the changed attributes, or None if the operation does not take part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ....dialects.core.attributes import Int, Ints
from ....dialects.core.facts import OpPattern
from ....dialects.core.opdef import OpDef
from ....dialects.core.rules import OperatorRule, OperatorRules
from ....dialects.relax.infer.layouts import Layout
from ....support.argument_types import types_checked
from ....support.blaming import place_of
from .call import LayoutCall, Placement
from .layout_attributes import in_its_layouts

#: Signature `rule(call, layout)`, as described above.
RuleFunction = Callable[[LayoutCall, Layout], Placement | None]
Function = TypeVar("Function", bound=RuleFunction)


@dataclass(frozen=True)
class LayoutRule(OperatorRule):
    """The layout rule of an operator."""

    #: True if the operator itself changes a tensor's layout.
    moves: bool = False


_RULES = OperatorRules(LayoutRule, "a layout rule", f"{__package__}.rules")


@types_checked
def register_layout(op: str | Sequence[str], *, moves: bool = False) -> Callable[[Function], Function]:
    """Register a function as the layout rule of one or more operators. Use it as a decorator.

    `moves`: the operator itself changes a tensor's layout. Its rule is also asked about tensors that keep theirs.
    Unknown operators and a second rule for an operator are refused.
    """
    return _RULES.register(op, moves=moves)


def find_layout_rule(definition: OpDef) -> LayoutRule | None:
    """Return the layout rule of an operator, or the rule that its row implies."""
    own = _RULES.find(definition.full_name)
    if own is not None or not (definition.layouts or is_elementwise(definition)):
        return own
    function = in_its_layouts if definition.layouts else LayoutCall.broadcast
    return LayoutRule(definition.full_name, function, place_of(function))


def all_layout_rules() -> list[LayoutRule]:
    """Return all registered rules, sorted by operator, without rules that an operator's row implies."""
    return _RULES.all()


def is_elementwise(definition: OpDef) -> bool:
    """Check whether a row declares the operator elementwise.

    Operators with integer attributes are excluded: the integer could be an axis.
    """
    kinds = {operand.kind for operand in definition.operands}
    return (
        definition.pattern in (OpPattern.ELEMWISE.attribute_text, OpPattern.BROADCAST.attribute_text)
        and "tensor" in kinds <= {"tensor", "scalar", "tensor_or_scalar"}
        and not any(isinstance(kind, (Int, Ints)) for kind in definition.attrs.values())
    )
