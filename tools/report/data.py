# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the page shows, as JSON: facts that belong together, in one row, with measured times where there are any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...passes.core.journal import Journal
from ...runtime.artifact import Artifact
from ...runtime.profile import BETWEEN_STEPS, KernelTime
from ...support.highlighting import COLOURS
from .compare import compared
from .drawn_graphs import graphs
from .links import Row, link
from .memory_timeline import memory_of
from .roofline import UNKNOWN, Roofline
from .work import add_work

#: The kinds of facts that have their own place on the page; the others are shown in tables.
_SHOWN = frozenset(
    "model node operator legalized kernel fused not-fused call memory schedule loops code stage pass".split()
)


@dataclass(frozen=True)
class Measured:
    """What a run of the program measured, or why there is none."""

    #: The times of each place where a kernel is called, which kernel and nodes tell.
    calls: Sequence[KernelTime] = ()
    #: A whole call, and the part of it that is in no kernel.
    seconds: float = 0.0
    between: float = 0.0
    #: The sizes that symbols had.
    sizes: Mapping[str, int] = field(default_factory=dict)
    #: On how it was measured, or why it was not.
    note: str = ""
    #: What the machine could do.
    roofline: Roofline = UNKNOWN


@dataclass(frozen=True)
class Subject:
    """What was compiled, and how."""

    title: str
    target: str
    version: str
    options: Sequence[tuple[str, str]] = ()


def report_data(
    journal: Journal,
    subject: Subject,
    artifact: Artifact,
    measured: Measured,
    before: Row | None = None,
) -> Row:
    """All that the page shows, compared with that of another page where there is one."""
    links = link(journal)
    memory = memory_of(journal, links.calls, measured.sizes)
    models = journal.of("model")
    model = models[-1] if models else None
    add_work(links.calls, links.kernels, measured.sizes)
    roofline = _add_times(links.calls, links.kernels, measured)
    content = {
        "title": subject.title,
        "target": subject.target,
        "triple": artifact.triple,
        "features": sorted(artifact.features),
        "version": subject.version,
        "options": [list(option) for option in subject.options],
        "marks": list(COLOURS),
        "model": model,
        "note": measured.note,
        "sizes": dict(measured.sizes),
        "seconds": measured.seconds,
        "between": measured.between,
        "roofline": roofline.described(),
        "weights": {
            "count": len(artifact.constants),
            "bytes": sum(memoryview(constant.data).nbytes for constant in artifact.constants),
        },
        "code_bytes": sum(memoryview(each).nbytes for each in artifact.objects),
        "graphs": graphs(links, model, journal.of("memory")),
        "nodes": links.nodes,
        "operators": links.operators,
        "calls": links.calls,
        "kernels": links.kernels,
        "memory": memory,
        "stages": [{"name": fact["name"], "seconds": fact["seconds"]} for fact in journal.of("stage")],
        "passes": journal.of("pass"),
        "pieces": _pieces(journal.of("code")),
        "others": {kind: journal.of(kind) for kind in journal.kinds if kind not in _SHOWN},
    }
    return {**content, "compared": None if before is None else compared(before, content)}


def _pieces(code: Sequence[Row]) -> Row:
    """How code was made: by the piece, each of them compiled or found."""
    made = [fact for fact in code if not fact["cached"]]
    return {"made": len(made), "found": len(code) - len(made), "seconds": sum(fact["seconds"] or 0 for fact in made)}


def _steps(part: KernelTime) -> list[Row]:
    """What a part has told of itself, and the rest of its time."""
    told = [(each.name, each.nodes, part.operator_of(each), each.calls, each.seconds) for each in part.steps]
    rows = [*told, (BETWEEN_STEPS, (), "", None, part.between_steps)]
    return [dict(zip(("name", "nodes", "operator", "calls", "seconds"), row, strict=True)) for row in rows]


def _add_times(calls: list[Row], kernels: Sequence[Row], measured: Measured) -> Roofline:
    """Puts each measured time to its call. Calls that nothing distinguishes share theirs in their order.

    Gives what the machine can do, these calls among what it has done.
    """
    times: dict[tuple[str, tuple[str, ...]], list[KernelTime]] = defaultdict(list)
    for each in measured.calls:
        times[each.kernel, tuple(dict.fromkeys(filter(None, each.nodes)))].append(each)
    for call in calls:
        if call["kernel"] is None:
            continue
        found = times.get((kernels[call["kernel"]]["name"], tuple(call["origins"])))
        if found:
            time = found.pop(0)
            call["seconds"] = time.seconds
            call["spread"] = [time.fastest_seconds, time.slowest_seconds]
            if time.steps:
                call["steps"] = _steps(time)
    timed = [call for call in calls if "seconds" in call]
    roofline = measured.roofline.holding((call["flops"], call["bytes"], call["seconds"]) for call in timed)
    for call in timed:
        call["roofline"] = roofline.share(call["flops"], call["bytes"], call["seconds"])
    return roofline
