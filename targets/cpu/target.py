# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target cpu: properties shared by all CPUs."""

from __future__ import annotations

from ..core.registry import Target

TARGET = Target("cpu", doc="Processors with threads that share one memory.")
