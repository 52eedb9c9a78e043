# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of all conversion rules, which register themselves."""

from __future__ import annotations

from . import convolutions, elementwise, movement, norms, products  # noqa: F401  # register rules
