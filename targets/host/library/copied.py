# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that are copied into each program, so that their callers can inline them (support.py)."""

from __future__ import annotations

from ..native.language import I64, Array, atomic_load, copied_function, library_function, likely


@library_function
def clock(table: Array[I64], thread: I64) -> I64: ...


@library_function
def add_time(table: Array[I64], place: I64, start: I64, thread: I64) -> None: ...


@copied_function.inline
def profile_begin(table: Array[I64]) -> I64:
    """Return the start time for profile_end, or 0 without a profile.

    Without a profile, both functions cost two loads and two branches.
    """
    thread = atomic_load(table, "monotonic")
    if likely(thread == 0):
        return 0
    return clock(table, thread)


@copied_function.inline
def profile_end(table: Array[I64], place: I64, start: I64) -> None:
    """Add the time since profile_begin to a place in the table."""
    thread = atomic_load(table, "monotonic")
    if likely(thread == 0):
        return
    add_time(table, place, start, thread)
