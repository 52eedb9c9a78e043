# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules of PrimFuncs for NVIDIA's GPUs: the schedules of all GPUs, and rules for NVIDIA's instructions."""

from __future__ import annotations

from ...passes.kernels.schedule.registry import register_plan
from .plans.matrix_units import plan_matrix_units
from .plans.warp_groups import plan_warp_groups

for _rule in (plan_warp_groups, plan_matrix_units):
    register_plan("cuda")(_rule)
