# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Front ends for formats of models, and the parts that they are made of. `rx.front_ends.register_front_end`."""

from . import _namespace

__all__, __getattr__, __dir__ = _namespace(__name__)
