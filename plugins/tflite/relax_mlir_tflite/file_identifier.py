# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Identifier of TFLite files. This module imports nothing, because tools recognize files before they import readers."""

from __future__ import annotations

#: File identifier, stored after the first offset.
IDENTIFIER = b"TFL3"
