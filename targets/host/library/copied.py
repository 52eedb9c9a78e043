# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that are copied into each program, so that their callers can inline them (support.py)."""

from __future__ import annotations

from ..native.language import I64, atomic_load, copied_function, likely, place_of
from .prelude import Profile
from .support import add_time, clock


@copied_function.inline
def profile_begin(profile: Profile) -> I64:
    """Return the start time for profile_end, or 0 without a profile.

    Without a profile, both functions cost two loads and two branches.
    """
    thread = atomic_load(place_of(profile.thread), "monotonic")
    if likely(thread == 0):
        return 0
    return clock(profile, thread)


@copied_function.inline
def profile_end(profile: Profile, place: I64, start: I64) -> None:
    """Add the time since profile_begin to a place in the profile."""
    thread = atomic_load(place_of(profile.thread), "monotonic")
    if likely(thread == 0):
        return
    add_time(profile, place, start, thread)
