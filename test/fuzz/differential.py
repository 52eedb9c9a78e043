# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Differential fuzzer: compiles random graphs, runs them between guard pages, and compares the results with oracles.

    differential.py --seconds 60                  new graphs for a minute: relax's against numpy, ONNX's against
                                                  onnxruntime and the reference evaluator
    differential.py --kind onnx --seconds 60      one kind only
    differential.py --kind relax --target c       on another target: c, cuda, vulkan, opencl, webgpu
    differential.py --kind script --seconds 60    PrimFuncs in TVMScript against numpy, statement by statement
    differential.py --kind relax --schedules      the kernels' loops by random steps of rx.Schedule
    differential.py --kind relax --seed 7 --case 1234    one case again, reduced as far as possible

A failing case is reduced and saved as a program that reproduces it.
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent))
for _folder in ("", "python/helpers", "python/frontends/onnx"):  # gpu_emulator and the tests' helpers
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / _folder))

import one_graph  # noqa: E402
import random_schedules  # noqa: E402
from graphs import Graph, smaller  # noqa: E402
from on_target import TARGETS  # noqa: E402
from relax_mlir_proof.testing import cluster, isolated  # noqa: E402

SAVED = Path(__file__).resolve().parents[2] / "build" / "fuzz"
_PATH = "test/fuzz/differential.py"
_KINDS = ("relax", "onnx", "script")
_PATIENCE_S = 300.0  # a case takes a tenth of a second; machines have other things to do
_ATTEMPTS = 200
_SHOWN_FAILURES = 10
_SHOWN_OPERATORS = 12


def make_graph(kind: str, seed: int, index: int) -> Graph:
    """Return the graph of a seed and an index."""
    return one_graph.KINDS[kind].draw(Random(f"{kind}:{seed}:{index}"))


def _preload(kind: str) -> None:
    one_graph.KINDS[kind].preload()


def _case(kind: str, seed: int, index: int, target: str, has_schedules: bool = False) -> one_graph.Outcome:
    isolated.enter(0)
    if has_schedules:
        random_schedules.register_once()
    graph = make_graph(kind, seed, index)
    outcome = one_graph.check(kind, graph, target)
    return outcome._replace(operators=[node.op for node in graph.nodes])


class Totals:
    """Results so far."""

    def __init__(self) -> None:
        self.statuses: collections.Counter[str] = collections.Counter()
        self.operators: collections.Counter[str] = collections.Counter()
        self.failures: dict[str, list[tuple[str, int, str]]] = {}
        self.notes: collections.Counter[str] = collections.Counter()

    def add(self, kind: str, index: int, outcome: one_graph.Outcome) -> None:
        self.statuses[outcome.status] += 1
        self.operators.update(outcome.operators)
        if outcome.status == "failed":
            self.failures.setdefault(group(outcome.problem), []).append((kind, index, outcome.problem))
        elif outcome.problem:
            self.notes[f"{outcome.status}: {group(outcome.problem)}"] += 1


_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|%\w+|\b[vxc]\d+(_\d+)?|-?\d+(\.\d+)?(e[+-]?\d+)?|\b(nan|inf|True|False)\b")


def group(problem: str) -> str:
    """Return a key that is equal for failures that differ only in names and numbers."""
    return _VARYING.sub("", problem)[:120]


def fuzz(
    kinds: Sequence[str],
    seed: int,
    seconds: float | None,
    cases: int | None,
    jobs: int,
    target: str = "llvm",
    has_schedules: bool = False,
    scheduler: str | None = None,
) -> Totals:
    """Run until the time or the number of cases is exhausted."""
    totals = Totals()
    end = None if seconds is None else time.monotonic() + seconds
    started = shown = time.monotonic()
    queue = ((kinds[index % len(kinds)], seed, index, target, has_schedules) for index in range(cases or 10**12))
    for (kind, _, index, *_), outcome in cluster.run(
        *(cluster.Script(_PATH, "_case"), queue, jobs, end, _PATIENCE_S, one_graph.died),
        scheduler=scheduler,
        prepare=cluster.Script(_PATH, "_preload"),
        told=lambda sentence: print(sentence, file=sys.stderr),
    ):
        totals.add(kind, index, outcome)
        if sys.stderr.isatty() and time.monotonic() - shown > 2:
            shown = time.monotonic()
            done = sum(totals.statuses.values())
            sys.stderr.write(f"\r{done} graphs in {shown - started:.0f} s, {totals.statuses['failed']} failures ")
    return totals


def shrink(kind: str, graph: Graph, problem: str, target: str = "llvm") -> tuple[Graph, str]:
    """Return a smaller graph with the same failure."""
    attempts = 0
    found = True
    while found and attempts < _ATTEMPTS:
        found = False
        for candidate in smaller(graph, one_graph.values_of(kind, graph)):
            attempts += 1
            outcome = isolated.alone(
                lambda each=candidate: one_graph.check(kind, each, target), _PATIENCE_S, one_graph.died
            )
            if outcome.status == "failed" and group(outcome.problem)[:40] == group(problem)[:40]:
                graph, problem, found = candidate, outcome.problem, True
                break
            if attempts >= _ATTEMPTS:
                break
    return graph, problem


def report(totals: Totals, seed: int, target: str = "llvm") -> None:
    done = sum(totals.statuses.values())
    counts = ", ".join(f"{totals.statuses[name]} {name}" for name in ("agree", "undefined", "failed"))
    print(f"seed {seed}: {done} graphs, {counts}")
    common = ", ".join(f"{name} {count}" for name, count in totals.operators.most_common(_SHOWN_OPERATORS))
    print(f"{sum(totals.operators.values())} operators of {len(totals.operators)} kinds: {common}, ...")
    for note, count in totals.notes.most_common(_SHOWN_OPERATORS):
        print(f"  {count} x {note}")
    for failures in list(totals.failures.values())[:_SHOWN_FAILURES]:
        kind, index, problem = failures[0]
        print(f"FAILED ({len(failures)} alike): {kind} --seed {seed} --case {index}: {problem}")
        _show_smaller(kind, seed, index, problem, target)
    if len(totals.failures) > _SHOWN_FAILURES:
        print(f"and {len(totals.failures) - _SHOWN_FAILURES} more kinds of failures")


def _show_smaller(kind: str, seed: int, index: int, problem: str, target: str) -> None:
    graph, problem = shrink(kind, make_graph(kind, seed, index), problem, target)
    path = SAVED / f"{kind}-{target}-{seed}-{index}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = one_graph.KINDS[kind].script(graph, problem, TARGETS[target])
    path.write_text(text)
    print(f"  as small as it gets ({problem}), saved as {path}:\n{text if len(text) < 6000 else text[:6000] + '...'}")


def one(kind: str, seed: int, index: int, target: str) -> int:
    """Run one case, and show it if it fails."""
    outcome = isolated.alone(lambda: _case(kind, seed, index, target), _PATIENCE_S, one_graph.died)
    print(f"{outcome.status}: {outcome.problem}")
    if outcome.status == "failed":
        _show_smaller(kind, seed, index, outcome.problem, target)
    else:
        print(one_graph.KINDS[kind].script(make_graph(kind, seed, index), outcome.status, TARGETS[target]))
    return outcome.status == "failed"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="differential.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=_KINDS, help="graphs of this kind only")
    parser.add_argument("--target", choices=TARGETS, default="llvm", help="what graphs are compiled for (llvm)")
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--cases", type=int, help="stop after this many cases")
    parser.add_argument("--seed", type=int, help="the same seed gives the same cases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--scheduler", help="address of a Dask scheduler, whose workers run the cases")
    parser.add_argument("--case", type=int, help="run this case of the seed and show it")
    parser.add_argument("--schedules", action="store_true", help="kernels run by random schedules, not by plans")
    options = parser.parse_args(argv)
    lacks = TARGETS[options.target].lacks()
    if lacks:
        print(f"target {options.target}: no graph, as this machine lacks {lacks}")
        return 0
    if options.schedules:
        random_schedules.register_once()
    if options.target != "llvm" and options.kind == "script":
        parser.error("scripts write their caller's buffers, which is tried on llvm only")
    kinds = [kind for kind in _KINDS if options.kind in (None, kind)]
    if options.target != "llvm" and options.kind is None:
        kinds.remove("script")
    seed = Random().randrange(10**6) if options.seed is None else options.seed
    for kind in kinds:
        one_graph.KINDS[kind].preload()
    if options.case is not None:
        return one(kinds[options.case % len(kinds)], seed, options.case, options.target)
    if options.seconds is None and options.cases is None:
        parser.error("how long? --seconds or --cases")
    totals = fuzz(
        *(kinds, seed, options.seconds, options.cases, options.jobs, options.target),
        has_schedules=options.schedules,
        scheduler=options.scheduler,
    )
    report(totals, seed, options.target)
    return 1 if totals.failures else 0


if __name__ == "__main__":
    sys.exit(main())
