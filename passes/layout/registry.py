# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of layout rules, by operator.

    @register_layout("relax.flip")
    def flip(call, layout):
        axis = layout.place(call.axis)
        return None if axis is None else call.follow(layout, axis=axis)

A layout here is one of a tensor's own dimensions, A, B, C, ...: a tensor that is NCHW in the program is ACDB when laid
out as NHWC. A rule is given one that a tensor around the operation has, an operand or what a user of a result wants,
and answers the layouts of operands and results if the operation takes part, and its attributes; None: it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...dialects.core.attributes import Int, Ints
from ...dialects.core.facts import OpPattern
from ...dialects.core.opdef import OpDef
from ...dialects.core.rules import OperatorRule, OperatorRules
from ...dialects.relax.infer.layouts import Layout
from ...support.argument_types import types_checked
from ...support.blaming import place_of
from .call import LayoutCall, Placement
from .layout_attributes import in_its_layouts

#: `rule(call, layout)`, see above.
RuleFunction = Callable[[LayoutCall, Layout], Placement | None]
Function = TypeVar("Function", bound=RuleFunction)


@dataclass(frozen=True)
class LayoutRule(OperatorRule):
    """How an operator takes part in other layouts."""

    #: Whether the operator itself changes a tensor's layout.
    moves: bool = False


_RULES = OperatorRules(LayoutRule, "a rule of layouts", f"{__package__}.rules")


@types_checked
def register_layout(op: str | Sequence[str], *, moves: bool = False) -> Callable[[Function], Function]:
    """Registers a function as the rule of an operator's layouts (or several operators'); use it as a decorator.

    `moves`: the operator itself changes a tensor's layout; its rule is also asked about tensors that keep theirs.
    Refuses unknown operators, and a second rule for the same one.
    """
    return _RULES.register(op, moves=moves)


def find_layout_rule(definition: OpDef) -> LayoutRule | None:
    """The rule of an operator: its own; else what its row states."""
    own = _RULES.find(definition.full_name)
    if own is not None or not (definition.layouts or is_elementwise(definition)):
        return own
    function = in_its_layouts if definition.layouts else LayoutCall.broadcast
    return LayoutRule(definition.full_name, function, place_of(function))


def all_layout_rules() -> list[LayoutRule]:
    """Every rule, sorted by operator; those are left out that follow from an operator's row."""
    return _RULES.all()


def is_elementwise(definition: OpDef) -> bool:
    """Whether a row says that each element depends on those at its place alone: an integer could be an axis."""
    kinds = {operand.kind for operand in definition.operands}
    return (
        definition.pattern in (OpPattern.ELEMWISE.attribute_text, OpPattern.BROADCAST.attribute_text)
        and "tensor" in kinds <= {"tensor", "scalar", "tensor_or_scalar"}
        and not any(isinstance(kind, (Int, Ints)) for kind in definition.attrs.values())
    )
