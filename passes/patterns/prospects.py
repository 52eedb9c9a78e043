# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Match filter: a conservative analysis of which of many patterns may match where, for a whole block at once.

Each value has a mask with a bit for each part of a pattern that it may be, as far as its operator, attributes and type
and the masks of what it is made of determine. Operations that are alike in these have equal masks, which are worked out
once for all of them: what a block costs hardly grows with the number of patterns. What holds of a match as a whole is
left to `match`: that a part is one value in two places, checks, attributes that a function is asked about.
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

#: The bit of what anything is.
_ANY = 1
#: The names of operations that can make a value; None: any, or none.
_Makers = frozenset[str] | None


class _ProspectPart(NamedTuple):
    bit: int
    pattern: GraphPattern
    makers: _Makers


class _Look(NamedTuple):
    """What counts of operations of one name: the parts that they may be, inner ones first, and what these ask about."""

    parts: Sequence[_ProspectPart]
    attributes: Sequence[str]
    reads_operands: bool
    reads_type: bool
    #: Of operands, too.
    reads_types: bool


class Prospects:
    """Where each of several patterns is worth being tried, in blocks of one module whose PrimFuncs stay as they are."""

    def __init__(self, patterns: Sequence[GraphPattern]):
        self._parts: list[_ProspectPart] = []
        self._bits: dict[GraphPattern, int] = {}
        self._makers: dict[int, _Makers] = {_ANY: None}
        self._constants: dict[float | None, int] = {}
        self._looks: dict[str, _Look] = {}
        #: Masks of an operation and, where these are several, of its results.
        self._known: dict[Hashable, Sequence[int]] = {}
        self._roots = [(number, self._bit(pattern)) for number, pattern in enumerate(patterns)]
        self._begun: dict[int, Sequence[int]] = {}
        #: The names of all operators in the patterns.
        self.names = frozenset(
            name for part in self._parts if isinstance(part.pattern, Op) for name in part.pattern.names
        )

    def in_block(self, block: Block) -> dict[int, list[Operation]]:
        """By the numbers of patterns, the operations that each may match at, in their order."""
        return self.among(operations_of(block))

    def among(self, operations: Iterable[Operation]) -> dict[int, list[Operation]]:
        """The same of a block's operations in another order, in which they stand behind what they are made of."""
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
        below = [masks[each] if each in masks else self._from_outside(each, masks) for each in values]
        given = op.attributes
        attributes = [given.get(name, None) for name in look.attributes]
        types = [value.type for value in op.results] if look.reads_type else []
        types += [value.type for value in op.operands] if look.reads_types else []
        key = op.name, len(op.results), tuple(below), tuple(attributes), tuple(types)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._work_out(op, look, masks)
        return known

    def _work_out(self, op: Operation, look: _Look, masks: dict[Value, int]) -> Sequence[int]:
        own = self._mask(look, subject_of(op), None, masks)
        results = op.results
        return [own] if len(results) == 1 else [own, *(self._mask(look, value, own, masks) for value in results)]

    def _from_outside(self, value: Value, masks: dict[Value, int]) -> int:
        """Of an argument, or of another block's value: that has no operators in it."""
        maker = made_by(value, *CONSTANTS)
        look = self._look(maker.name if maker else "")
        masks[value] = self._mask(look, value, 0, masks) if look.parts else _ANY
        return masks[value]

    def _mask(self, look: _Look, subject: Subject, of_op: int | None, masks: dict[Value, int]) -> int:
        """`of_op`: the mask of the operation that makes the value, if it is another one."""
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
        """The numbers of the patterns whose value it may be."""
        if mask not in self._begun:
            self._begun[mask] = [number for number, bit in self._roots if mask & bit]
        return self._begun[mask]

    def _look(self, name: str) -> _Look:
        if name not in self._looks:
            parts = [part for part in self._parts if part.makers is None or name in part.makers]
            ops = [each.pattern for each in parts if isinstance(each.pattern, Op)]
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
                any(each.has_sizes for call in calls for each in call.structures),
            )
        return self._looks[name]

    def _bit(self, pattern: GraphPattern) -> int:
        if pattern not in self._bits:
            self._bits[pattern] = self._new_bit(pattern)
        return self._bits[pattern]

    def _new_bit(self, pattern: GraphPattern) -> int:
        if isinstance(pattern, (Named, Checked, UsedOnce)):
            return self._bit(pattern.inner)
        if isinstance(pattern, Outputs):  # is looked for at the first
            return self._bit(pattern.outputs[0])
        if isinstance(pattern, Const):
            if pattern.number not in self._constants:
                self._constants[pattern.number] = self._add(pattern, frozenset(CONSTANTS))
            return self._constants[pattern.number]
        if isinstance(pattern, Repeated):
            return self._bit_of_repeated(pattern)
        inside = [self._bit(part) for part in pattern.parts]
        if isinstance(pattern, (Either, OfType)):
            return self._add(pattern, self._made_by(inside))
        if isinstance(pattern, ResultPattern):
            return self._add(pattern, frozenset(pattern.op.names))
        if isinstance(pattern, Op):
            constant = tuple((name, value) for name, value in pattern.attributes if not callable(value))
            asked = pattern if constant == pattern.attributes else pattern.but(attributes=constant)
            return self._add(asked, frozenset(pattern.names))
        return _ANY

    def _bit_of_repeated(self, pattern: Repeated) -> int:
        """However often there is something around it: what may be there again is this, or what is inside."""
        again = Text("…")
        inner = self._bit(pattern.inner)
        self._bits[again] = bit = inner if inner == _ANY else self._new(None)
        once_more = pattern.around(again)
        outer = self._bit(once_more)
        if bit != _ANY:
            self._makers[bit] = makers = self._made_by([outer, inner])
            self._parts.append(_ProspectPart(bit, Either((once_more, pattern.inner)), makers))
        return outer if pattern.least else bit

    def _made_by(self, bits: Sequence[int]) -> _Makers:
        makers = [self._makers[bit] for bit in bits]
        return None if None in makers else frozenset[str]().union(*(each for each in makers if each is not None))

    def _new(self, makers: _Makers) -> int:
        bit = 1 << len(self._makers)
        self._makers[bit] = makers
        return bit

    def _add(self, pattern: GraphPattern, makers: _Makers) -> int:
        bit = self._new(makers)
        self._parts.append(_ProspectPart(bit, pattern, makers))
        return bit
