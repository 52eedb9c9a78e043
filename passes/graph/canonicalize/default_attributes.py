# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Removal of redundant attributes: an absent attribute has its default value."""

from __future__ import annotations

from ....bindings.ir import Attribute, OpView
from ....bindings.patterns import UPDATED, Outcome, Pattern, Rewriter
from ....dialects.core.attributes import AttributeProblem, AttrKind
from ....dialects.relax import dialect


def drop_defaults(op: OpView, rewriter: Rewriter) -> Outcome:
    """Remove attributes that equal their defaults, so that equal operations look equal to CSE."""
    attributes = op.operation.attributes
    if not len(attributes):
        return None
    kinds = op.definition.attrs
    superfluous = [name for name in attributes if name in kinds and _is_default(attributes[name], kinds[name])]
    for name in superfluous:
        del attributes[name]
    return UPDATED if superfluous else None


def _is_default(attribute: Attribute, kind: AttrKind) -> bool:
    # With a default of None, absence has a meaning of its own.
    if kind.required or kind.default is None:
        return False
    try:
        value, default = kind.decode(attribute), kind.normalize(kind.default)
    except AttributeProblem:
        return False
    # Python's 1, 1.0 and True are equal, but an operator distinguishes them.
    return type(value) is type(default) and value == default


PATTERNS = (Pattern(tuple(op.full_name for op in dialect.ops.values() if op.attrs), drop_defaults),)
