# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Body of a sum in one residue class of its loops: conditions are decided, and indices become sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import last_of, made_by
from ....bindings.rewriting import Decline, copy_operation
from ....dialects.core.symbols_expr import Size
from ....emit.combiner import Combiner
from ....emit.generic import GenericOp
from ....emit.numbers import as_index
from .affine_sizes import is_linear, size_of
from .body_values import BodyValues

_PURE = ("arith.", "math.")
_PRODUCTS = ("arith.mulf", "arith.muli")
#: Operations that give zero for zero.
_OF_ZERO = frozenset("arith.extf arith.truncf arith.sitofp arith.uitofp arith.extsi arith.extui arith.negf".split())


class ClassLoops(NamedTuple):
    """The steps of each loop in a class, and the index of the original loop at a step."""

    sizes: tuple[int | None, ...]
    indices: tuple[Size, ...]


class Read(NamedTuple):
    """An element that each point reads. A scalar has no indices."""

    source: Value
    indices: tuple[Size, ...]


@dataclass(frozen=True)
class ClassBody:
    """Elements that the body reads, by their values in the original body.

    A class that adds only zeros reads just the factors of these zeros: an infinite factor makes the zero a NaN.
    """

    op: GenericOp
    loops: ClassLoops
    reads: Mapping[Value, Read]
    is_kept: bool

    @staticmethod
    def create(op: GenericOp, combiner: Combiner, loops: ClassLoops) -> ClassBody:
        """Create the body. Raise Decline if conditions or divisions remain."""
        if 0 in loops.sizes:
            return ClassBody(op, loops, {}, False)
        reader = _ClassReader(op, loops)
        argument = op.block.arguments[op.input_count]
        (term,) = [value for value in combiner.operation.operands if value != argument]
        if (factors := reader.factors_of_zero(term)) is not None:
            return ClassBody(op, loops, {value: reader.read(value) for value in factors}, False)
        reader.follow(term)
        return ClassBody(op, loops, reader.found, True)

    def copy(self, scalars: Mapping[Value, Value]) -> Value:
        """Create the body at the insertion point, with scalars for the elements. Return the yielded value."""
        return _Copier(BodyValues(self.loops.indices), dict(scalars)).copied(last_of(self.op.block).operands[0])


class _ClassReader:
    """Walk of the values that a body computes in a class."""

    def __init__(self, op: GenericOp, loops: ClassLoops):
        self._op, self._loops = op, loops
        self._values = BodyValues(loops.indices)
        self._seen: set[Value] = set()
        self.found: dict[Value, Read] = {}

    def follow(self, value: Value) -> None:
        """Find the elements from which a value is computed. Raise Decline for operations that cannot be copied."""
        value = self._values.result(value)
        if value in self._seen or _is_known(self._values, value):
            return
        self._seen.add(value)
        if (op := made_by(value)) is None or op.name == "tensor.extract":
            self.found[value] = self.read(value)
            return
        if not op.name.startswith(_PURE) or len(op.regions):
            raise Decline(f"'{op.name}' depends on the residue class")
        for operand in op.operands:
            self.follow(operand)

    def read(self, value: Value) -> Read:
        """Return the element that a value reads. Raise Decline if its index is no sum."""
        if (op := made_by(value)) is None:
            if value.owner != self._op.block:
                return Read(value, ())
            source = self._op.operands[value.arg_number]
            indices = [size_of(result, self._loops.indices) for result in self._op.maps[value.arg_number].results]
        else:
            source = op.operands[0]
            indices = [self._values.size(index) for index in list(op.operands)[1:]]
        linear = tuple(index for index in indices if index is not None and is_linear(index))
        if len(linear) != len(indices):
            raise Decline("an index is no sum of loops")
        return Read(source, linear)

    def factors_of_zero(self, value: Value) -> list[Value] | None:
        """Return the elements by which a zero is multiplied, or None for a value that is not known to be zero."""
        value = self._values.result(value)
        if (op := made_by(value)) is None:
            return None
        if op.name == "arith.constant":
            return [] if _is_zero(op) else None
        if op.name in _OF_ZERO:
            return self.factors_of_zero(op.operands[0])
        if op.name not in _PRODUCTS:
            return None
        for one, other in (tuple(op.operands), tuple(op.operands)[::-1]):
            if (factors := self.factors_of_zero(one)) is not None:
                return factors if op.name == "arith.muli" else self._with_factor(factors, other)
        return None

    def _with_factor(self, factors: list[Value], value: Value) -> list[Value] | None:
        value = self._values.result(value)
        while (widened := made_by(value, "arith.extf")) is not None:
            value = self._values.result(widened.operands[0])
        op = made_by(value)
        return None if op is not None and op.name != "tensor.extract" else [*factors, value]


class _Copier:
    """Copies of a body's operations, except for operations that a class does not need."""

    def __init__(self, values: BodyValues, made: dict[Value, Value]):
        self._values, self._made = values, made

    def copied(self, value: Value) -> Value:
        if (found := self._values.result(value)) not in self._made:
            self._made[found] = self._copy(found)
        return self._made[found]

    def _copy(self, value: Value) -> Value:
        known = self._values.size(value)
        if isinstance(known, int) and isinstance(value.type, ir.IndexType):
            return as_index(known).value
        op = made_by(value)
        assert op is not None
        for operand in op.operands:
            self._made[operand] = self.copied(operand)
        copy_operation(op, self._made)
        return self._made[value]


def _is_known(values: BodyValues, value: Value) -> bool:
    return isinstance(value.type, ir.IndexType) and isinstance(values.size(value), int)


def _is_zero(constant: Operation) -> bool:
    value = constant.attributes["value"]
    return isinstance(value, (ir.FloatAttr, ir.IntegerAttr)) and value.value == 0
