# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Combiner of a reduction and its identity element, which allow lanes, partial results, and another order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..bindings.ir import Operation, Type, Value
from ..bindings.mlir import ir
from ..bindings.navigation import last_of, made_by, operations_of, use_count
from ..bindings.rewriting import Decline
from .arithmetic import element_type, result_of
from .generic import GenericOp
from .numbers import constant, larger, number
from .structured import StructuredOp
from .vectors import lane_of, shuffle


class Operator(NamedTuple):
    #: Kind of vector.reduction.
    kind: str
    #: Identity element for a width in bits, or None if there is none.
    identity: Callable[[int], float | int] | None
    #: True if a number may be combined more than once.
    is_idempotent: bool = False


#: Selection of the larger number, which is never NaN.
CHOICE = "arith.select"
#: Combiners by operation.
OPERATORS = {
    "arith.addf": Operator("add", lambda _: -0.0),
    "arith.addi": Operator("add", lambda _: 0),
    "arith.ori": Operator("or", lambda _: 0, True),
    "arith.xori": Operator("xor", lambda _: 0),
    "arith.mulf": Operator("mul", lambda _: 1.0),
    "arith.muli": Operator("mul", lambda _: 1),
    "arith.maximumf": Operator("maximumf", lambda _: -math.inf, True),
    "arith.maxnumf": Operator("maxnumf", None, True),
    "arith.maxsi": Operator("maxsi", lambda bits: -(1 << (bits - 1)), True),
    "arith.maxui": Operator("maxui", lambda _: 0, True),
    "arith.minimumf": Operator("minimumf", lambda _: math.inf, True),
    "arith.minnumf": Operator("minnumf", None, True),
    "arith.minsi": Operator("minsi", lambda bits: (1 << (bits - 1)) - 1, True),
    "arith.minui": Operator("minui", lambda _: -1, True),
    "arith.andi": Operator("and", lambda _: -1, True),
    CHOICE: Operator("maxnumf", lambda _: -math.inf, True),
}

_ORDERED_GREATER = 2
#: Element types with an instruction for x * y + z.
_FUSED = ("f32", "f64")
#: Fewer vectors are reduced one by one.
_LEAST_AT_ONCE = 4


@dataclass(frozen=True)
class Combiner:
    """Operation in a body that combines a number with an output."""

    operation: Operation

    @property
    def element(self) -> Type:
        return self.operation.results[0].type

    @property
    def is_sum(self) -> bool:
        return self.operation.name in ("arith.addf", "arith.addi")

    @property
    def product(self) -> Operation | None:
        """Multiplication of a sum of products, or None."""
        products = (made_by(value, "arith.mulf", "arith.muli") for value in self.operation.operands)
        return next((each for each in products if each is not None), None) if self.is_sum else None

    def apply(self, left: Value, right: Value) -> Value:
        if self.operation.name == CHOICE:
            return larger(number(left), number(right)).value
        copy = self.operation.clone()
        copy.operands[0], copy.operands[1] = left, right
        copy.results[0].set_type(left.type)
        return copy.results[0]

    def reduce(self, vector: Value, start: Value) -> Value:
        """Reduce all lanes and a start value to one number. Floats are merged by halves."""
        if isinstance(self.element, ir.FloatType):
            return self.apply(start, lane_of(self._reduced([vector]), 0))
        kind = ir.Attribute.parse(f"#vector.kind<{OPERATORS[self.operation.name].kind}>")
        return result_of("vector.reduction", [vector, start], self.element, kind=kind)

    def reduce_all(self, vectors: Sequence[Value], starts: Sequence[Value]) -> list[Value]:
        """Reduce several vectors to one number each.

        Halves of two vectors are interleaved, so that one operation serves both.
        """
        values: list[Value] = []
        while (left := len(vectors) - len(values)) >= _LEAST_AT_ONCE:
            count = 1 << (min(left, vectors[0].type.shape[0]).bit_length() - 1)
            start = len(values)
            numbers = self._reduced(vectors[start : start + count])
            values += [self.apply(starts[start + place], lane_of(numbers, place)) for place in range(count)]
        rest = slice(len(values), None)
        return values + [self.reduce(*each) for each in zip(vectors[rest], starts[rest], strict=True)]

    def _reduced(self, vectors: Sequence[Value]) -> Value:
        """Return a vector with one number per input vector."""
        width = vectors[0].type.shape[0]
        while width > 1:
            width //= 2
            pairs = [vectors[at : at + 2] for at in range(0, len(vectors), 2)]
            vectors = [self._halve(pair[0], pair[-1], width, len(pair)) for pair in pairs]
        (numbers,) = vectors
        return numbers

    def _halve(self, one: Value, other: Value, width: int, count: int) -> Value:
        """Combine the halves of each group of 2 * width lanes of both vectors, or of one vector if `count` is 1."""
        first = [lane for lane in range(count * one.type.shape[0]) if lane % (2 * width) < width]
        return self.apply(*(shuffle(one, other, [lane + shift for lane in first]) for shift in (0, width)))

    def neutral(self) -> Value:
        """Create the identity element at the insertion point."""
        identity = OPERATORS[self.operation.name].identity
        assert identity is not None
        return constant(identity(getattr(self.element, "width", 64)), self.element).value


def combiners(op: StructuredOp | GenericOp) -> list[Combiner]:
    """Return one combiner per output. Raise Decline if the order of a reduction is fixed."""
    return [_combiner(op, output, value) for output, value in enumerate(last_of(op.block).operands)]


def _combiner(op: StructuredOp | GenericOp, output: int, value: Value) -> Combiner:
    argument = op.block.arguments[op.input_count + output]
    operation = made_by(value, *OPERATORS)
    if operation is None or operation.parent != op.operation or OPERATORS[operation.name].identity is None:
        raise Decline(f"output #{output} is not reduced by a known operation")
    from_before = [operand == argument for operand in operation.operands]
    uses = 1
    if operation.name == CHOICE:
        uses = 2
        if not _is_larger(operation) or operation.operands[2] != argument:
            raise Decline(f"output #{output} is chosen by what is no known order")
    if sum(from_before) != 1 or use_count(argument) != uses or use_count(value) != 1:
        raise Decline(f"output #{output} depends on what was reduced before in more than one way")
    return Combiner(operation)


def _is_larger(choice: Operation) -> bool:
    """Check whether a select is that of emit.numbers.larger."""
    compared = made_by(choice.operands[0], "arith.cmpf")
    if compared is None or list(compared.operands) != list(choice.operands)[1:]:
        return False
    return int(compared.attributes["predicate"].value) == _ORDERED_GREATER


def allow_fused_multiply_add(op: StructuredOp) -> None:
    """Allow sums of products to be rounded once instead of twice."""
    for output, value in enumerate(last_of(op.block).operands):
        try:
            combiner = _combiner(op, output, value)
        except Decline:
            continue
        product = combiner.product
        if product is not None and product.name == "arith.mulf" and use_count(product.results[0]) == 1:
            for each in (product, combiner.operation):
                each.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<contract>")


def fuse_multiply_add(operations: Iterable[Operation]) -> list[Operation]:
    """Replace the products and sums of f32 and f64 that may be rounded once (`contract`) by `math.fma`.

    Returns the operations that are dead afterwards, users first. They no longer have the flag.
    """
    dead: list[Operation] = []
    for total in [operation for operation in operations if operation.name == "arith.addf" and _may_contract(operation)]:
        product = next((each for value in total.operands if (each := _product_of(value)) is not None), None)
        if product is None or str(element_type(total.results[0].type)) not in _FUSED:
            continue
        (addend,) = [value for value in total.operands if value != product.results[0]]
        with ir.InsertionPoint(total), total.location:
            fused = result_of("math.fma", [*product.operands, addend], total.results[0].type)
        total.results[0].replace_all_uses_with(fused)
        total.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<none>")
        dead += [total, product]
    return dead


def _product_of(value: Value) -> Operation | None:
    """Return the product if the sum is its only use, and both may be rounded once."""
    product = made_by(value, "arith.mulf")
    return product if product is not None and use_count(value) == 1 and _may_contract(product) else None


def _may_contract(operation: Operation) -> bool:
    return "contract" in str(operation.attributes["fastmath"])


def forget_signs_of_zeros(op: StructuredOp) -> None:
    """Allow either zero as the larger of 0 and -0, in reductions and with constants.

    The exact choice takes most of the time there. The accumulator becomes the second operand. The NaN test applies to
    the first operand, which does not depend on the previous step.
    """
    reduced = list(op.block.arguments)[op.input_count :]
    for operation in operations_of(op.block):
        if operation.name not in ("arith.maximumf", "arith.minimumf"):
            continue
        first, second = operation.operands
        if first in reduced:
            operation.operands[0], operation.operands[1] = second, first
        elif second not in reduced and not any(made_by(value, "arith.constant") for value in (first, second)):
            continue
        operation.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<nsz>")
