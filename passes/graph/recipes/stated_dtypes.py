# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types that a pattern states for its named parts, compared with the types of a recipe's entry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ....dialects.core.infos import bit_width, is_dtype, is_int
from ....support.errors import RelaxError
from ...patterns.tree import Condition, GraphPattern, Named, OfType, walk
from .operand_types import OperandType


def is_quantized_type(dtype: str) -> bool:
    """Check whether an element type, or a class of these, is one of quantized tensors."""
    return dtype == "integer" or (is_dtype(dtype) and (is_int(dtype) or bit_width(dtype) == 8))


def check_dtypes(entry: str, pattern: GraphPattern, types: Mapping[str, Sequence[OperandType]], result: str) -> None:
    """Raise RelaxError if an entry states types that the integers of its pattern do not have."""
    stated_dtypes = _stated_dtypes(pattern, result)
    for name, stated in types.items():
        dtypes = stated_dtypes.get(name, set())
        wrong = [each for each in stated if dtypes and each.dtype not in dtypes]
        # The result has the types of the first operand by default, of which one is enough.
        if wrong and (name != result or len(wrong) == len(stated)):
            raise RelaxError(
                f"recipe: {entry}: {name} is '{wrong[0]}', and the pattern's {name} has elements of "
                f"{' or '.join(sorted(dtypes))}: state one of these types, or another has_dtype() in the pattern"
            )


def _stated_dtypes(pattern: GraphPattern, result: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for part in walk(pattern):
        names = [each.name for each in _conditions(part) if isinstance(each, Named)]
        names += [result] if part is pattern else []
        for condition in _conditions(part):
            if isinstance(condition, OfType) and condition.dtypes and all(map(is_quantized_type, condition.dtypes)):
                for name in names:
                    found[name].update(condition.dtypes)
    return {name: dtypes for name, dtypes in found.items() if "integer" not in dtypes}


def _conditions(part: GraphPattern) -> Iterator[Condition]:
    """Yield a pattern and its inner ones, as long as they are conditions on the same value."""
    while isinstance(part, Condition):
        yield part
        part = part.inner
