# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Match filter: a conservative analysis of which of many patterns may match where, for a whole block at once.

Each value has a mask with a bit for each part of a pattern that it may match. The operator, attributes, type and the
masks of the operands determine a mask. Operations with equal inputs share a mask, which is computed once. So the cost
per block hardly grows with the number of patterns. Conditions on a whole match are left to `match`: equality of a
part's values in two places, checks, and functions that test attributes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from ...bindings.ir import Block, Operation, Value
from ...bindings.navigation import made_by, operations_of
from ...dialects.relax.known_constants import CONSTANTS
from .call_patterns import CallTir
from .operator_patterns import Op, ResultPattern
from .outputs import Outputs
from .tree import (
    Bound,
    Checked,
    Const,
    Either,
    GraphPattern,
    Named,
    OfType,
    Repeated,
    Subject,
    Text,
    UsedOnce,
    subject_of,
)

#: The bit that every value has.
_ANY = 1
#: Names of operations that can define a value, or None for any or none.
_Makers = frozenset[str] | None


class _ProspectPart(NamedTuple):
    bit: int
    pattern: GraphPattern
    makers: _Makers


class _Look(NamedTuple):
    """Relevant properties of operations of one name: the possible parts, inner ones first, and the masks' inputs."""

    parts: Sequence[_ProspectPart]
    attributes: Sequence[str]
    reads_operands: bool
    reads_type: bool
    #: True if the types of operands count, too.
    reads_types: bool


class Prospects:
    """Candidates for several patterns, in blocks of one module with unchanged PrimFuncs."""

    def __init__(self, patterns: Sequence[GraphPattern]):
        self._parts: list[_ProspectPart] = []
        self._bits: dict[GraphPattern, int] = {}
        self._makers: dict[int, _Makers] = {_ANY: None}
        self._constants: dict[float | None, int] = {}
        self._looks: dict[str, _Look] = {}
        #: Masks of an operation and, if it has several results, of each result.
        self._known: dict[Hashable, Sequence[int]] = {}
        self._roots = [(number, self._bit(pattern)) for number, pattern in enumerate(patterns)]
        self._begun: dict[int, Sequence[int]] = {}
        #: Names of all operators in the patterns.
        self.names = frozenset(
            name for part in self._parts if isinstance(part.pattern, Op) for name in part.pattern.names
        )

    def in_block(self, block: Block) -> dict[int, list[Operation]]:
        """Return the operations that each pattern may match at, in order, by the pattern's number."""
        return self.among(operations_of(block))

    def among(self, operations: Iterable[Operation]) -> dict[int, list[Operation]]:
        """Return the same for a block's operations in another order, in which operands precede their readers."""
        found: dict[int, list[Operation]] = defaultdict(list)
        masks: dict[Value, int] = {}
        for op in operations:
            look = self._look(op.name)
            own, *others = self._masks_of(op, look, masks) if look.parts else (_ANY,)
            results = op.results
            if len(results) == 1:
                masks[results[0]] = own
            else:
                masks.update(zip(results, others or [_ANY] * len(results), strict=True))
            if own != _ANY:
                for number in self._beginning(own):
                    found[number].append(op)
        return found

    def _masks_of(self, op: Operation, look: _Look, masks: dict[Value, int]) -> Sequence[int]:
        values = op.operands if look.reads_operands else ()
        below = [masks[value] if value in masks else self._from_outside(value, masks) for value in values]
        given = op.attributes
        attributes = [given.get(name, None) for name in look.attributes]
        types = [value.type for value in op.results] if look.reads_type else []
        types += [value.type for value in op.operands] if look.reads_types else []
        key = op.name, len(op.results), tuple(below), tuple(attributes), tuple(types)
        if (known := self._known.get(key)) is None:
            known = self._known[key] = self._work_out(op, look, masks)
        return known

    def _work_out(self, op: Operation, look: _Look, masks: dict[Value, int]) -> Sequence[int]:
        own = self._mask(look, subject_of(op), None, masks)
        results = op.results
        return [own] if len(results) == 1 else [own, *(self._mask(look, value, own, masks) for value in results)]

    def _from_outside(self, value: Value, masks: dict[Value, int]) -> int:
        """Return the mask of an argument, or of another block's value, which no operator matches."""
        maker = made_by(value, *CONSTANTS)
        look = self._look(maker.name if maker else "")
        masks[value] = self._mask(look, value, 0, masks) if look.parts else _ANY
        return masks[value]

    def _mask(self, look: _Look, subject: Subject, of_op: int | None, masks: dict[Value, int]) -> int:
        """Return the mask of a subject. `of_op` is the mask of its defining operation, if the subject is a value."""
        mask, bound = _ANY, Bound()

        def mask_of(it: Subject) -> int:
            if it is subject:
                return mask
            if isinstance(it, Value):
                return masks[it]
            return mask if of_op is None else of_op

        def holds(pattern: GraphPattern, it: Subject) -> bool:
            return bool(mask_of(it) & self._bits.get(pattern, _ANY))

        for part in look.parts:
            ways = part.pattern.ways(subject, bound)
            if not isinstance(ways, str) and any(all(holds(*goal) for goal in way) for way in ways):
                mask |= part.bit
        return mask

    def _beginning(self, mask: int) -> Sequence[int]:
        """Return the numbers of the patterns with a value that has this mask."""
        if mask not in self._begun:
            self._begun[mask] = [number for number, bit in self._roots if mask & bit]
        return self._begun[mask]

    def _look(self, name: str) -> _Look:
        if name not in self._looks:
            parts = [part for part in self._parts if part.makers is None or name in part.makers]
            ops = [part.pattern for part in parts if isinstance(part.pattern, Op)]
            attributes = {key for op in ops for key, _ in op.attributes}
            attributes |= {"operandSegmentSizes"} if any(op.operands for op in ops) else set()
            calls = [op for op in ops if isinstance(op, CallTir)]
            attributes |= {"func"} if calls else set()
            attributes |= {"value"} if any(isinstance(part.pattern, Const) for part in parts) else set()
            self._looks[name] = _Look(
                parts,
                sorted(attributes),
                any(op.operands is not None for op in ops),
                any(isinstance(part.pattern, OfType) for part in parts),
                any(structure.has_sizes for call in calls for structure in call.structures),
            )
        return self._looks[name]

    def _bit(self, pattern: GraphPattern) -> int:
        if pattern not in self._bits:
            self._bits[pattern] = self._new_bit(pattern)
        return self._bits[pattern]

    def _new_bit(self, pattern: GraphPattern) -> int:
        if isinstance(pattern, (Named, Checked, UsedOnce)):
            return self._bit(pattern.inner)
        if isinstance(pattern, Outputs):  # searched from the first output
            return self._bit(pattern.outputs[0])
        if isinstance(pattern, Const):
            if pattern.number not in self._constants:
                self._constants[pattern.number] = self._add(pattern, frozenset(CONSTANTS))
            return self._constants[pattern.number]
        if isinstance(pattern, Repeated):
            return self._bit_of_repeated(pattern)
        inside = [self._bit(part) for part in pattern.parts]
        if isinstance(pattern, (Either, OfType)):
            return self._add(pattern, self._find_makers(inside))
        if isinstance(pattern, ResultPattern):
            return self._add(pattern, frozenset(pattern.op.names))
        if isinstance(pattern, Op):
            constant = tuple((name, value) for name, value in pattern.attributes if not callable(value))
            asked = pattern if constant == pattern.attributes else pattern.but(attributes=constant)
            return self._add(asked, frozenset(pattern.names))
        return _ANY

    def _bit_of_repeated(self, pattern: Repeated) -> int:
        """Return the bit of a repeated pattern. Its placeholder matches a repetition, or the innermost pattern."""
        again = Text("…")
        inner = self._bit(pattern.inner)
        self._bits[again] = bit = inner if inner == _ANY else self._new(None)
        once_more = pattern.around(again)
        outer = self._bit(once_more)
        if bit != _ANY:
            self._makers[bit] = makers = self._find_makers([outer, inner])
            self._parts.append(_ProspectPart(bit, Either((once_more, pattern.inner)), makers))
        return outer if pattern.least else bit

    def _find_makers(self, bits: Sequence[int]) -> _Makers:
        makers = [self._makers[bit] for bit in bits]
        return None if None in makers else frozenset[str]().union(*(maker for maker in makers if maker is not None))

    def _new(self, makers: _Makers) -> int:
        bit = 1 << len(self._makers)
        self._makers[bit] = makers
        return bit

    def _add(self, pattern: GraphPattern, makers: _Makers) -> int:
        bit = self._new(makers)
        self._parts.append(_ProspectPart(bit, pattern, makers))
        return bit
