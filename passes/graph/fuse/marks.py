# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes that relax-fuse-ops writes on calls and tir-fuse reads. A pass between the two may change them.

`relax.group = 3`: the calls of a block with this number become one. `relax.apart = ["operand #0: reason"]` tells
readers why a call is not fused with a producer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ....bindings.ir import Attribute, Operation
from ....bindings.mlir import i64_attribute, ir, string_array
from ....bindings.rewriting import located_error
from ....dialects.core.ir_attributes import APART, GROUP


def group_number(stated: Attribute, call: Operation) -> int:
    """Return the group number that a call's attribute states."""
    if not isinstance(stated, ir.IntegerAttr):
        raise located_error(f"attribute '{GROUP}' must be the number of a group, got {stated}", call.location)
    return int(stated.value)


def mark_group(calls: Iterable[Operation], number: int) -> None:
    attribute = i64_attribute(number)
    for call in calls:
        call.attributes[GROUP] = attribute


def mark_apart(reasons: Mapping[tuple[Operation, Operation], str]) -> None:
    """Record on each consumer why it is not fused with a producer."""
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
