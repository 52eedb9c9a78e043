# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What relax-fuse-ops writes on calls and tir-fuse reads; a pass between the two may change it.

`relax.group = 3`: the calls of a block with this number become one. `relax.apart = ["operand #0: reason"]`: why a call
is in no group with one that it reads, for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...bindings.ir import Attribute, Operation
from ...bindings.mlir import i64_attribute, ir, string_array
from ...bindings.rewriting import located_error
from ...dialects.core.ir_attributes import APART, GROUP


def group_number(stated: Attribute, call: Operation) -> int:
    """Of the group that an attribute of a call states."""
    if not isinstance(stated, ir.IntegerAttr):
        raise located_error(f"attribute '{GROUP}' must be the number of a group, got {stated}", call.location)
    return int(stated.value)


def mark_group(calls: Iterable[Operation], number: int) -> None:
    attribute = i64_attribute(number)
    for call in calls:
        call.attributes[GROUP] = attribute


def mark_apart(reasons: Mapping[tuple[Operation, Operation], str]) -> None:
    """Writes on each consumer why it is in no group with a producer."""
    by_consumer: dict[Operation, list[str]] = {}
    for (producer, consumer), reason in reasons.items():
        own = list(producer.results)
        which = next(index for index, operand in enumerate(consumer.operands) if operand in own)
        by_consumer.setdefault(consumer, []).append(f"operand #{which}: {reason}")
    for consumer, texts in by_consumer.items():
        consumer.attributes[APART] = string_array(texts)


def unmark(call: Operation) -> None:
    for name in {GROUP, APART}.intersection(call.attributes):
        del call.attributes[name]
