# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profile of a function's calls: the numbers, and tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from ..support.suggest import counted

_GAP = "  "
_LEAST_TEXT = 16  # minimum columns for a kernel's name and for its nodes, even in a narrow terminal
#: Names for the time of a part: outside of its steps, and of a part without steps.
BETWEEN_STEPS, WHOLE_PARTS = "between steps", "whole parts"
_BETWEEN = "between kernels: checks, sizes, memory, the call itself"


@dataclass(frozen=True)
class StepTime:
    """Step of a codegen's part, or one of its C calls, with its calls and time per call of the function."""

    name: str
    #: Names of the model's nodes, as far as the part reports them.
    nodes: tuple[str, ...]
    calls: int
    seconds: float
    share: float


@dataclass(frozen=True)
class KernelTime:
    """Call site of a kernel in the program. Times and calls are per call of the program's function."""

    #: Name of a PrimFunc or of a packed function.
    kernel: str
    #: Names of the model's nodes, or positions in a file; their operators if the model states them ("onnx.Conv").
    nodes: tuple[str, ...]
    node_operators: tuple[str, ...]
    #: Operators that the kernel computes, and the main one, which the time is attributed to.
    operators: tuple[str, ...]
    main_operator: str
    #: Types, as "f32[n,4]".
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    #: Bytes of inputs and outputs; None if sizes differ from call to call.
    bytes: int | None
    #: Kinds of instructions, joined by +, or the codegen of a part. "" if unknown, as on GPUs.
    engine: str
    calls: int
    seconds: float
    share: float
    #: Time in the fastest and in the slowest call of the program's function.
    fastest_seconds: float
    slowest_seconds: float
    #: Codegen of a part, "" for the target's kernels; and the steps that the part reports, the longest first.
    codegen: str = ""
    steps: tuple[StepTime, ...] = ()

    @property
    def between_steps(self) -> float:
        """Return the seconds outside of the steps of a part."""
        return max(self.seconds - sum(step.seconds for step in self.steps), 0.0)

    def operator_of(self, step: StepTime) -> str:
        """Return the operators of the nodes that a step computes, "onnx.Conv+onnx.Relu", or its name if they are
        unknown."""
        known = dict(zip(self.nodes, self.node_operators, strict=False))
        found = dict.fromkeys(operator for node in step.nodes if (operator := known.get(node, "")))
        return "+".join(found) or step.name


@dataclass(frozen=True)
class OperatorTime:
    """Time of all kernels with one main operator, or of a codegen's steps for one operator of the model."""

    operator: str
    #: Numbers of call sites and of calls.
    kernels: int
    calls: int
    seconds: float
    share: float
    codegen: str = ""


@dataclass(frozen=True, repr=False)
class Profile:
    """Means over calls, without the fastest and the slowest quarter of them.

    The time in kernels and between kernels adds up to `profiled_seconds`. Shares refer to this sum.
    """

    function: str
    repeat: int
    #: The longest kernels first.
    kernels: tuple[KernelTime, ...]
    #: Time outside of kernels: checks, sizes, memory, the call itself.
    between_seconds: float
    between_share: float
    #: Time of a whole call, with the clocks on and off.
    profiled_seconds: float
    unprofiled_seconds: float
    #: Reasons to distrust the times.
    notes: tuple[str, ...] = ()

    def by_operator(self) -> list[OperatorTime]:
        """Return the times of each kind of operator, the longest first."""
        groups: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
        for kernel in self.kernels:
            operator = BETWEEN_STEPS if kernel.steps else WHOLE_PARTS if kernel.codegen else kernel.main_operator
            rest = kernel.seconds if not kernel.steps else kernel.between_steps
            share = kernel.share * (rest / kernel.seconds if kernel.seconds else 0.0)
            groups.setdefault((kernel.codegen, operator), []).append((kernel.calls, rest, share))
            for step in kernel.steps:
                key = kernel.codegen, kernel.operator_of(step)
                groups.setdefault(key, []).append((step.calls, step.seconds, step.share))
        times = []
        for (codegen, operator), group in groups.items():
            calls, seconds, shares = zip(*group, strict=True)
            times.append(OperatorTime(operator, len(group), sum(calls), sum(seconds), sum(shares), codegen))
        return sorted(times, key=lambda time_: -time_.seconds)

    def to_dict(self) -> dict[str, object]:
        """Return plain data, for JSON."""
        return {**asdict(self), "operators": [asdict(time) for time in self.by_operator()]}

    def __repr__(self) -> str:
        """Return a summary; `print` shows all times."""
        counts = f"{counted(self.repeat, 'call')}, {counted(len(self.kernels), 'kernel')}"
        text = f"{self.function}: {self.unprofiled_seconds * 1e3:.3f} ms a call, {counts}"
        first = next(iter(self.kernels), None)
        longest = f", {first.kernel} takes {first.share * 100:.1f} %" if first is not None else ""
        return f"<profile of {text}{longest}: print(profile) shows all>"

    def __str__(self) -> str:
        return profile_text(self) + "".join(f"note: {note}\n" for note in self.notes)


def profile_text(profile: Profile, width: int | None = None) -> str:
    """Return the kernels by time, parts with their steps, the sums by operator, and the cost of profiling.

    The text is shortened to `width`.
    """
    unit, factor = ("ms", 1e3) if profile.profiled_seconds >= 1e-3 else ("us", 1e6)
    called = [kernel for kernel in profile.kernels if kernel.calls]
    lines_of = [line for each in called for line in _lines(each)]
    numbers = [_numbers(share, seconds * factor, calls) for _, _, share, seconds, calls, _ in lines_of]
    numbers.append(_numbers(profile.between_share, profile.between_seconds * factor, ""))
    numbers.append(_numbers(1.0, profile.profiled_seconds * factor, str(sum(each.calls for each in called))))
    head = ["share", unit, "calls"]
    if any(engines := [engine for *_, engine in lines_of]):  # unknown on GPUs
        longest = max(map(len, [*engines, "engine"]))
        columns = zip([head, *numbers], ["engine", *engines, "", ""], strict=True)
        head, *numbers = ([*cells, engine.ljust(longest)] for cells, engine in columns)
    room = _room(width, head, numbers)
    names = [name for name, *_ in lines_of]
    longest = max(map(len, [*names, "kernel"]))
    kept = longest if room is None else min(longest, max(_LEAST_TEXT, room // 2))
    left = None if room is None else max(_LEAST_TEXT, room - kept - len(_GAP))
    texts = [f"{_cut_end(name, kept).ljust(kept)}{_GAP}{_nodes(nodes, left)}" for name, nodes, *_ in lines_of]
    texts += [_BETWEEN if room is None else _cut_end(_BETWEEN, room), "total"]
    lines = _table(head, numbers, f"{'kernel'.ljust(kept)}{_GAP}nodes", texts)
    lines += _idle(len(profile.kernels) - len(called))
    return "\n".join([*lines, "", *_operators(profile, unit, factor), "", _cost(profile, unit, factor), ""])


def _lines(kernel: KernelTime) -> list[tuple[str, tuple[str, ...], float, float, str, str]]:
    """Return names, nodes, shares, seconds, calls and engines of a kernel, or of a part and its steps."""
    name = f"{kernel.codegen}: {kernel.kernel}" if kernel.codegen else kernel.kernel
    lines = [(name, kernel.nodes, kernel.share, kernel.seconds, str(kernel.calls), kernel.engine)]
    lines += [(f"  {step.name}", step.nodes, step.share, step.seconds, str(step.calls), "") for step in kernel.steps]
    if kernel.steps and kernel.seconds:
        rest = kernel.between_steps
        lines.append((f"  {BETWEEN_STEPS}", (), kernel.share * rest / kernel.seconds, rest, "", ""))
    return lines


def _operators(profile: Profile, unit: str, factor: float) -> list[str]:
    times = [time for time in profile.by_operator() if time.calls]
    numbers = [_numbers(time_.share, time_.seconds * factor, str(time_.kernels)) for time_ in times]
    return _table(["share", unit, "kernels"], numbers, "operator", [_operator(time_) for time_ in times])


def _operator(time: OperatorTime) -> str:
    operator = time.operator.removeprefix("relax.")
    return f"{time.codegen}: {operator}" if time.codegen else operator


def _cost(profile: Profile, unit: str, factor: float) -> str:
    profiled, plain = profile.profiled_seconds, profile.unprofiled_seconds
    more = (profiled / plain - 1) * 100 if plain else 0.0
    calls = "one call each" if profile.repeat == 1 else f"the middle half of {profile.repeat} calls each"
    times = f"{profiled * factor:.3f} {unit} profiled, {plain * factor:.3f} {unit} else ({more:+.1f} %)"
    return f"a call takes {times}: {calls}"


def _idle(count: int) -> list[str]:
    """Return a line about kernels that were not called, for instance in a branch."""
    return [f"not called: {count} more kernel{'s' if count > 1 else ''}"] if count else []


def _numbers(share: float, time: float, count: str) -> list[str]:
    return [f"{share * 100:.1f} %", f"{time:.3f}", count]


def _room(width: int | None, head: Sequence[str], rows: Sequence[Sequence[str]]) -> int | None:
    """Return the number of columns that the numbers leave."""
    return None if width is None else max(width - sum(_widths(head, rows)) - len(_GAP) * len(head), 2 * _LEAST_TEXT)


def _widths(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(head, *rows, strict=True)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str, texts: Sequence[str]) -> list[str]:
    """Return a table of numbers with a text at the end of each row."""
    widths = _widths(head, rows)
    lines = []
    for cells, text in zip([head, *rows], [title, *texts], strict=True):
        numbers = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        lines.append(_GAP.join([*numbers, text]).rstrip())
    return lines


def _nodes(nodes: Sequence[str], most: int | None) -> str:
    """Return all nodes.

    If they do not fit, return the end of the first, which is more specific than its start, and a count.
    """
    whole = ", ".join(nodes)
    if most is None or len(whole) <= most:
        return whole
    more = f" +{len(nodes) - 1}" if len(nodes) > 1 else ""
    first, room = nodes[0], most - len(more)
    return (first if len(first) <= room else f"...{first[3 - room :]}") + more


def _cut_end(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
