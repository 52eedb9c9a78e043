# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data of the report page as JSON: related facts in one row, with measured times if there are any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir.passes.core.journal import Journal
from relax_mlir.runtime.artifact import Artifact
from relax_mlir.runtime.profile import BETWEEN_STEPS, KernelTime
from relax_mlir.support.highlighting import COLOURS

from .compare import compared
from .drawn_graphs import graphs
from .links import Row, link
from .memory_timeline import memory_of
from .roofline import UNKNOWN, Roofline
from .work import add_work

#: Kinds of facts with their own place on the page. Others are shown in tables.
_SHOWN = frozenset(
    "model node operator legalized kernel fused not-fused call memory schedule loops code stage pass".split()
)


@dataclass(frozen=True)
class Measured:
    """Measurements of a run, or the reason why there are none."""

    #: Times of each kernel call, with kernel and nodes.
    calls: Sequence[KernelTime] = ()
    #: Seconds of a whole call, and the part outside of kernels.
    seconds: float = 0.0
    between: float = 0.0
    #: Values of symbols.
    sizes: Mapping[str, int] = field(default_factory=dict)
    #: Note on the measurement, or on why there is none.
    note: str = ""
    #: Limits of the machine.
    roofline: Roofline = UNKNOWN


@dataclass(frozen=True)
class Subject:
    """The compiled model and the options."""

    title: str
    target: str
    version: str
    options: Sequence[tuple[str, str]] = ()


def report_data(
    journal: Journal, subject: Subject, artifact: Artifact, measured: Measured, before: Row | None = None
) -> Row:
    """Return the data of the page, compared with another page if there is one."""
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
    """Count the pieces of code that were compiled and found in the cache."""
    facts = [fact for fact in code if not fact["cached"]]
    return {"made": len(facts), "found": len(code) - len(facts), "seconds": sum(fact["seconds"] or 0 for fact in facts)}


def _steps(part: KernelTime) -> list[Row]:
    """Return the steps that a part reports, and the rest of its time."""
    told = [(step.name, step.nodes, part.operator_of(step), step.calls, step.seconds) for step in part.steps]
    rows = [*told, (BETWEEN_STEPS, (), "", None, part.between_steps)]
    return [dict(zip(("name", "nodes", "operator", "calls", "seconds"), row, strict=True)) for row in rows]


def _add_times(calls: list[Row], kernels: Sequence[Row], measured: Measured) -> Roofline:
    """Assign measured times to calls. Indistinguishable calls receive their times in order.

    Return the machine's limits, raised to the throughput of these calls.
    """
    times: dict[tuple[str, tuple[str, ...]], list[KernelTime]] = defaultdict(list)
    for each in measured.calls:
        times[each.kernel, tuple(dict.fromkeys(filter(None, each.nodes)))].append(each)
    for call in calls:
        if call["kernel"] is None:
            continue
        if kernel_times := times.get((kernels[call["kernel"]]["name"], tuple(call["origins"]))):
            time = kernel_times.pop(0)
            call["seconds"] = time.seconds
            call["spread"] = [time.fastest_seconds, time.slowest_seconds]
            if time.steps:
                call["steps"] = _steps(time)
    timed = [call for call in calls if "seconds" in call]
    roofline = measured.roofline.holding((call["flops"], call["bytes"], call["seconds"]) for call in timed)
    for call in timed:
        call["roofline"] = roofline.share(call["flops"], call["bytes"], call["seconds"])
    return roofline
