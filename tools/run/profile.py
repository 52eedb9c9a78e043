# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the time of a call goes: a table, or a file of JSON."""

from __future__ import annotations

import json
from typing import TextIO

from ...runtime.profile import Profile
from ...runtime.profile_text import profile_text
from ..command_line import terminal_width
from ..opt.files import write_whole


def report(profile: Profile, stream: TextIO) -> str:
    """The table: as wide as a terminal, whole for a pipe or a file."""
    return profile_text(profile, terminal_width(stream))


def write_json(path: str, profile: Profile) -> None:
    """All of it as data, whole or not at all."""
    write_whole(path, (json.dumps(profile.to_dict(), indent=1) + "\n").encode())
