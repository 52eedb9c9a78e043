# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules and plans of kernels, with their parts and the rules that choose them. `rx.schedules.register_plan`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
