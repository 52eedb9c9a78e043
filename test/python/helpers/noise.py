# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helper of the tests that measure times: a busy machine is a note, not an error."""

from __future__ import annotations

import re

_ON_NOISE = re.compile(
    r"(relax-run: )?note: (the times scatter|a call is too short|the clocks take|calls take longer).*\n"
)


def without_noise(text: str) -> str:
    """Return a tool's messages without the warnings about noisy times."""
    return _ON_NOISE.sub("", text)
