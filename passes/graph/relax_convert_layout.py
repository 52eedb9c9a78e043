# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout conversion of operators, and of everything between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

from ...bindings.ir import Operation, OpView
from ...bindings.rewriting import located_error
from ...dialects.core.dialect import find_op
from ...dialects.core.operator import Operator
from ...support.errors import OptionError, RelaxError
from ..core.base import Pass
from ..core.options import PYTHON_ONLY
from ..core.registry import register_pass
from .layout.apply import apply
from .layout.layout_attributes import check_asked
from .layout.layout_plan import LayoutPlan

#: Callback that gives the layouts of an operation: () keeps it as it is, None selects `desired`.
Decide = Callable[[OpView], "str | Sequence[str] | None"]


@register_pass
@dataclass(frozen=True)
class ConvertLayout(Pass):
    """Convert operators, and the operations between them, to the desired layouts."""

    name: ClassVar[str] = "relax-convert-layout"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: Layouts per operator: data, then optionally kernel and result. In Python also tuples of texts.
    desired: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    callback: Decide | None = field(default=None, metadata={PYTHON_ONLY: True})

    def __post_init__(self) -> None:
        if not self.desired and self.callback is None:
            raise OptionError(f"pass '{self.name}' needs option 'desired', such as relax.nn.conv2d:NHWC:OHWI")
        try:
            texts = {name: _texts(value) for name, value in self.desired.items()}
            for name, text in texts.items():
                check_asked(find_op(name), text)
        except RelaxError as error:
            raise OptionError(f"pass '{self.name}': desired: {error}") from None
        object.__setattr__(self, "desired", {name: ":".join(each) for name, each in texts.items()})

    def run(self, op: Operation) -> None:
        plan = LayoutPlan(op, self._requested_layouts)
        if not plan.is_empty:
            apply(plan)

    def _requested_layouts(self, operation: Operation, row: Operator) -> Sequence[str] | None:
        decided = self.callback(operation.opview) if self.callback is not None else None
        if decided is None:
            desired = self.desired.get(row.full_name)
            return None if desired is None else _texts(desired)
        try:
            if texts := _texts(decided):
                check_asked(row, texts)
        except RelaxError as error:
            raise located_error(f"the callback's answer: {error}", operation.location) from None
        return texts


def _texts(layouts: object) -> Sequence[str]:
    texts = _split(layouts) if isinstance(layouts, str) else layouts
    if isinstance(texts, (list, tuple)) and all(isinstance(text, str) for text in texts):
        return texts
    raise OptionError(f"{layouts!r} names no layouts: expected 'NHWC:OHWI', or a tuple of texts")


@lru_cache
def _split(layouts: str) -> tuple[str, ...]:
    return tuple(layouts.replace(",", ":").split(":"))
