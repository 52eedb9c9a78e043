# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""References of this project's operators: importing this module registers the functions of `relax/` and `tir/`."""

from __future__ import annotations

from .steps import STEPS

STEPS.load()
