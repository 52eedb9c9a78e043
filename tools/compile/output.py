# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The file that relax-compile writes."""

from __future__ import annotations

import os

from ...support.errors import RelaxError


def check_output(path: str | None) -> None:
    """Refuses before the work what could not be written after it."""
    if path in (None, "-"):
        return
    parent = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(parent):
        raise RelaxError(f"cannot write output file '{path}': there is no folder '{parent}'")
    if os.path.isdir(path):
        raise RelaxError(f"cannot write output file '{path}': it is a folder")
