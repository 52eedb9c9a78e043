# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiling of a function: the code has a clock at each site where a graph calls a kernel."""

from __future__ import annotations

import ctypes
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from .errors import ArtifactError
from .manifest import Signature, Site
from .noise import clock_cost, note_on_kernels, notes_on_calls
from .part_steps import notes_on_steps
from .profile import KernelTime, Profile, StepTime
from .recording import Recorded, Recorder

#: Function of the code that switches its clocks on (1) and off (0). It returns the address of the measurements: i64
#: numbers, nanoseconds of all kernels, then calls and nanoseconds of each site.
SWITCH = "__relax_profile"
#: Function that makes a device report its kernels, since the device's clocks are not the CPU's.
TELL = "__relax_tell_profile"

Switch = Callable[..., int]
#: Codegens that compiled functions, by the names that programs call them by.
Parts = Mapping[str, str]
Run = TypeVar("Run")


def profile_calls(
    signature: Signature,
    call: Callable[[], object],
    find: Callable[[str], Switch],
    *,
    repeat: int = 20,
    warmup: int = 3,
    on_device: bool = False,
    parts: Parts = MappingProxyType({}),
) -> Profile:
    """Call a function of a program repeatedly, alternately with the clocks off and on.

    `signature` is from the manifest, `find` returns a function of the code by name. Raises ArtifactError if the program
    was compiled without clocks. Exceptions of the call are passed on, with the clocks off.
    """
    sites = timed_sites(signature, "profiled", repeat, warmup)
    switch: Switch = find(SWITCH) if sites else no_clocks
    tell = find(TELL) if sites and on_device else _nothing
    # The host reports steps. On a device they would show when the work was enqueued.
    has_steps = not on_device and any(site.name in parts for site in sites)
    recorder = Recorder() if has_steps else None
    plain, timed, counts, steps = [], [], [], []
    for _ in range(warmup):
        call()
    for _ in range(repeat):
        plain.append(_seconds(call))
        with clocks(switch, sites, recorder) as read:
            timed.append(_seconds(call))
            tell()
            counts.append(read())
        if recorder is not None and recorder.log.is_known:
            steps.append(recorder.recorded())
    return _summary(signature.name, sites, plain, timed, counts, parts, steps)


def timed_sites(signature: Signature, what: str, repeat: int, warmup: int) -> tuple[Site, ...]:
    """Return the call sites of a function. Raises for invalid numbers of calls, and if the sites are unknown."""
    if repeat < 1 or warmup < 0:
        raise ValueError(f"repeat={repeat}, warmup={warmup}: at least one call must be timed")
    if signature.sites is None:
        raise ArtifactError(
            f"'{signature.name}' cannot be {what}: its program was compiled without clocks around its kernels, by an "
            "older release or without the pass host-profile-kernels; compile it again"
        )
    return signature.sites


def _nothing() -> None:
    """Report nothing: kernels run on the CPU."""


def no_clocks(on: int) -> int:
    """Return 0 for a program that calls no kernel."""
    return 0


@contextmanager
def clocks(
    switch: Switch, sites: Sequence[Site], recorder: Recorder | None
) -> Iterator[Callable[[], list[tuple[int, int]]]]:
    """Switch the clocks on inside of the `with`. Yields a function that returns calls and nanoseconds of each site."""
    places = [site.place for site in sites]
    words = 1 + 2 * (1 + max(places)) if places else 0
    try:
        address = switch(1 if recorder is None else recorder.log.address)
        if words:
            ctypes.memset(address, 0, 8 * words)

        def read() -> list[tuple[int, int]]:
            table = list((ctypes.c_int64 * words).from_address(address)) if words else []
            return [(table[1 + 2 * place], table[2 + 2 * place]) for place in places]

        with nullcontext() if recorder is None else recorder.recording():
            yield read
    finally:
        switch(0)


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    result = call()
    end = time.perf_counter()
    del result  # its memory is freed before the next call, and is not timed
    return end - start


def _summary(
    name: str,
    sites: Sequence[Site],
    plain: list[float],
    timed: list[float],
    counts: list[list[tuple[int, int]]],
    parts: Parts = MappingProxyType({}),
    steps: Sequence[Recorded] = (),
) -> Profile:
    runs = _middle(list(zip(timed, counts, strict=True)), key=lambda run: run[0])
    # Integer nanoseconds as long as possible: a mean of rounded seconds may be outside of the range of its values.
    seconds = [_mean([run[index][1] for _, run in runs]) * 1e-9 for index in range(len(sites))]
    calls = [sorted(run[index][0] for _, run in runs)[len(runs) // 2] for index in range(len(sites))]
    whole = _mean([total for total, _ in runs])
    between = max(whole - sum(seconds), 0.0)  # rounding
    shares = [second / whole for second in (*seconds, between)]
    spreads = [[run[index][1] * 1e-9 for run in counts] for index in range(len(sites))]
    rows = zip(sites, calls, seconds, shares, map(min, spreads), map(max, spreads), strict=False)
    of_parts = _steps_of(_middle(list(zip(timed, steps, strict=True)), key=lambda run: run[0]), whole) if steps else {}
    kernels = []
    for site, *figures in rows:
        time_of_site = KernelTime(*site[1:], *figures)
        codegen, steps_of_part = parts.get(site.name, ""), of_parts.get(site.place, ())
        engine = codegen or site.engine
        kernels.append(replace(time_of_site, engine=engine, codegen=codegen, steps=steps_of_part))
    kernels.sort(key=lambda kernel: -kernel.seconds)
    unprofiled = _mean(_middle(plain, key=lambda each: each))
    called = [(kernel.kernel, kernel.seconds / kernel.calls) for kernel in kernels if kernel.calls]
    notes = notes_on_calls(plain, clock_cost())
    timed_calls = sum(kernel.calls + sum(step.calls for step in kernel.steps) for kernel in kernels)
    notes += note_on_kernels(whole, unprofiled, timed_calls, called)
    notes += notes_on_steps(problem for run in steps for problem in run.problems)
    return Profile(name, len(timed), tuple(kernels), between, shares[-1], whole, unprofiled, tuple(notes))


def _steps_of(runs: Sequence[tuple[float, Recorded]], whole: float) -> dict[int, tuple[StepTime, ...]]:
    """Return the steps of the part at each site, the longest first: means over calls of `whole` seconds each."""
    spent: Counter[tuple[int, str, tuple[str, ...]]] = Counter()
    calls: Counter[tuple[int, str, tuple[str, ...]]] = Counter()
    for _, run in runs:
        for number, step in run.steps:
            key = run.spans[number].number, step.name, step.nodes
            spent[key] += step.end - step.begin
            calls[key] += 1
    steps: dict[int, tuple[StepTime, ...]] = {}
    for key, nanoseconds in spent.most_common():
        place, name, nodes = key
        seconds = nanoseconds * 1e-9 / len(runs)
        time_of_step = StepTime(name, nodes, round(calls[key] / len(runs)), seconds, seconds / whole)
        steps[place] = (*steps.get(place, ()), time_of_step)
    return steps


def _middle(runs: list[Run], key: Callable[[Run], float]) -> list[Run]:
    """Drop the fastest and the slowest quarter. Unlike medians, means of the parts add up to the mean of the whole."""
    left_out = len(runs) // 4
    return sorted(runs, key=key)[left_out : len(runs) - left_out]


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
