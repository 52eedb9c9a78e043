# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memoized derivatives: results of rules are cloned for operations of the same types."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from itertools import count

from relax_mlir.bindings.ir import Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import made_by, operations_of, used_by
from relax_mlir.bindings.rewriting import is_used
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.dialect import row_of
from relax_mlir.passes.core.memoised_rewrites import MadeOperations, Signatures, take_down

from .operation_path import Step, steps_to, unused_in


class Remembered:
    """Derivatives and types that one run shares."""

    def __init__(self) -> None:
        self._signatures = Signatures()
        #: Positions of the gradients among the results of the cached operations.
        self._known: dict[Hashable, tuple[list[int | None], MadeOperations]] = {}
        self._sums: dict[tuple[Type, Type], Type] = {}
        #: True if there may be operations with unused results.
        self.has_unused = False

    def sum(self, one: Value, other: Value) -> Value:
        """Return relax.add of both values, with type inference once per pair of types."""
        types = one.type, other.type
        if types not in self._sums:
            made = relax.add(one, other)
            self._sums[types] = made.type
            return made
        return ir.Operation.create("relax.add", [self._sums[types]], [one, other]).result

    def derived(
        self,
        step: Step,
        arriving: Sequence[Value | None],
        varies: Sequence[bool],
        ask: Callable[[], list[Value | None]],
    ) -> list[Value | None]:
        """Return the gradient of each operand, or None, from the cache or from `ask`.

        `varies` tells which operands may have a gradient.
        """
        operation, operands, _, results = step
        arrived = [value for value in arriving if value is not None]
        others = [*results, *arrived]
        given = [*operands, *others]
        distinct, same = given, []
        if len(set(given)) < len(given):
            distinct = list(dict.fromkeys(given))
            same = [distinct.index(value) for value in given]
        arrives = () if len(arrived) == len(arriving) else [value is not None for value in arriving]
        key = (self._signatures.of(operation, operands, others), *varies, *arrives, *same)
        known = self._known.get(key)
        if known is not None:
            places, made = known
            again = made.again(distinct)
            return [None if place is None else again[place] for place in places]
        gradients = _run_and_prune(ask, distinct)
        values = [gradient for gradient in gradients if gradient is not None]
        taken = take_down(distinct, values, [made[0] for made in steps_to(values, distinct)])
        if taken is not None:
            following = count()
            self._known[key] = [None if gradient is None else next(following) for gradient in gradients], taken
        if taken is None or not taken.uses(map(distinct.index, arrived)):
            self.has_unused = True
        return gradients


def erase_unused(unused: Iterable[Operation], kept: Collection[Value] = ()) -> None:
    """Erase pure operations without users, except producers of kept values, and producers that become unused."""
    waiting = dict.fromkeys(unused)
    while waiting:
        operation, _ = waiting.popitem()
        row = row_of(operation)
        if row is None or not row.pure or is_used(operation) or any(result in kept for result in operation.results):
            continue
        makers = [maker for maker in map(made_by, used_by(operation)) if maker is not None]
        operation.erase()
        waiting.update(dict.fromkeys(makers))


def _run_and_prune(ask: Callable[[], list[Value | None]], values: Iterable[Value]) -> list[Value | None]:
    """Run a rule, and erase unused operations. Rules recompute values of which they need only a part."""
    here, aside = ir.InsertionPoint.current, ir.Module.create(ir.Location.current)
    with ir.InsertionPoint(aside.body):
        gradients = ask()
    erase_unused(unused_in(aside.operation), {*values, *(gradient for gradient in gradients if gradient is not None)})
    for operation in operations_of(aside.body):
        operation.detach_from_parent()
        here.insert(operation)
    return gradients
