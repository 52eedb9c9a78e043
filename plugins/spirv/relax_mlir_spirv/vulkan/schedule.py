# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of PrimFuncs for Vulkan devices: the schedules of all GPUs, and a rule for cooperative matrices."""

from __future__ import annotations

from relax_mlir.passes.kernels.schedule.registry import register_plan

from ..plans.cooperative import plan_cooperative

register_plan("vulkan")(plan_cooperative)
