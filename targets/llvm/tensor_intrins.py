# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor intrinsics of CPUs: instructions that sum products of narrow numbers."""

from __future__ import annotations

from ...passes.kernels.schedule.dot_intrins import register_dots
from .objects.dot_instructions import all_dot_instructions

register_dots(all_dot_instructions())
