# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of kernels on devices, by events around their launches, for programs with clocks (host-profile-kernels).

The time between two events is reported after both have passed. Only a full table waits.
"""

from __future__ import annotations

from ..native.language import (
    F32, F64, I32, I64, NULL, Array, Ptr, Status, Struct, atomic_load, library_function, likely, local_function,
    place_of, stack, storage,
)  # fmt: skip
from .device import DeviceTable, device_enter, device_leave, device_stream
from .prelude import OK, Profile, add_spent, pthread_self
from .support import is_logged, log, now


class EventPair(Struct):
    """Events around a kernel, and its place in the profile, -1 before the end."""

    first: Ptr
    last: Ptr
    place: I64


MOST_PAIRS, NO_PLACE = 512, -1
pairs = storage(EventPair, MOST_PAIRS)
#: Number of reported pairs, and number of pairs since.
reported_pairs = storage(I64)
open_pairs = storage(I64)
#: First event since the last report, and the host's time of recording, which approximates its time on the device; 0
#: without a log.
first_event = storage(Ptr)
first_time = storage(I64)
#: Kinds of records in the log: begin of a launch, time of a kernel, end of a launch.
LAUNCH_BEGIN, KERNEL, LAUNCH_END = 0, 4, 5
NANOSECONDS = 1.0e6


@local_function.cold
def device_mark_first(table: DeviceTable) -> None:
    """Record the first event, unless there is one."""
    if first_time[0] == 0:
        status = device_event(table, first_event)
        time = now()
        first_time[0] = time if status == OK else 0


@local_function
def device_time_of(table: DeviceTable, event: Ptr) -> I64:
    """Return the host's time of an event in nanoseconds, by its distance to the first event."""
    elapsed = stack(F32)
    elapsed[0] = F32(0.0)
    device_between(table, elapsed, first_event[0], event)
    return first_time[0] + I64(F64(elapsed[0]) * NANOSECONDS)


@local_function
def device_between(table: DeviceTable, milliseconds: Array[F32], first: Ptr, last: Ptr) -> I32:
    """Store the time between two events. Return the driver's status."""
    if table.measure != NULL:
        return table.measure(milliseconds, first, last)
    milliseconds[0] = F32(F64(I64(last) - I64(first)) / NANOSECONDS)
    return OK


@local_function
def device_event(table: DeviceTable, slot: Array[Ptr]) -> I32:
    """Record an event on the caller's stream, and create it if needed. Return the driver's status.

    Without events in the driver, an event is the host's time after a wait.
    """
    if table.create_event == NULL:
        status = table.wait(device_stream(table))
        slot[0] = Ptr(now())
        return status
    if slot[0] == NULL:
        created = table.create_event(slot, OK)
        if created != OK:
            return created
    return table.record_event(slot[0], device_stream(table))


@library_function
def device_profile_begin(table: DeviceTable, profile: Profile) -> I64:
    """Return the ordinal of a launch for device_profile_end, or 0 if this thread has no profile."""
    thread = atomic_load(place_of(profile.thread), "monotonic")
    if likely(thread == 0):
        return 0
    if pthread_self() != thread:
        return 0
    if open_pairs[0] >= MOST_PAIRS:
        device_tell_events(table, profile)
    number = open_pairs[0]
    time = now()
    if is_logged():
        device_mark_first(table)
    pair = pairs[number]
    pair.place = NO_PLACE
    status = device_event(table, place_of(pair.first))
    open_pairs[0] = number + 1
    ordinal = reported_pairs[0] + number + 1
    log(LAUNCH_BEGIN, ordinal, time, time)
    return ordinal if status == OK else 0


@library_function
def device_profile_end(table: DeviceTable, profile: Profile, place: I64, ordinal: I64) -> None:
    """End the time of the device's work since device_profile_begin."""
    if likely(ordinal == 0):
        return
    # A pair that began before the last report has no place any more.
    number = ordinal - reported_pairs[0] - 1
    if number < 0:
        return
    time = now()
    log(place << 8 | LAUNCH_END, ordinal, time, time)
    pair = pairs[number]
    if device_event(table, place_of(pair.last)) == OK:
        pair.place = place


@local_function
def device_tell_events(table: DeviceTable, profile: Profile) -> None:
    """Wait for all pairs and add their nanoseconds to their places."""
    elapsed = stack(F32)
    count = open_pairs[0]
    for i in range(count):
        pair = pairs[i]
        place = pair.place
        if place == NO_PLACE:
            continue
        if table.wait_for_event != NULL:
            table.wait_for_event(pair.last)
        if device_between(table, elapsed, pair.first, pair.last) != OK:
            continue
        add_spent(profile, place, I64(F64(elapsed[0]) * NANOSECONDS))
        if first_time[0] != 0:
            begin = device_time_of(table, pair.first)
            log(place << 8 | KERNEL, 0, begin, device_time_of(table, pair.last))
    reported_pairs[0] += count
    open_pairs[0] = 0


@library_function
def device_tell_profile(table: DeviceTable, profile: Profile) -> Status:
    """Report all pairs and destroy the events. The runtime calls this after a call, before it reads the times."""
    device_enter(table)
    device_tell_events(table, profile)
    first_time[0] = 0
    device_end_event(table, first_event)
    for i in range(MOST_PAIRS):
        device_end_event(table, place_of(pairs[i].first))
        device_end_event(table, place_of(pairs[i].last))
    device_leave(table)


@local_function
def device_end_event(table: DeviceTable, slot: Array[Ptr]) -> None:
    """Destroy the event of a slot, if there is one."""
    if slot[0] != NULL and table.destroy_event != NULL:
        table.destroy_event(slot[0])
    slot[0] = NULL
