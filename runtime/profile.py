# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the time of a call goes: the compiled code has a clock at each place where a graph calls a kernel."""

from __future__ import annotations

import ctypes
import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from .errors import ArtifactError

#: The code's function that switches its clocks on (1) and off (0) and gives the address of what they measure: i64
#: numbers, nanoseconds of all kernels, then for each place calls and nanoseconds.
SWITCH = "__relax_profile"

Switch = Callable[[int], int]
Run = TypeVar("Run")


@dataclass(frozen=True)
class KernelTime:
    """A place in the program where a kernel is called. Times and calls are for one call of the program's function."""

    #: A PrimFunc's name, or that of a packed function.
    kernel: str
    #: Names of the model's nodes, or places in a file; their operators where the model tells ("onnx.Conv").
    nodes: tuple[str, ...]
    node_operators: tuple[str, ...]
    #: What the kernel computes, and which of it the time is filed under.
    operators: tuple[str, ...]
    main_operator: str
    #: Types, as "f32[n,4]".
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: Of inputs and outputs; None where sizes differ from call to call.
    bytes: int | None
    calls: int
    seconds: float
    share: float
    #: Of the fastest and of the slowest call of the program's function.
    fastest_seconds: float
    slowest_seconds: float


@dataclass(frozen=True)
class OperatorTime:
    """The time of all kernels of one main operator."""

    operator: str
    #: Places in the program, and calls.
    kernels: int
    calls: int
    seconds: float
    share: float


@dataclass(frozen=True)
class Profile:
    """Means over calls, without the fastest and the slowest quarter of them.

    What kernels take and what is between them add up to `profiled_seconds`, which shares are of.
    """

    function: str
    repeat: int
    #: The longest first.
    kernels: tuple[KernelTime, ...]
    #: What is not in kernels: checks, sizes, memory, the call itself.
    between_seconds: float
    between_share: float
    #: A whole call, with the clocks on and off.
    profiled_seconds: float
    unprofiled_seconds: float
    #: Why the times are not to be trusted as they stand; nothing where they are.
    notes: tuple[str, ...] = ()

    def by_operator(self) -> list[OperatorTime]:
        """The times of each kind of operator, the longest first."""
        groups: dict[str, list[KernelTime]] = {}
        for each in self.kernels:
            groups.setdefault(each.main_operator, []).append(each)
        times = [
            OperatorTime(
                operator,
                len(group),
                sum(each.calls for each in group),
                sum(each.seconds for each in group),
                sum(each.share for each in group),
            )
            for operator, group in groups.items()
        ]
        return sorted(times, key=lambda each: -each.seconds)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {**asdict(self), "operators": [asdict(each) for each in self.by_operator()]}

    def __str__(self) -> str:
        from .profile_text import profile_text

        return profile_text(self) + "".join(f"note: {note}\n" for note in self.notes)


def profile_calls(
    entry: Mapping[str, Any],
    call: Callable[[], object],
    find: Callable[[str], Any],
    *,
    repeat: int = 20,
    warmup: int = 3,
) -> Profile:
    """Calls a function of a program again and again, by turns with the clocks off and on.

    `entry` is what the manifest says of it, `find` gives a function of the code by its name. Raises ArtifactError
    where the program was compiled without clocks; what the call raises comes as it is, and the clocks are off then.
    """
    if repeat < 1 or warmup < 0:
        raise ValueError(f"repeat={repeat}, warmup={warmup}: at least one call must be timed")
    sites = _sites(entry)
    switch: Switch = find(SWITCH) if sites else _no_clocks
    plain, timed, counts = [], [], []
    for _ in range(warmup):
        call()
    for _ in range(repeat):
        plain.append(_seconds(call))
        with _clocks(switch, sites) as read:
            timed.append(_seconds(call))
            counts.append(read())
    return _summary(entry["name"], sites, plain, timed, counts)


def _sites(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The places where kernels are called, each with what is known of its kernel."""
    if "profile" not in entry:
        raise ArtifactError(
            f"'{entry['name']}' cannot be profiled: its program was compiled without clocks around its kernels, by an "
            "older release or without the pass host-profile-kernels; compile it again"
        )
    try:
        profile = entry["profile"]
        return [{**site, **profile["kernels"][site["kernel"]]} for site in profile["sites"]]
    except (IndexError, KeyError, TypeError):
        raise ArtifactError(f"damaged: what its manifest says of the kernels of '{entry['name']}'") from None


def _no_clocks(on: int) -> int:
    """Of a program that calls no kernel."""
    return 0


@contextmanager
def _clocks(switch: Switch, sites: list[dict[str, Any]]) -> Iterator[Callable[[], list[tuple[int, int]]]]:
    """The clocks are on inside. What comes tells calls and nanoseconds of each site."""
    places = [site["place"] for site in sites]
    words = 1 + 2 * (1 + max(places)) if places else 0
    try:
        address = switch(1)
        if words:
            ctypes.memset(address, 0, 8 * words)

        def read() -> list[tuple[int, int]]:
            table = list((ctypes.c_int64 * words).from_address(address)) if words else []
            return [(table[1 + 2 * place], table[2 + 2 * place]) for place in places]

        yield read
    finally:
        switch(0)


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    result = call()
    end = time.perf_counter()
    del result  # its memory goes before the next call, and in nobody's time
    return end - start


def _summary(
    name: str, sites: list[dict[str, Any]], plain: list[float], timed: list[float], counts: list[list[tuple[int, int]]]
) -> Profile:
    runs = _middle(list(zip(timed, counts, strict=True)), key=lambda run: run[0])
    seconds = [_mean([run[index][1] * 1e-9 for _, run in runs]) for index in range(len(sites))]
    calls = [sorted(run[index][0] for _, run in runs)[len(runs) // 2] for index in range(len(sites))]
    whole = _mean([total for total, _ in runs])
    between = max(whole - sum(seconds), 0.0)  # rounding
    shares = [each / whole for each in (*seconds, between)]
    spreads = [[run[index][1] * 1e-9 for run in counts] for index in range(len(sites))]
    kernels = [_kernel_time(*each) for each in zip(sites, calls, seconds, shares, spreads, strict=False)]
    kernels.sort(key=lambda each: -each.seconds)
    unprofiled = _mean(_middle(plain, key=lambda each: each))
    called = [(each.kernel, each.seconds / each.calls) for each in kernels if each.calls]
    notes = notes_on_calls(plain, clock_cost())
    notes += note_on_kernels(whole, unprofiled, sum(each.calls for each in kernels), called)
    return Profile(name, len(timed), tuple(kernels), between, shares[-1], whole, unprofiled, tuple(notes))


def _middle(runs: list[Run], key: Callable[[Run], float]) -> list[Run]:
    """Without the fastest and the slowest quarter. Unlike medians of parts, means of these add up to the whole's."""
    left_out = len(runs) // 4
    return sorted(runs, key=key)[left_out : len(runs) - left_out]


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers)


def _kernel_time(site: Mapping[str, Any], calls: int, seconds: float, share: float, every: list[float]) -> KernelTime:
    texts = {key: tuple(site.get(key, ())) for key in ("nodes", "node_operators", "operators", "inputs", "outputs")}
    moved = site.get("bytes")
    return KernelTime(
        kernel=site["name"],
        main_operator=site["main"],
        bytes=moved,
        calls=calls,
        seconds=seconds,
        share=share,
        fastest_seconds=min(every),
        slowest_seconds=max(every),
        **texts,
    )


# Fewer times than these say nothing of how they scatter.
_FEWEST = 10
# The 90th percentile is so many times the median on a machine that does nothing else, at most.
_QUIET = 1.5
# What takes less than so many times of what reading the clock does.
_COARSE = 5


def percentile(ordered: Sequence[float], share: int) -> float:
    """The smallest time that at least `share` percent of the calls did not exceed."""
    return ordered[max(math.ceil(len(ordered) * share / 100) - 1, 0)]


def clock_cost() -> float:
    """Seconds that are measured where nothing is done."""
    found = []
    for _ in range(50):
        start = time.perf_counter()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def notes_on_calls(seconds: Sequence[float], clock: float) -> list[str]:
    """Why the times of whole calls are not to be trusted as they stand; nothing where they are. `clock`: its cost."""
    ordered = sorted(seconds)
    middle, high = percentile(ordered, 50), percentile(ordered, 90)
    notes = []
    if len(ordered) >= _FEWEST and high > _QUIET * middle:
        what = "something else runs on this machine, or its clock rate changes: the minimum says more than the median"
        notes.append(f"the times scatter, one call in ten takes {high / middle:.1f} times the median or more: {what}")
    if middle < _COARSE * clock:
        reading = f"reading the clock takes {clock * 1e9:.0f} ns of the {middle * 1e9:.0f} ns"
        notes.append(f"a call is too short for these times: {reading}")
    return notes


def note_on_kernels(profiled: float, unprofiled: float, calls: int, kernels: Sequence[tuple[str, float]]) -> list[str]:
    """Kernels that take less than their own clocks. `kernels`: names, and seconds of one call of each."""
    cost = (profiled - unprofiled) / calls if calls else 0.0
    below = [name for name, seconds in kernels if seconds < cost]
    if not below:
        return []
    listed = ", ".join(below[:3]) + (f" and {len(below) - 3} more" if len(below) > 3 else "")
    return [f"the clocks take {cost * 1e9:.0f} ns at each kernel, more than what they measure of {listed}"]
