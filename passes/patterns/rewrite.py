# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewriting of pattern matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ...bindings.ir import Operation, OperationBase, OpView, Value
from ...bindings.navigation import ancestors, users_of
from ...bindings.patterns import Pattern, Rewriter
from ...bindings.rewriting import Outcome, blaming_at, function_name
from ...dialects.relax.known_constants import CONSTANTS
from ...support.argument_types import types_checked
from ...support.errors import RelaxError
from ...support.suggest import counted
from .compiled import matcher
from .match import by_head, matches_of
from .matched import Match
from .operator_patterns import Every, Op, ResultPattern
from .outputs import Outputs
from .template import template
from .tree import Condition, Const, Either, GraphPattern, maker_of, walk

if TYPE_CHECKING:
    from ..kernels.structures.prim_funcs import KnownPrimFuncs

#: Function from a match to its replacement: a value, one value per output, or None to keep the match.
Replacement = Callable[[Match], Outcome]
# Each run has its own rewriter.
_known: WeakKeyDictionary[Rewriter, KnownPrimFuncs] = WeakKeyDictionary()


@types_checked
def rewrite(
    pattern: GraphPattern,
    replacement: Replacement | GraphPattern,
    *,
    benefit: int = 1,
    name: str = "",
    is_across: bool = False,
) -> Pattern:
    """Return a rewrite pattern for `apply_greedy` and `apply_walk`.

    `replacement(match)` returns the value that replaces the pattern's value. A replacement may also be a part of the
    pattern, or operators around parts. The new value has the old type if the operators can give that type. Dead
    operations of the match are erased. With `is_across`, parts may be in blocks around the root's block.
    """
    replace = template(pattern, replacement) if isinstance(replacement, GraphPattern) else replacement
    name = name or (str(pattern) if isinstance(replacement, GraphPattern) else function_name(replacement))

    def apply(view: OpView, rewriter: Rewriter) -> Outcome:
        compiled = matcher(pattern, is_across)
        op = view.operation
        found = compiled(op) if compiled is not None else _search_match(pattern, op, is_across, rewriter)
        if found is None:
            return None
        with blaming_at(lambda: f"the replacement of pattern {pattern}", replace, found.root):
            replaced = replace(found)
        return _outcome(found, replaced, rewriter, name)

    return Pattern(
        list(by_head([pattern])),
        apply,
        benefit,
        name,
        after=sorted(_find_needed(pattern)),
        may_match=lambda op_name, makers: _may_match(pattern, op_name, makers),
    )


def _search_match(pattern: GraphPattern, op: Operation, is_across: bool, rewriter: Rewriter) -> Match | None:
    matches = filter(_can_be_replaced, matches_of(pattern, op, is_across))
    if not any(part.reads_prim_funcs for part in walk(pattern)):
        return next(matches, None)
    from ..kernels.structures.prim_funcs import KnownPrimFuncs, remembering  # takes long to import

    with remembering(_known.setdefault(rewriter, KnownPrimFuncs())):
        return next(matches, None)


def _find_needed(pattern: GraphPattern) -> frozenset[str]:
    """Return operators of which one defines an operand wherever the pattern matches, or none if unknown."""
    if isinstance(pattern, Op):
        makers = (frozenset(part.heads or ()) for part in pattern.parts)
        return next(filter(None, makers), frozenset())
    if isinstance(pattern, (Outputs, ResultPattern, Condition)):
        return _find_needed(pattern.parts[0])
    needed = [_find_needed(part) for part in pattern.parts] if isinstance(pattern, Either) else []
    return frozenset[str]().union(*needed) if all(needed) else frozenset()


def _may_match(pattern: GraphPattern, name: str, makers: Sequence[str]) -> bool:
    """Check whether a pattern may match an operation of this name, by the names of its operands' producers."""
    if isinstance(pattern, (Outputs, Condition)):
        return _may_match(pattern.parts[0], name, makers)
    if isinstance(pattern, Either):
        return any(_may_match(choice, name, makers) for choice in pattern.choices)
    if not isinstance(pattern, Op):
        return True
    if (reader := pattern.readers.get(name)) is None or pattern.operands is None:
        return reader is not None
    if reader.in_order is None:
        is_every = len(pattern.parts) == 1 and isinstance(pattern.parts[0], Every) and not pattern.is_open
        return not is_every or all(_may_be(pattern.parts[0], maker) for maker in makers)
    places, parts = [place for place, _ in reader.in_order], reader.parts
    ways = (parts, parts[::-1]) if reader.is_commutative else (parts,)
    return reader.fits(len(makers)) and any(
        all(_may_be(part, makers[place]) for place, part in zip(places, way, strict=True)) for way in ways
    )


def _may_be(part: GraphPattern, maker: str) -> bool:
    if isinstance(part, Const):
        return maker in CONSTANTS
    if isinstance(part, Condition):
        return _may_be(part.inner, maker)
    if isinstance(part, Either):
        return any(_may_be(choice, maker) for choice in part.choices)
    return part.heads is None or maker in part.heads


def _outcome(match: Match, outcome: Outcome, rewriter: Rewriter, name: str) -> Outcome:
    if outcome is None or not isinstance(match.pattern, Outputs):
        return outcome
    if not isinstance(outcome, (Value, OperationBase, Sequence)):
        return outcome
    values = outcome if isinstance(outcome, Sequence) else (outcome,)
    others = match.outputs[1:]
    if len(values) != 1 + len(others):
        count = counted(len(match.outputs), "output")
        raise RelaxError(f"{name}: pattern {match.pattern} has {count}, the replacement gives {len(values)}")
    for output, value in zip(others, values[1:], strict=True):
        rewriter.replace(output, [value])
    return [values[0]]


def _can_be_replaced(match: Match) -> bool:
    """Check whether a replacement at the root is dominated by its operands, and dominates its users."""
    root = match.root
    if not isinstance(match.pattern, Outputs):  # the only value comes after its operands
        return True
    readers = (user for op in match.outputs[1:] for value in op.results for user in users_of(value))
    makers = (maker_of(value) for value in match.inputs)
    return not any(_is_before(root, op) for op in makers if op) and not any(_is_before(user, root) for user in readers)


def _is_before(one: Operation, other: Operation) -> bool:
    """Check whether an operation, or one around it, precedes another one in the latter's block."""
    block = other.block
    around = next((ancestor for ancestor in (one, *ancestors(one)) if ancestor.block == block), None)
    return around is not None and around != other and around.is_before_in_block(other)
