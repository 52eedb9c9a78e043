# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A helper of the tests that measure times: a busy machine is noted, and no error."""

from __future__ import annotations

import re

_ON_NOISE = re.compile(
    r"(relax-run: )?note: (the times scatter|a call is too short|the clocks take|calls take longer).*\n"
)


def without_noise(text: str) -> str:
    """A tool's messages but for those on how well the times can be trusted."""
    return _ON_NOISE.sub("", text)
