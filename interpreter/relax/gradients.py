# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Marks for derivatives, which a program that runs does not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import register_reference

if TYPE_CHECKING:
    from numpy import ndarray


@register_reference(["relax.grad.no_grad", "relax.grad.start_checkpoint", "relax.grad.end_checkpoint"])
def marked(call: object, data: ndarray) -> ndarray:
    return data
