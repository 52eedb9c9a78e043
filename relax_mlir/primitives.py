# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop trees, and functions that primitives of schedules share. `rx.primitives.Edit`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
