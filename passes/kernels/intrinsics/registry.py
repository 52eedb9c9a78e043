# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for intrinsics by target, and the order in which they are tried.

    @register_lower_intrinsic("tir.exp", target="cuda")             # maps to an operation of the target
    def exp(op):
        return tir.call_pure_extern("__nv_expf", [op.x], "f32")

    @register_legalize_intrinsic("tir.rsqrt")                       # expresses it by other intrinsics
    def rsqrt(op):
        return 1.0 / square_root(number(op.x))

A rule receives the operation and creates others before it. The rule returns the values that replace the results: a
value, a Number, a list of several, or () if there are none. After None or a Decline the next rule is tried. Operations
created by a rule are visited again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, TypeVar

from ....bindings.ir import OperationBase, OpView
from ....bindings.mlir import ir
from ....dialects import tir  # noqa: F401  # declares what rules are registered for
from ....dialects.core.dialect import find_op
from ....support.registry import Registry, names_of, table
from ....targets.core.registry import DEFAULT, all_targets, find_target, load_rules, load_rules_for, rules_chain

RuleFunction = Callable[[OpView], object]
Function = TypeVar("Function", bound=RuleFunction)

LOWER, LEGALIZE = "lower", "legalize"


class IntrinsicRule(NamedTuple):
    """Rule for an intrinsic on a target. `place` is the rule's source location."""

    op: str
    target: str
    kind: str
    fast_math: bool
    #: Element types of the first operand that the rule accepts. Empty for all.
    dtypes: tuple[str, ...]
    function: RuleFunction
    place: str

    @property
    def label(self) -> str:
        fast = ", fast math" if self.fast_math else ""
        return f"{self.function.__name__}, {self.kind} for {self.target}{fast} ({self.place})"


def _clash(rule: IntrinsicRule, taken: IntrinsicRule) -> bool:
    """Check whether two rules conflict. Rules for different element types may coexist."""
    return not taken.dtypes or not rule.dtypes or not set(taken.dtypes).isdisjoint(rule.dtypes)


_RULES = Registry[IntrinsicRule](
    lambda rule: (rule.op, rule.target, rule.fast_math, rule.kind),
    lambda rule, taken: f"'{rule.op}' has a {rule.kind} rule for target '{rule.target}' already: {taken.label}",
    clash=_clash,
)


def is_intrinsic(op: OperationBase) -> bool:
    """Check whether an operator is an intrinsic.

    In dialects of other packages, all operators on scalars and vectors are.
    """
    types = [value.type for value in (*op.operation.operands, *op.operation.results)]
    return all(isinstance(type_, ir.VectorType) or not isinstance(type_, ir.ShapedType) for type_ in types)


def register_lower_intrinsic(
    op: str | Sequence[str], target: str = DEFAULT, *, fast_math: bool = False, dtypes: Collection[str] = ()
) -> Callable[[Function], Function]:
    """Register a function that maps one or more intrinsics to operations of a target. Use it as a decorator.

    With `fast_math` the rule is tried before all others if the run asks for fast math. Element types outside of
    `dtypes` are left to other rules. Unknown intrinsics, unknown targets and a second rule are refused.
    """
    return _register(LOWER, op, target, fast_math, dtypes)


def register_legalize_intrinsic(
    op: str | Sequence[str], target: str = DEFAULT, *, fast_math: bool = False, dtypes: Collection[str] = ()
) -> Callable[[Function], Function]:
    """Register a function that expresses intrinsics by others. Otherwise like `register_lower_intrinsic`."""
    return _register(LEGALIZE, op, target, fast_math, dtypes)


def _register(
    kind: str, op: str | Sequence[str], target: str, fast_math: bool, dtypes: Collection[str]
) -> Callable[[Function], Function]:
    find_target(target)
    names = [find_op(name).full_name for name in names_of(op)]
    return _RULES.registering(
        lambda function, place: [
            IntrinsicRule(name, target, kind, fast_math, tuple(dtypes), function, place) for name in names
        ]
    )


def intrinsic_rules_by_op(target: str, *, fast_math: bool = False) -> dict[str, list[IntrinsicRule]]:
    """Map each intrinsic, in sorted order, to its rules for a target, in the order of trying.

    Fast-math rules come first if requested. Within each kind the order is the target's own rules, its parents', and the
    default's. For one target, a lowering rule precedes a legalizing one.
    """
    return _RULES.by_name(_loaded_sorts(target, fast_math))


def intrinsic_rule_finder(
    target: str, operators: Collection[str], *, fast_math: bool
) -> Callable[[str], list[IntrinsicRule]]:
    """Return a function that maps an intrinsic's name to its rules, in the order in which a target tries them.

    If the target has no rule for one of `operators`, rules from all packages are imported first.
    """
    sorts = _loaded_sorts(target, fast_math)
    if missing := [name for name in operators if not _RULES.tried(name, sorts)]:
        load_rules_for(missing)
    return functools.partial(_RULES.tried, sorts=sorts)


def _loaded_sorts(target: str, fast_math: bool) -> list[tuple[str, bool, str]]:
    chain = rules_chain(target)
    load_rules(chain)
    return [
        (step.name, is_fast, kind)
        for is_fast in ((True, False) if fast_math else (False,))
        for step in chain
        for kind in (LOWER, LEGALIZE)
    ]


def all_intrinsic_rules(target: str | None = None) -> list[IntrinsicRule]:
    """Return all rules, or the rules that a target would try. Sorted by intrinsic, then in the order of trying."""
    if target is None:
        load_rules(all_targets())
        return _RULES.all()
    return [rule for rules in intrinsic_rules_by_op(target, fast_math=True).values() for rule in rules]


def intrinsics_table(target: str | None = None) -> str:
    """Return `all_intrinsic_rules` as a table: intrinsic, target that provides the rule, kind, types, place."""
    rows = [
        (rule.op, rule.target, rule.kind + (" fast-math" if rule.fast_math else ""), " ".join(rule.dtypes) or "any",
         rule.place)
        for rule in all_intrinsic_rules(target)
    ]  # fmt: skip
    return table(("intrinsic", "target", "kind", "types", "rule"), *rows)
