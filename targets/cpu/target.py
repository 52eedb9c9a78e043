# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all CPUs have in common."""

from __future__ import annotations

from ..core.registry import Target

TARGET = Target("cpu", doc="Processors with one memory and threads of their own.")
