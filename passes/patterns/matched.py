# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Match: the values and operations bound to a pattern's parts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, cmp_to_key
from typing import TYPE_CHECKING

from ...bindings.ir import Operation, OpView, Value
from ...bindings.navigation import users_of
from ...bindings.rewriting import blaming_at
from ...dialects.relax.known_constants import elements_of, is_constant, number_of
from ...support.errors import RelaxError
from ...support.suggest import shortened, suggest
from .operator_patterns import Op
from .outputs import Outputs
from .tree import Checked, Found, GraphPattern, Named, Subject, maker_of, walk

if TYPE_CHECKING:
    from numpy import ndarray

    from ..kernels.structures.structure import Structure

# Names of the truth types of Python, and of NumPy: its comparisons return its own. NumPy is not imported here.
_TRUTHS = ("bool", "bool_")


class Match:
    """Match of a pattern. `match["x"]` is the value of the part with that name."""

    #: Operation that the match was found at. It defines the pattern's value, or the first of several.
    root: Operation

    def __init__(self, pattern: GraphPattern, root: Operation, bound: Mapping[GraphPattern, Subject]):
        self.pattern = pattern
        self.root = root
        self._bound = bound

    def __getitem__(self, part: str | GraphPattern) -> Value:
        """Return the value of a part, by name or by pattern."""
        if isinstance(part, str):
            return self._named(part)
        if not isinstance(found := self._bound.get(part), Value):
            raise RelaxError(f"pattern {self.pattern}: {part} has matched no value")
        return found

    def op(self, name: str = "") -> OpView:
        """Return the operation that defines a part's value, with operands and attributes by name. Default: the root."""
        return self._named(name).owner if name else self._view

    @cached_property
    def _view(self) -> OpView:
        return self.root.opview

    @property
    def bound(self) -> Mapping[GraphPattern, Subject]:
        """The subject of each part of the pattern, in preorder: each part comes before its own parts."""
        return self._bound

    def _named(self, name: str) -> Value:
        if (found := self.get(name)) is None:
            known = sorted({part.name for part in walk(self.pattern) if isinstance(part, Named)})
            raise RelaxError(f"pattern {self.pattern}: no part named '{name}' has matched{suggest(name, known)}")
        return found

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def number(self, name: str) -> int | float | bool | None:
        """Return the number that a part's value is everywhere, or None: of `is_filled`, or of any constant."""
        return number_of(self[name])

    def array(self, name: str) -> ndarray | None:
        """Return the elements of a part's value, or None if it is no constant. Scalars are arrays without dimensions.

        Elements of types that NumPy lacks are None, too.
        """
        return elements_of(self[name])

    def get(self, name: str) -> Value | None:
        """Return the value of a part, or None if an optional part is absent."""
        return next(iter(self.all(name)), None)

    def all(self, name: str) -> list[Value]:
        """Return the values of all parts of a name, in the order of the pattern. Repeated parts have several."""
        subjects = [subject for part, subject in self._bound.items() if type(part) is Named and part.name == name]
        return [subject for subject in subjects if isinstance(subject, Value)]

    @cached_property
    def operations(self) -> list[Operation]:
        """The operations that the pattern's operators matched, in program order."""
        makers = {maker_of(subject): None for part, subject in self._bound.items() if isinstance(part, Op)}
        return sorted((op for op in makers if op is not None), key=cmp_to_key(_order))

    @cached_property
    def outputs(self) -> list[Operation]:
        """The operations that define the pattern's values."""
        patterns = self.pattern.outputs if isinstance(self.pattern, Outputs) else (self.pattern,)
        makers = (maker_of(self._bound[pattern]) for pattern in patterns)
        return [op for op in makers if op is not None]

    @cached_property
    def inputs(self) -> list[Value]:
        """The values that the operations read from others, in the order of reading."""
        inside = set(self.operations)
        read = (value for op in self.operations for value in op.operands)
        return list(dict.fromkeys(value for value in read if maker_of(value) not in inside))

    @property
    def constants(self) -> list[Value]:
        return [value for value in self.inputs if is_constant(value)]

    @cached_property
    def results(self) -> list[Value]:
        """The results that other operations read."""
        inside = set(self.operations)
        values = (value for op in self.operations for value in op.results)
        return [value for value in values if any(user not in inside for user in users_of(value))]

    @cached_property
    def structures(self) -> dict[GraphPattern, Structure]:
        """The structures of matched PrimFuncs, by the patterns of the calls."""
        return {part.part: part.structure for part in self._bound if isinstance(part, Found)}

    def literal(self, name: str) -> float:
        """Return the number in a PrimFunc's body at the place of a structure's literal."""
        literals = {
            key: each for part in self._bound if isinstance(part, Found) for key, each in part.binding.literals.items()
        }
        if name not in literals:
            raise RelaxError(f"pattern {self.pattern}: no literal named '{name}' has matched{suggest(name, literals)}")
        return literals[name]

    def is_used_outside(self, part: GraphPattern | Value) -> bool:
        """Check whether operations outside of the match use the value."""
        subject = self._bound.get(part) if isinstance(part, GraphPattern) else part
        values = [subject] if isinstance(subject, Value) else subject.results if subject is not None else []
        inside = set(self.operations)
        return any(user not in inside for value in values for user in users_of(value))

    def __repr__(self) -> str:
        return f"<match of {self.pattern} at {self.root.location}>"


def _order(one: Operation, other: Operation) -> int:
    return 0 if one == other else -1 if one.is_before_in_block(other) else 1


def refusal_of(checked: Checked, match: Match) -> str:
    """Return the reason why the check of a pattern refuses a match, or ""."""
    name = getattr(checked.check, "__name__", repr(checked.check))
    with blaming_at(lambda: f"pattern {shortened(str(checked))}: {name}", checked.check, match.root):
        answer = checked.check(match)
    if isinstance(answer, str):
        return answer or f"{name} says no"
    if type(answer).__name__ not in _TRUTHS:
        raise RelaxError(f"pattern {checked}: {name} must return True, False or a reason, got {answer!r}")
    return "" if answer else checked.reason or f"{name} says no"
