# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of TVM's te_workload and models: the target's plans, plans that rx.tune finds, and MetaSchedule's best.

    python bench/tune.py [GMM SFM ...] [--models build/models/mlp.onnx] [--trials 64] [--threads 1]
        --metaschedule=build/models/env-metaschedule/bin/python    MetaSchedule searches where results are missing
        --peers                                                    it searches again

Sizes are te_workload's first ones. Weights are arguments, as there. "ms" is a call by the target's plans, "ratio" the
time by tuned plans to it, measured in turns at the end of a search. "s" are seconds per trial.

With TVM installed, operators are te_workload's own PrimFuncs, through rx.from_tvm. "default" and "tuned" are then the
times by the target's plans and by tuned plans to that of MetaSchedule's best schedule, in turns in this process. "to 95
%" are the trials until rx.tune has found 0.95 of its best speed; "theirs" are MetaSchedule's, then all its trials, and
its seconds per trial. Results of MetaSchedule are kept with the CPU's name.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from relax_mlir.runtime.cpu import cpu_name
from relax_mlir_tune.measuring import time_in_turns
from relax_mlir_tune.tasks import inputs_of

import relax_mlir as rx
from relax_mlir import relax

sys.path.insert(0, str(Path(__file__).resolve().parent / "models"))
from metaschedule import OPERATORS as NAMES
from metaschedule import Searched, library_file, operator_of, read_results, search_all

Build = Callable[..., Any]
#: Turns of the measurement beside MetaSchedule, and the share of the best speed that counts as found.
_TURNS, _ALMOST = 31, 0.95


def conv2d(x: Any, w: Any, **options: Any) -> Any:
    return relax.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="HWIO", **options)


def cbr(x: Any, w: Any, bias: Any, scale: Any, offset: Any) -> Any:
    made = conv2d(x, w, strides=(2, 2), padding=(3, 3, 3, 3))
    return relax.nn.relu(relax.add(relax.multiply(relax.add(made, bias), scale), offset))


def tbg(query: Any, value: Any) -> Any:
    rows = relax.permute_dims(query, axes=(0, 2, 1, 3))
    return relax.matmul(rows, relax.permute_dims(value, axes=(0, 2, 3, 1)))


#: Sizes of arguments, and the operator.
OPERATORS: dict[str, tuple[Sequence[Sequence[int]], Build]] = {
    "C1D": (
        [(1, 256, 64), (3, 64, 128)],
        lambda x, w: relax.nn.conv1d(x, w, strides=(2,), padding=(1, 1), data_layout="NWC", kernel_layout="WIO"),
    ),
    "C2D": ([(1, 224, 224, 3), (7, 7, 3, 64)], lambda x, w: conv2d(x, w, strides=(2, 2), padding=(3, 3, 3, 3))),
    "GMM": ([(1, 128, 128), (1, 128, 128)], relax.matmul),
    "GRP": (
        [(1, 56, 56, 64), (3, 3, 16, 128)],
        lambda x, w: conv2d(x, w, strides=(2, 2), padding=(1, 1, 1, 1), groups=4),
    ),
    "DIL": (
        [(1, 224, 224, 3), (7, 7, 3, 64)],
        lambda x, w: conv2d(x, w, strides=(2, 2), padding=(3, 3, 3, 3), dilation=(2, 2)),
    ),
    "DEP": ([(1, 112, 112, 32), (3, 3, 1, 32)], lambda x, w: conv2d(x, w, padding=(1, 1, 1, 1), groups=32)),
    "NRM": ([(1, 256, 256)], lambda x: relax.sqrt(relax.sum(relax.multiply(x, x), axis=[1, 2]))),
    "SFM": ([(256, 256)], lambda x: relax.nn.softmax(x, axis=1)),
    "CBR": ([(1, 224, 224, 3), (7, 7, 3, 64), (64,), (64,), (64,)], cbr),
    "TBG": ([(1, 128, 12, 64), (1, 128, 12, 64)], tbg),
}


def module_of(name: str) -> rx.Module:
    """Return a module of one operator."""
    shapes, build = OPERATORS[name]
    with rx.Module() as module, module.function("main", [rx.tensor(tuple(shape)) for shape in shapes]) as f:
        f.returns(build(*f))
    return module


def imported(name: str) -> rx.Module:
    """Return the module of te_workload's PrimFunc."""
    return rx.from_tvm(operator_of(name))


# ---- beside MetaSchedule ----


class Peer(NamedTuple):
    """MetaSchedule's best schedule of an operator beside the target's plans and tuned plans."""

    #: Times by the target's plans, by tuned plans, and by MetaSchedule's schedule, in turns.
    turns: list[tuple[float, ...]]
    is_equal: bool
    searched: Searched

    def ratio(self, place: int) -> float:
        return statistics.median(each[place] / each[2] for each in self.turns)


def beside(name: str, module: rx.Module, tuned: str, library: Path, searched: Searched, threads: int) -> Peer:
    """Measure MetaSchedule's library in turns with the programs of a module."""
    import tvm

    programs = [rx.compile(module, cache=False), rx.compile(module, cache=False, tuned=tuned)]
    for program in programs:
        program.threads = threads
    random = numpy.random.default_rng(0)
    arguments = [random.standard_normal(each.shape).astype("float32") for each in inputs_of(module)]
    expected = numpy.asarray(programs[0]["main"](*arguments))
    scheduled = tvm.runtime.load_module(str(library))["main"]
    result = tvm.runtime.tensor(numpy.zeros_like(expected))
    passed = [tvm.runtime.tensor(each) for each in arguments]

    def peer(*_: object) -> None:
        scheduled(*passed, result)

    # Sums have up to 8192 products, in another order.
    peer()
    is_equal = numpy.allclose(result.numpy(), expected, rtol=1e-3, atol=1e-3)
    # The same tensors for all: `packed` is tvm-ffi's function, as `scheduled` is.
    calls = [*(program["main"].packed for program in programs), peer]
    return Peer(time_in_turns(calls, passed, _TURNS), is_equal, searched)


def trials_to_best(seconds: Sequence[float | None]) -> int:
    """Return the number of trials after which a search has found 0.95 of its best speed."""
    found = [math.inf if each is None else each for each in seconds]
    best = min(found, default=math.inf)
    return next((place + 1 for place, each in enumerate(found) if each * _ALMOST <= best), 0)


def peer_columns(peer: Peer, own: Sequence[float | None]) -> str:
    trials = peer.searched["trials"]
    seconds = peer.searched["seconds"] / max(len(trials), 1)
    wrong = "" if peer.is_equal else "   MetaSchedule's result is wrong"
    return (
        f"{peer.ratio(0):>10.3f}{peer.ratio(1):>8.3f}{trials_to_best(own):>9}{trials_to_best(trials):>7}"
        f"{len(trials):>8}{seconds:>8.2f}{wrong}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", choices=[[], *NAMES])
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--metaschedule", default="", help="Python of the environment with MetaSchedule")
    parser.add_argument("--peers", action="store_true", help="search by MetaSchedule again")
    parser.add_argument("--minutes", type=float, default=2.0, help="time limit of MetaSchedule for an operator")
    parser.add_argument("--population", type=int, default=512, help="schedules that MetaSchedule draws trials from")
    parser.add_argument("--results", type=Path, default=Path("build/metaschedule"))
    options = parser.parse_args()
    has_tvm = importlib.util.find_spec("tvm") is not None
    every = NAMES if has_tvm else list(OPERATORS)
    names = options.operators or ([] if options.models else every)
    if options.metaschedule:
        _search_peers(options, names)
    searched = read_results(options.results, cpu_name(), options.threads) if has_tvm else {}
    cases = [(name, imported(name) if has_tvm else module_of(name)) for name in names]
    cases += [(os.path.basename(path), rx.from_onnx(path)) for path in options.models]
    print(f"{cpu_name()}, {options.threads} threads, {options.trials} trials")
    print(f"{'':<20}{'ms':>10}{'ratio':>8}{'trials':>8}{'s':>8}{' default':>10}{'tuned':>8}{'to 95 %':>9}", end="")
    print(f"{'theirs':>7}{'trials':>8}{'s':>8}")
    for name, module in cases:
        print(_row(name, module, options, searched.get(name)), flush=True)


def _search_peers(options: argparse.Namespace, names: Sequence[str]) -> None:
    """Search by MetaSchedule the operators without results of this CPU, or all."""
    known = {} if options.peers else read_results(options.results, cpu_name(), options.threads)
    missing = [name for name in names if name not in known]
    if missing:
        limits = [f"--trials={options.trials}", f"--minutes={options.minutes}", f"--population={options.population}"]
        chosen = [*limits, f"--threads={options.threads}", f"--cpu={cpu_name()}"]
        search_all(options.metaschedule, options.results, missing, chosen)


def _row(name: str, module: rx.Module, options: argparse.Namespace, searched: Searched | None) -> str:
    """Search plans of a module. Return the line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        found = rx.tune(module, trials=options.trials, threads=options.threads, folder=folder)
        seconds = time.perf_counter() - start
        library = library_file(options.results, name)
        has_peer = searched is not None and library.exists()
        peer = beside(name, module, folder, library, searched, options.threads) if searched and has_peer else None
    trials = sum(len(each.search.outcomes) for each in found.tasks if each.search is not None)
    whole = sum(each.seconds * each.task.calls for each in found.tasks) * 1e3
    wrong = f"   {len(found.wrong)} wrong" if found.wrong else ""
    row = f"{name:<20}{whole:>10.3f}{found.ratio:>8.3f}{trials:>8}{seconds / max(trials, 1):>8.2f}"
    if peer is None:
        return f"{row}{wrong}" + (f"   MetaSchedule: {searched['problem']}" if searched else "")
    search = found.tasks[0].search
    own = [] if search is None else [1.0, *(each.ratio for each in search.outcomes.values())]
    return f"{row}{peer_columns(peer, own)}{wrong}"


if __name__ == "__main__":
    main()
