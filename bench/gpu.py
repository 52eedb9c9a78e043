# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators and exported models on a GPU, against NVIDIA's libraries and torch, eager and compiled, where installed.

    python bench/gpu.py build/models       prints the tables; reports a missing device
    python bench/gpu.py --only product     cases with this text in their names
    python bench/gpu.py --peers eager      without torch.compile, which takes seconds per case; none: only ours
    python bench/gpu.py --must             fails without a device

All of a row take turns, by the device's clock (CUDA events), with arguments on the device. Figures are medians of
turns. "graph" is ours as a CUDA graph, for models, with a star if an estimate selects it by default. "libraries" is
this project's program with parts for cuDNN and cuBLAS, by their codegens. "to" is the ratio of ours to the figure on
its left, below 1 if ours is faster. "peak" is the share of the device's peak: with tensor cores for f16, bf16, tf32 and
int8, without them for f32, or of its memory bandwidth if bytes are the work. Operators' results are compared with this
project's CPU code, models' results with onnxruntime.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy
from gpu_cases import Case, cases, small_cases
from relax_mlir.runtime import to_numpy
from relax_mlir.runtime.cuda.driver import Device, driver
from relax_mlir.runtime.cuda.timing import device_seconds
from relax_mlir.runtime.errors import DeviceError
from relax_mlir_nvidia.cublas_runtime import CUBLAS
from relax_mlir_nvidia.cudnn_runtime import CUDNN
from relax_mlir_nvidia.libraries import Product, library_of

import relax_mlir as rx

_LIBRARIES = {"cudnn": CUDNN, "cublas": CUBLAS}
_MODELS = Path(__file__).parent / "models"
PEERS = ALL, NOT_COMPILED, NONE = "all", "eager", "none"
OURS, GRAPH, LIBRARIES, EAGER, COMPILED = "ours", "graph", "libraries", "torch", "torch.compile"
#: Number of turns, and seconds per turn.
_TURNS, _OF_A_TURN = 9, 0.02
#: Tolerance relative to the largest number of a result.
_TOLERANCE = {"float32": 1e-4, "tf32": 2e-3, "float16": 1e-2, "bfloat16": 5e-2, "int8": 0.0}
_OF_A_MODEL = 1e-3
#: Operations that a multiprocessor completes per cycle, by compute capability, with sums in 32 bits.
_PER_CYCLE = {
    (8, 0): {"float32": 128, "tf32": 1024, "float16": 2048, "bfloat16": 2048, "int8": 4096},
    (8, 6): {"float32": 256, "tf32": 256, "float16": 512, "bfloat16": 512, "int8": 2048},
    (8, 9): {"float32": 256, "tf32": 256, "float16": 512, "bfloat16": 512, "int8": 2048},
    (9, 0): {"float32": 256, "tf32": 2048, "float16": 4096, "bfloat16": 4096, "int8": 8192},
    (10, 0): {"float32": 256, "tf32": 4096, "float16": 8192, "bfloat16": 8192, "int8": 16384},
    (12, 0): {"float32": 256, "tf32": 256, "float16": 512, "bfloat16": 512, "int8": 2048},
}
#: CUdevice_attribute.
_CLOCK_KHZ, _MULTIPROCESSORS, _MEMORY_KHZ, _MEMORY_BITS = 13, 16, 36, 37

Run = Callable[[], Any]


class Row(NamedTuple):
    name: str
    #: Seconds per call of each contender.
    found: Mapping[str, float]
    #: Achieved work per second relative to the device's peak; 0 if unknown.
    share: float
    wrong: str = ""
    #: True if the program is a CUDA graph by default.
    is_graph: bool = False


class Peak(NamedTuple):
    """Peak work of a device per second, by the unit of the work."""

    by_unit: Mapping[str, float]

    def share(self, unit: str, work: float, seconds: float) -> float:
        most = self.by_unit.get(unit, 0.0)
        return work / seconds / most if most else 0.0


def peak_of(device: Device) -> Peak:
    """Return the peak by the device's clocks. Empty for devices that are not in the table above."""
    attributes = {which: driver().attribute(device.handle, which) for which in (13, 16, 36, 37)}
    cycles = attributes[_MULTIPROCESSORS] * attributes[_CLOCK_KHZ] * 1e3
    found = {unit: each * cycles for unit, each in _PER_CYCLE.get((device.major, device.minor), {}).items()}
    # Two transfers per cycle.
    return Peak({**found, "bytes": 2e3 * attributes[_MEMORY_KHZ] * attributes[_MEMORY_BITS] / 8})


def measured(runs: Mapping[str, Run], turns: int = _TURNS, of_a_turn: float = _OF_A_TURN) -> dict[str, float]:
    """Return the seconds per call of each run, in turns."""
    counts = {}
    for who, run in runs.items():
        device_seconds(run)  # first-call setup
        counts[who] = max(1, min(1000, int(of_a_turn / max(device_seconds(run), 1e-6))))
    found: dict[str, list[float]] = {who: [] for who in runs}
    for _ in range(turns):
        for who, run in runs.items():
            found[who].append(device_seconds(lambda run=run, count=counts[who]: _often(run, count)) / counts[who])  # type: ignore[misc]
    return {who: statistics.median(each) for who, each in found.items()}


def _often(run: Run, count: int) -> None:
    for _ in range(count):
        run()


# ---- operators ----


def row_of_case(case: Case, device: Device, torch: ModuleType | None, turns: int = _TURNS, peers: str = ALL) -> Row:
    module = case.module()
    programs = _programs(module, device, tf32=case.tf32, with_libraries=peers != NONE)
    given = _uploaded(programs[OURS], case.arrays)
    expected = rx.compile(module)["main"](*case.arrays)
    apart = {who: _difference(each.copying()["main"](*case.arrays), expected) for who, each in programs.items()}
    limit = _TOLERANCE["tf32" if case.tf32 else case.arrays[0].dtype.name]
    wrong = [f"{who}: wrong by {each:.1e} of the largest number" for who, each in apart.items() if not each <= limit]
    runs = _runs(programs, given)
    if torch is not None and case.in_torch is not None:
        theirs = _torch_runs(torch, case.in_torch, case.arrays)
        runs |= {EAGER: theirs[EAGER]} if peers == NOT_COMPILED else theirs
    found = measured(runs, turns)
    share = peak_of(device).share(case.unit, case.work, found[OURS])
    return Row(case.name, found, share, ", ".join(wrong))


def _arch(device: Device) -> str:
    """Return the best architecture for code: with architecture-specific features if the compiler knows them."""
    from relax_mlir.targets.cuda.objects.arch import ARCHS, USUAL

    names = (f"{device.arch}a", device.arch)
    return next((name for name in names if name in ARCHS), USUAL)


def _uploaded(program: rx.runtime.Executable, arrays: Sequence[Any]) -> list[Any]:
    copying: Any = program.copying()
    return [copying.upload(rx.runtime.tensor(each)) for each in arrays]


def _difference(result: Any, expected: Any) -> float:
    got, right = (to_numpy(each).astype("float64") for each in (result, expected))
    worst = numpy.max(numpy.abs(got - right), initial=0.0)
    return float(worst / (numpy.max(numpy.abs(right), initial=0.0) or 1.0))


def _programs(
    module: rx.Module, device: Device, *, tf32: bool = False, with_libraries: bool = True
) -> dict[str, rx.Executable]:
    """Return our program, and the one with NVIDIA's installed libraries if they take an operator."""
    target = f"cuda{{arch={_arch(device)} tf32={str(tf32).lower()}}}"
    found = {OURS: rx.compile(module, target, graphs=False)}
    if not with_libraries:
        return found
    there = [f"{name}{{tf32=true}}" if tf32 else name for name, product in _LIBRARIES.items() if _is_there(product)]
    program = rx.compile(module, target, partition=there, graphs=False) if there else None
    return {**found, LIBRARIES: program} if program is not None and program._artifact.externals else found


def _runs(programs: Mapping[str, rx.Executable], given: Sequence[Any]) -> dict[str, Run]:
    return {who: partial(program["main"], *given) for who, program in programs.items()}


def _is_there(product: Product) -> bool:
    try:
        library_of(product)
    except rx.RelaxError:
        return False
    return True


def _torch_runs(torch: Any, function: Callable[..., Any], arrays: Sequence[Any]) -> dict[str, Run]:
    tensors = [_in_torch(torch, each) for each in arrays]
    compiled = torch.compile(lambda *given: function(torch, *given))
    return {EAGER: lambda: function(torch, *tensors), COMPILED: lambda: compiled(*tensors)}


def _in_torch(torch: Any, array: Any) -> Any:
    if array.dtype.name != "bfloat16":
        return torch.from_numpy(array).cuda()
    return torch.from_numpy(array.view("int16")).cuda().view(torch.bfloat16)


# ---- models ----


def rows_of_models(
    folder: Path, device: Device, torch: ModuleType | None, turns: int = _TURNS, peers: str = ALL
) -> Iterator[Row]:
    """Yield rows of whole exported models. Decoders run one token after 64 others."""
    sys.path.insert(0, str(_MODELS))
    from zoo import DECODERS, ZOO

    wanted = [each for each in ZOO if each.name in ("resnet50", "bert", "gpt2", "llama")]
    there = [each for each in (*wanted, *DECODERS) if (folder / f"{each.name}.onnx").exists()]
    for each in there:
        path = folder / f"{each.name}.onnx"
        yield _row_or_error(each.name, partial(_row_of_model, each, path, device, torch, turns, peers))


def _row_or_error(name: str, measure: Callable[[], Row]) -> Row:
    """Return a row, or an error row, so that the other cases are still measured."""
    try:
        return measure()
    except Exception as error:
        return Row(name, {}, 0.0, f"{type(error).__name__}: {error}")


def _row_of_model(model: Any, path: Path, device: Device, torch: Any, turns: int, peers: str) -> Row:
    from compare import apart, onnxruntime_session, random_inputs
    from floors import work_of_model

    inputs = random_inputs(model, model.sizes[0])
    given = list(inputs.values())
    module = rx.from_onnx(path)
    programs = _programs(module, device, with_libraries=peers != NONE)
    artifact = programs[OURS]._artifact
    programs[GRAPH] = rx.runtime.Executable(artifact, graphs=True)
    is_graph = bool(rx.runtime.Executable(artifact).graphs)
    expected = onnxruntime_session(path).run(None, inputs)
    differences = {}
    for who, program in programs.items():
        results = program.copying()["main"](*given)
        differences[who] = apart(results if len(expected) > 1 else [results], expected)
    wrong = [f"{who}: {each:.1e} from onnxruntime" for who, each in differences.items() if not each <= _OF_A_MODEL]
    runs = _runs(programs, _uploaded(programs[OURS], given))
    if torch is not None:
        built = model.build().cuda()
        tensors = [_in_torch(torch, each) for each in given]
        runs[EAGER] = _without_gradients(torch, built, tensors)
        if peers != NOT_COMPILED:
            runs[COMPILED] = _without_gradients(torch, torch.compile(built), tensors)
    found = measured(runs, turns)
    work = work_of_model(module)
    share = peak_of(device).share("float32", work.flops, found[OURS]) if work else 0.0
    gc.collect()
    return Row(model.name, found, share, ", ".join(wrong), is_graph)


def _without_gradients(torch: Any, function: Callable[..., Any], tensors: Sequence[Any]) -> Run:
    def run() -> Any:
        with torch.no_grad():
            return function(*tensors)

    return run


# ---- tables ----


def head() -> str:
    others = "".join(f"{who:>{width}}{'to':>7}" for who, width in ((LIBRARIES, 10), (EAGER, 10), (COMPILED, 15)))
    return f"{'':<48}{'ours us':>10}{'peak':>7}{GRAPH:>10} {'to':>7}{others}"


def shown(row: Row) -> str:
    if OURS not in row.found:
        return f"{row.name:<48}{row.wrong}"
    ours = row.found[OURS]
    cells = [f"{row.name:<48}{1e6 * ours:10.1f}", f"{row.share:7.0%}" if row.share else f"{'-':>7}"]
    for who, width in ((GRAPH, 10), (LIBRARIES, 10), (EAGER, 10), (COMPILED, 15)):
        other, mark = row.found.get(who), ("*" if row.is_graph else " ") if who == GRAPH else ""
        cells.append(f"{1e6 * other:{width}.1f}{mark}{ours / other:7.2f}" if other else f"{'-':>{width}}{mark}{'-':>7}")
    return "".join(cells) + (f"  {row.wrong}" if row.wrong else "")


def find_torch() -> ModuleType | None:
    """Return torch if it can use the device. Its convolutions would round f32 factors by default, unlike ours."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.backends.cudnn.allow_tf32 = False
    return torch


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/models"))
    parser.add_argument("--only", default="", help="the cases with this in their names")
    parser.add_argument("--small", action="store_true", help="tiny cases, to see whether all works; no models")
    parser.add_argument("--turns", type=int, default=_TURNS)
    parser.add_argument("--peers", choices=PEERS, default=ALL, help="all, those but torch.compile, or none")
    parser.add_argument("--must", action="store_true", help="fail where there is no device")
    options = parser.parse_args(arguments)
    try:
        device = driver().device(0)
    except DeviceError as error:
        print(f"nothing is measured: {error}")
        return 1 if options.must else 0
    torch = None if options.peers == NONE else find_torch()
    versions = f"against torch {torch.__version__}" if torch else "without torch"
    print(f"{device.name} ({device.arch}), code for {_arch(device)}; {versions}\n{head()}", flush=True)
    rows = []
    for case in small_cases() if options.small else cases():
        if options.only in case.name:
            measure = partial(row_of_case, case, device, torch, options.turns, options.peers)
            rows.append(_row_or_error(case.name, measure))
            print(shown(rows[-1]), flush=True)
    if not options.small:
        for row in rows_of_models(options.folder, device, torch, options.turns, options.peers):
            rows.append(row)
            print(shown(row), flush=True)
    return 1 if any(row.wrong for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
