# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout conversion: brings operators into requested layouts, and everything between them along."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

from ..bindings.ir import Operation, OpView
from ..bindings.rewriting import located_error
from ..dialects.core.dialect import find_op
from ..dialects.core.operator import Operator
from ..support.errors import OptionError, RelaxError
from .core.base import Pass
from .core.options import PYTHON_ONLY
from .core.registry import register_pass
from .layout.apply import apply
from .layout.layout_attributes import check_asked
from .layout.layout_plan import LayoutPlan

#: Given an operation: the layouts that it is to have, () as it is, None as `desired` says.
Decide = Callable[[OpView], "str | Sequence[str] | None"]


@register_pass
@dataclass(frozen=True)
class ConvertLayout(Pass):
    """Converts operators, and what is between them, to the layouts that one desires."""

    name: ClassVar[str] = "relax-convert-layout"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: For an operator the layouts of data, kernel, result, as many as are wanted. From Python also as tuples of texts.
    desired: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    callback: Decide | None = field(default=None, metadata={PYTHON_ONLY: True})

    def __post_init__(self) -> None:
        if not self.desired and self.callback is None:
            raise OptionError(f"pass '{self.name}' needs option 'desired', such as relax.nn.conv2d:NHWC:OHWI")
        try:
            texts = {name: _texts(each) for name, each in self.desired.items()}
            for name, each in texts.items():
                check_asked(find_op(name), each)
        except RelaxError as error:
            raise OptionError(f"pass '{self.name}': desired: {error}") from None
        object.__setattr__(self, "desired", {name: ":".join(each) for name, each in texts.items()})

    def run(self, op: Operation) -> None:
        plan = LayoutPlan(op, self._asked)
        if not plan.is_empty:
            apply(plan)

    def _asked(self, operation: Operation, row: Operator) -> Sequence[str] | None:
        decided = self.callback(operation.opview) if self.callback is not None else None
        if decided is None:
            desired = self.desired.get(row.full_name)
            return None if desired is None else _texts(desired)
        try:
            texts = _texts(decided)
            if texts:
                check_asked(row, texts)
        except RelaxError as error:
            raise located_error(f"the callback's answer: {error}", operation.location) from None
        return texts


def _texts(layouts: object) -> Sequence[str]:
    given = _split(layouts) if isinstance(layouts, str) else layouts
    if isinstance(given, (list, tuple)) and all(isinstance(each, str) for each in given):
        return given
    raise OptionError(f"{layouts!r} names no layouts: expected 'NHWC:OHWI', or a tuple of texts")


@lru_cache
def _split(layouts: str) -> tuple[str, ...]:
    return tuple(layouts.replace(",", ":").split(":"))
