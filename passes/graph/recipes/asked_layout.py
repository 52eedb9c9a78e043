# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts in which a codegen or a target takes convolutions and pools: `NHWC`, or `NHWC:HWIO` with kernels."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.core.dialect import find_op
from ....dialects.core.opdef import OpDef
from ....support.errors import OptionError

_SLIDING = ("max_pool", "avg_pool", "adaptive_avg_pool")
#: Operators by the letters of their data's layout, convolutions first.
_OPERATORS = {
    letters: (f"conv{rank}d", f"conv{rank}d_transpose", *(f"{name}{rank}d" for name in _SLIDING))
    for rank, letters in ((1, "CNW"), (2, "CHNW"), (3, "CDHNW"))
}


def check_layout(layout: object, where: str) -> None:
    """Raise OptionError if a text is no layout. An empty text is none."""
    if layout == "":
        return
    data, _, kernel = layout.partition(":") if isinstance(layout, str) else ("", "", "")
    letters = "".join(sorted(data))
    of_kernel = sorted(letters.replace("N", "I").replace("C", "O"))
    if letters not in _OPERATORS or (":" in str(layout) and sorted(kernel) != of_kernel):
        raise OptionError(
            f"{where}: layout={layout!r:.60}: expected the layout of data, such as 'NHWC', or of data and kernels, "
            "such as 'NHWC:HWIO'"
        )


def layout_passes(layout: str) -> list[str]:
    """Return the pass that brings convolutions and pools into a layout, which `check_layout` accepts."""
    data, _, kernel = layout.partition(":")
    ops = [find_op(f"relax.nn.{name}") for name in _OPERATORS["".join(sorted(data))]]
    asked = ",".join(f"{op.full_name}:{_layouts(op, data, kernel)}" for op in ops if isinstance(op, OpDef))
    return [f"relax-convert-layout{{desired={asked}}}"]


def _layouts(op: OpDef, data: str, kernel: str) -> str:
    asked: Sequence[str] = [data, kernel] if kernel and "weight" in op.layouts else [data]
    return ":".join(asked)
