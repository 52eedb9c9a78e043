# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equal sizes of a kernel: sizes that have the same name in the graph at every call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import string_value
from relax_mlir.dialects.core.ir_attributes import SITE

#: A parameter's number and an axis.
Place = tuple[int, int]


def same_sizes(calls: Iterable[Operation]) -> Mapping[Place, Place]:
    """Map each size that has a name at all calls to the first parameter with this name."""
    names: dict[Place, list[str]] = {}
    count = 0
    for call in calls:
        count += 1
        for position, sizes in enumerate(_sizes_at(call)):
            for axis, size in enumerate(sizes):
                if size and size != "?":
                    names.setdefault((position, axis), []).append(size)
    first: dict[tuple[str, ...], Place] = {}
    known = {place: tuple(named) for place, named in names.items() if len(named) == count}
    return {place: first.setdefault(named, place) for place, named in sorted(known.items())}


def _sizes_at(call: Operation) -> list[list[str]]:
    """Return the names of the sizes of a call's operands in the graph, or an empty list if unknown."""
    if SITE not in call.attributes:
        return []
    site = call.attributes[SITE]
    texts = [string_value(each) for key in ("inputs", "outputs") for each in site[key]]
    return [_sizes_in(text) for text in texts] if len(texts) == len(call.operands) else []


def _sizes_in(text: str) -> list[str]:
    """Return the sizes in a text such as `f32[n,4]`. Formulas with commas are left out."""
    inside = text.partition("[")[2].rpartition("]")[0]
    return [] if "(" in inside else inside.split(",")
