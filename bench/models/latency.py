# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Latency of the exported models, static and dynamic, by threads, precisions and batches.

They are compared with onnxruntime and OpenVINO (forced to f32, and in its default precision).

python bench/models/latency.py build/models [--models bert vit] [--threads 1 2] [--precision f32 bf16] [--batch 1 8]

export.py exports the models. bf16: f32 models, computed in bf16 where that is faster. int8: the models, quantized by
onnxruntime's tools with random calibration into build/models/<name>_int8.onnx (QDQ, unsigned activations, signed
weights with a scale for each channel). All of a row use the same file, and must return onnxruntime's results.

All of a row run in turns in this process, each for a while before it is timed: idle threads of the previous one keep
polling for some time. A turn in which a virtual machine's host takes CPUs away is repeated. Figures are medians of
turns, in milliseconds. "to" is the ratio of ours to the figure on its left, below 1 if this project is faster. "floor"
is the share of the machine's limit: arithmetic (F) or memory (B). Ratios of ours to ours, dynamic to static sizes and
two threads to one, are medians of the ratios within each turn. Such a row includes the program of its static model in
the turns. "by tiles" uses the target's option winograd=4; its floor is that of direct sums.

--cpu compiles for another CPU, and OpenVINO may use no more than its instruction sets. onnxruntime has no such option:
its column is missing.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import onnxruntime
from compare import apart
from floors import Work, floor, handed, peak, stream, work_of_model
from goals import add_option, judge
from runs import (
    LEVELS,
    ONNXRUNTIME,
    OPENVINO,
    OPENVINO_DEFAULT,
    OURS,
    PEERS,
    Case,
    Run,
    find_openvino,
    model_file,
    module_of,
    run_of,
    target_of,
)
from undisturbed import undisturbed
from zoo import ZOO

import relax_mlir as rx

#: The eight models of the geomean goal. The others consist mainly of operators that are not products.
_EIGHT = ("resnet18", "resnet50", "mobilenet_v2", "bert", "gpt2", "vit", "llama", "mlp")
#: Models among them with 3x3 convolutions that may use fewer products.
_BY_TILES = ("resnet18", "resnet50")
#: Tolerance relative to the largest number of a result. Rounding to a byte in another order changes a value by one, and
#: later layers amplify this. int8 may differ from onnxruntime's int8 as much as that differs from its f32.
_TOLERANCE = {"f32": 1e-4, "bf16": 5e-2, "int8": 2e-2}
#: Seconds: for others' threads to go to sleep, to warm up, to measure.
_PAUSE, _WARM, _MEASURED = 0.05, 0.05, 0.08
_LEAST_TURNS, _MOST_TURNS = 3, 7
#: Two threads should gain on models above this many milliseconds.
_LARGE = 10.0

#: Our program of the static model, which takes turns with a dynamic one and has no column.
_STATIC = "static"

Figures = dict[tuple[str, int], float]
#: Milliseconds of each turn by contender and threads.
Turns = Mapping[tuple[str, int], Sequence[float]]


class Row(NamedTuple):
    case: Case
    turns: Turns
    #: Median milliseconds by contender and threads.
    found: Figures
    #: Share of the floor that ours reaches, and its limiting resource, by threads.
    shares: dict[int, tuple[float, str]]


def main() -> int:
    arguments = _arguments()
    if arguments.cpu:
        os.environ["ONEDNN_MAX_CPU_ISA"] = LEVELS[arguments.cpu]  # before the library is loaded
    version = find_openvino(arguments.folder)
    print(f"against onnxruntime {onnxruntime.__version__}" + (f" and {version}" if version else ""))
    if not version:
        print("OpenVINO is not installed, its columns are missing: pip install openvino")
    absent = set() if version else {OPENVINO, OPENVINO_DEFAULT}
    if arguments.cpu:
        absent.add(ONNXRUNTIME)
    failed, rows = 0, list[Row]()
    for precision, batch in itertools.product(arguments.precision, arguments.batch):
        peers = [who for who in PEERS[precision] if who not in absent]
        print(_head(precision, batch, peers, arguments), flush=True)
        table, static = list[Row](), Static({}, {})
        for case in _cases(precision, batch, arguments):
            print(f"{time.strftime('%H:%M:%S')} {precision} batch {batch} {case.name}", file=sys.stderr, flush=True)
            try:
                table.append(_measured(case, peers, arguments, static))
            except (rx.RelaxError, Unmeasured) as error:
                failed += 1
                print(f"{case.name:<22}{error}", flush=True)
            else:
                print(_row(case.name, table[-1].found, table[-1].shares), flush=True)
            gc.collect()
        if table:
            print(_row("geomean", _geomeans(table), {}))
        rows += table
    print()
    _judge(rows, arguments.goals)
    return 1 if failed else 0


class Static(NamedTuple):
    """Results of static models by name, which precede the dynamic ones."""

    works: dict[str, Work | None]
    #: Only the last program, since programs keep their weights.
    programs: dict[str, rx.runtime.Executable]


class Unmeasured(Exception):
    """The model is missing, or its results are too far from onnxruntime's."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", nargs="+", choices=[model.name for model in ZOO], help="only these")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--precision", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--cpu", choices=LEVELS, default="", help="compile for this CPU, and limit OpenVINO to it")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8], help="1: as the model is exported")
    parser.add_argument("--seconds", type=float, default=4, help="how long a row is measured, about")
    parser.add_argument("--quick", action="store_true", help="one turn of each row: to see whether all works")
    add_option(parser)
    return parser.parse_args()


def _cases(precision: str, batch: int, arguments: argparse.Namespace) -> Iterator[Case]:
    """Yield the cases.

    The models other than the eight only run in f32: a detector selects other boxes from rounded scores.
    """
    names: Sequence[str] | None = arguments.models
    with_others = precision == "f32" and (batch == 1 or names)
    for model in ZOO:
        if (with_others or model.name in _EIGHT) and (not names or model.name in names):
            case = Case(model, False, 0 if batch == 1 else batch, precision, cpu=arguments.cpu)
            yield from (case, case._replace(is_dynamic=True))
            if precision == "f32" and model.name in _BY_TILES:
                yield case._replace(by_tiles=True)


# ---- one row ----


def _measured(case: Case, peers: Sequence[str], arguments: argparse.Namespace, static: Static) -> Row:
    exported = case.path(arguments.folder)
    if not exported.exists():
        raise Unmeasured(f"{exported} is not there: make models")
    if not case.is_dynamic:
        static.programs.clear()
    path, inputs = model_file(case, exported), case.inputs()
    module, given = module_of(case, path), list(inputs.values())
    if not case.is_dynamic:
        static.works[case.model.name] = work_of_model(module)
    program = rx.compile(module, case.target, precision="bf16" if case.precision == "bf16" else "f32")
    expected = run_of(ONNXRUNTIME, case, path, inputs, max(arguments.threads))()
    _check(program["main"](*given), expected, _tolerance(case, exported, expected, inputs))
    if not case.is_dynamic:
        static.programs[case.model.name] = program
    programs = {OURS: program, **({_STATIC: static.programs.get(case.model.name)} if case.is_dynamic else {})}
    # Our programs are adjacent, since they are compared turn by turn.
    ours = [(who, threads, each) for threads in arguments.threads for who, each in programs.items() if each]
    runs = {(who, threads): _ours(each, given, threads) for who, threads, each in ours}
    runs |= {(who, threads): run_of(who, case, path, inputs, threads) for threads in arguments.threads for who in peers}
    turns = _turns(runs, 0 if arguments.quick else arguments.seconds)
    found = {key: statistics.median(each) for key, each in turns.items()}
    work = static.works.get(case.model.name)
    ends = sum(array.nbytes for array in (*given, *expected))
    return Row(case, turns, found, _shares(case, work, ends, found) if work else {})


def _ours(program: rx.runtime.Executable, given: Sequence[Any], threads: int) -> Run:
    main = program["main"]

    def run() -> object:
        program.threads = threads
        return main(*given)

    return run


def _check(results: Any, expected: Sequence[Any], tolerance: float) -> None:
    found = apart(results if len(expected) > 1 else [results], expected)
    if not found <= tolerance:
        raise Unmeasured(f"differs from onnxruntime by {found:.1e} of the largest number, allowed are {tolerance:.1e}")


def _tolerance(case: Case, exported: Path, expected: Sequence[Any], inputs: Mapping[str, Any]) -> float:
    if case.precision != "int8":
        return _TOLERANCE[case.precision]
    exact = run_of(ONNXRUNTIME, case._replace(precision="f32"), exported, inputs, 1)()
    return max(apart(expected, exact), _TOLERANCE["int8"])


def _turns(runs: Mapping[tuple[str, int], Run], budget: float) -> Turns:
    """Return the milliseconds per call of each, in as many turns as fit into the budget of seconds."""
    for run in runs.values():
        run()
    once = {key: _seconds_of_call(run, 0) for key, run in runs.items()}
    of_a_turn = sum(_PAUSE + max(_WARM, seconds) + max(_MEASURED, seconds) for seconds in once.values())
    turns = min(max(int(budget / of_a_turn), _LEAST_TURNS), _MOST_TURNS) if budget else 1
    found: dict[tuple[str, int], list[float]] = {key: [] for key in runs}
    for _ in range(turns):
        for key, run in runs.items():
            time.sleep(_PAUSE)
            _seconds_of_call(run, _WARM)
            found[key].append(undisturbed(_seconds_of_call, run, _MEASURED) * 1e3)
    return found


def _seconds_of_call(run: Run, least: float) -> float:
    calls, start = 0, time.perf_counter()
    while not calls or time.perf_counter() - start < least:
        run()
        calls += 1
    return (time.perf_counter() - start) / calls


def _shares(case: Case, work: Work, ends: int, found: Figures) -> dict[int, tuple[float, str]]:
    counts = [threads for who, threads in found if who == OURS]
    floors = {threads: floor(work, ends, case.precision, threads, case.target) for threads in counts}
    return {threads: (least * 1e3 / found[OURS, threads], by) for threads, (least, by) in floors.items()}


# ---- tables ----


def _head(precision: str, batch: int, peers: Sequence[str], arguments: argparse.Namespace) -> str:
    title = f"{precision}, batch {batch}" + (", of the mlp 32" if batch == 1 else "")
    title += f", code for {arguments.cpu}" if arguments.cpu else ""
    width, columns = 17 + 21 * len(peers), ""
    for count in arguments.threads:
        of_products = peak(precision, count, target_of(arguments.cpu))
        title += f"; {_threads(count)}: {of_products / 1e9:.0f} GFLOP/s, {stream(count) / 1e9:.1f} GB/s"
        columns += f"{'ours':>10}{'floor':>7}" + "".join(f"{who:>14}{'to':>7}" for who in peers)
    between = handed()
    title += f"; from core to core {between / 1e9:.0f} GB/s" if between else ""
    above = "".join(_threads(count).rjust(width) for count in arguments.threads)
    return f"\n{title}\n{'':<22}{above}\n{'milliseconds':<22}{columns}"


def _row(name: str, found: Figures, shares: Mapping[int, tuple[float, str]]) -> str:
    """Return a row: by threads ours, its share of the floor, each peer's time, and the ratio of ours to it."""
    cells = [f"{name:<22}"]
    for threads in dict.fromkeys(count for _, count in found):
        ours = found[OURS, threads]
        share = "{:6.0%}{}".format(*shares[threads]) if threads in shares else f"{'-':>7}"
        cells.append(f"{ours:10.2f}{share}")
        peers = [each for (who, count), each in found.items() if count == threads and who not in (OURS, _STATIC)]
        cells += [f"{milliseconds:14.2f}{ours / milliseconds:7.2f}" for milliseconds in peers]
    return "".join(cells)


def _geomeans(rows: Sequence[Row]) -> Figures:
    shared = [key for key in rows[0].found if key[0] != _STATIC]
    return {key: statistics.geometric_mean(row.found[key] for row in rows if not row.case.by_tiles) for key in shared}


def _threads(count: int) -> str:
    return f"{count} thread" + "s" * (count > 1)


# ---- goals ----


def _judge(rows: Sequence[Row], path: Path | None) -> None:
    exact = [row for row in rows if row.case.precision == "f32"]
    for threads in dict.fromkeys(threads for row in rows for _, threads in row.found):
        eight = [row for row in exact if row.case.model.name in _EIGHT and not row.case.batch + row.case.is_dynamic]
        direct = {row.case.model.name: row for row in eight if not row.case.by_tiles}
        fastest = {**direct, **{row.case.model.name: row for row in eight if row.case.by_tiles}}
        for what, chosen in (("", direct), (", ResNets by tiles", fastest)):
            ratios = [_ratio(row, OPENVINO, threads) for row in chosen.values() if (OPENVINO, threads) in row.found]
            mean = {f"of {len(ratios)} models": statistics.geometric_mean(ratios)} if ratios else {}
            judge(path, f"geomean to OpenVINO f32, {_threads(threads)}{what}", 0.85, mean)
    judge(path, "each model to onnxruntime", 1.0, _ratios(exact, ONNXRUNTIME))
    judge(path, "dynamic variants to their static ones", 1.05, _dynamic_to_static(rows))
    judge(path, "two threads over one, above 10 ms", 1.85, _gains(rows), at_least=True)
    narrow = (("bf16", OPENVINO_DEFAULT, 0.95), ("int8", OPENVINO, 0.95), ("int8", ONNXRUNTIME, 1.0))
    for precision, peer, limit in narrow:
        of_precision = [row for row in rows if row.case.precision == precision]
        judge(path, f"{precision} to {peer}", limit, _ratios(of_precision, peer))


def _ratio(row: Row, who: str, threads: int) -> float:
    return row.found[OURS, threads] / row.found[who, threads]


def _ratios(rows: Sequence[Row], who: str) -> dict[str, float]:
    return {_label(row, count): _ratio(row, who, count) for row in rows for peer, count in row.found if peer == who}


def _dynamic_to_static(rows: Sequence[Row]) -> dict[str, float]:
    pairs = [(row, threads) for row in rows for who, threads in row.found if who == _STATIC]
    return {_label(row, threads): _by_turns(row, (OURS, threads), (_STATIC, threads)) for row, threads in pairs}


def _gains(rows: Sequence[Row]) -> dict[str, float]:
    one, two = (OURS, 1), (OURS, 2)
    large = [row for row in rows if {one, two} <= row.found.keys() and row.found[one] > _LARGE]
    return {_label(row): _by_turns(row, one, two) for row in large}


def _by_turns(row: Row, over: tuple[str, int], under: tuple[str, int]) -> float:
    return statistics.median(a / b for a, b in zip(row.turns[over], row.turns[under], strict=True))


def _label(row: Row, threads: int | None = None) -> str:
    case = row.case
    parts = [case.name, case.precision if case.precision != "f32" else "", f"batch {case.batch}" if case.batch else ""]
    return " ".join([*filter(None, parts), *([f"x{threads}"] if threads else [])])


if __name__ == "__main__":
    sys.exit(main())
