# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What schedules and plans of kernels are made of, and rules that choose them. `rx.schedules.register_plan`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
