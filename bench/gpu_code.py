# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resources of the exported models' kernels on NVIDIA's GPUs, according to NVIDIA's assembler; no device is needed.

    python bench/gpu_code.py build/models                        a row for each model and architecture
    python bench/gpu_code.py build/models --models bert --kernels    a row for each product and attention too
    python bench/gpu_code.py build/models --strict               fails on spills and on assembler errors

Models are those in the folder. `4 bits`, products of 1 and of 128 rows of f16 with 4096x4096 weights, is added.
"launches" are per call; launches in loops count once. "forms" are the kinds of kernels from gpu-outline-kernels.
"registers" is the maximum per thread. "shared" is the maximum of a block in bytes, including requests of launches.
"spills" is the sum over kernels of spilled bytes per thread. "compile" is seconds on the CPU in one process without a
cache; "ptx" is LLVM's part of it for the device. "peak" is the maximum of planned memory that is live at a time; it is
unknown if sizes are dynamic.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from unittest import mock

import numpy
from relax_mlir.bindings.mlir import string_value
from relax_mlir.bindings.navigation import (
    callee_of,
    functions_in,
    has_body,
    operations_in,
    symbol_name,
)
from relax_mlir.dialects.core.ir_attributes import DYNAMIC_SHARED, FORM, PLAN
from relax_mlir.passes.kernels.schedule.plan import Plan, plan_of
from relax_mlir.support.byte_sizes import byte_text
from relax_mlir.targets.cuda.objects import ptx as ptx_maker
from relax_mlir.targets.cuda.objects.cubin import Resources, resources

import relax_mlir as rx
from relax_mlir import relax

_FEW_BITS = "4 bits"
ARCHS = ("sm_80", "sm_90a", "sm_100")
_HEAD = (
    f"{'':<24}{'arch':>8}{'kernels':>9}{'launches':>10}{'registers':>11}{'shared':>8}{'spills':>8}{'PTX':>9}"
    f"{'compile':>9}{'ptx':>6}{'peak':>10}  forms"
)


class Kernel(NamedTuple):
    """Kernel: its form, and the plan of the product in it, or "" if there is none."""

    form: str
    plan: str


@dataclass(frozen=True)
class NoteKernels(rx.Pass):
    """Record the kernels, and the number of launches of each per call."""

    name: ClassVar[str] = "bench-note-kernels"

    kernels: dict[str, Kernel] = field(default_factory=dict, compare=False)
    launches: list[int] = field(default_factory=list, compare=False)

    def run(self, op: Any) -> None:
        for each in operations_in(op):
            if each.name == "gpu.func":
                self.kernels[symbol_name(each)] = Kernel(string_value(each.attributes[FORM]), _plan_in(each))
        hosts = {symbol_name(each): each for each in functions_in(op) if has_body(each)}
        called = {
            callee_of(each) for host in hosts.values() for each in operations_in(host) if each.name == "func.call"
        }
        self.launches.append(sum(_launches(host, hosts) for name, host in hosts.items() if name not in called))


@dataclass(frozen=True)
class NoteShared(rx.Pass):
    """Record the shared memory that launches request."""

    name: ClassVar[str] = "bench-note-shared"

    #: Requested bytes, by kernel.
    asked: dict[str, int] = field(default_factory=dict, compare=False)

    def run(self, op: Any) -> None:
        for each in operations_in(op):
            if each.name == "gpu.func" and DYNAMIC_SHARED in each.attributes:
                self.asked[symbol_name(each)] = each.attributes[DYNAMIC_SHARED].value


def _plan_in(kernel: Any) -> str:
    planned = (each for each in operations_in(kernel) if PLAN in each.attributes)
    return next((string_value(each.attributes[PLAN]) for each in planned if isinstance(plan_of(each), Plan)), "")


def _launches(host: Any, hosts: dict[str, Any]) -> int:
    own = sum(each.name == "gpu.launch_func" for each in operations_in(host))
    return own + sum(_launches(hosts[callee], hosts) for callee in _callees(host) if callee in hosts)


def _callees(host: Any) -> list[str]:
    return [callee_of(each) for each in operations_in(host) if each.name == "func.call"]


@dataclass
class Code:
    """Compiled code of a model for an architecture."""

    model: str
    arch: str
    kernels: dict[str, Kernel]
    launches: int
    ptx: str
    #: Seconds on the CPU: in total, and for the device's code.
    compiled: float
    translated: float
    peak: int | str
    taken: dict[str, Resources] = field(default_factory=dict)
    #: Assembler error for PTX, or "".
    refused: str = ""

    @property
    def spilling(self) -> list[str]:
        return [name for name, each in self.taken.items() if each.spills]


def code_of(name: str, module: rx.Module, arch: str) -> Code:
    """Compile a model without a cache in this process, and assemble its kernels."""
    noted, shared, clock = NoteKernels(), NoteShared(), _Clock()
    target = f"cuda{{arch={arch}}}"
    stages = rx.stages(target).insert_before("threads", "note", noted).insert_before("entries", "note-shared", shared)
    start = time.process_time()
    with mock.patch.object(ptx_maker, "make_ptx", clock.timing(ptx_maker.make_ptx)):
        program = rx.compile(module, target, pipeline=stages, cache=False, jobs=1)
    seconds = time.process_time() - start
    artifact = program._artifact
    text = bytes(artifact.devices[0].data).decode().rstrip("\0")
    memory = artifact.entries[0]["memory"]
    peak = "unknown" if memory["slots"] else memory["peak"]
    kernels = {name: noted.kernels[name] for name in artifact.devices[0].kernels}
    code = Code(name, arch, kernels, noted.launches[0], text, seconds, clock.seconds, peak)
    try:
        code.taken = {
            name: each._replace(shared=each.shared + shared.asked.get(name, 0))
            for name, each in resources(text, arch).items()
        }
    except rx.RelaxError as error:
        code.refused = error.message
    return code


class _Clock:
    """Timer of the device's code generation."""

    seconds = 0.0

    def timing(self, make: Any) -> Any:
        def timed(*arguments: Any, **options: Any) -> Any:
            start = time.process_time()
            try:
                return make(*arguments, **options)
            finally:
                self.seconds += time.process_time() - start

        return timed


def row(code: Code) -> str:
    forms = ", ".join(f"{count} {form}" for form, count in Counter(each.form for each in code.kernels.values()).items())
    peak = code.peak if isinstance(code.peak, str) else byte_text(code.peak)
    taken = code.taken.values()
    most = [max((each[place] for each in taken), default=0) for place in (0, 1)]
    spilled = "refused" if code.refused else sum(each.spills for each in taken)
    return (
        f"{code.model:<24}{code.arch:>8}{len(code.kernels):>9}{code.launches:>10}{most[0]:>11}{most[1]:>8}{spilled:>8}"
        f"{byte_text(len(code.ptx)):>9}{code.compiled:>9.2f}{code.translated:>6.2f}{peak:>10}  {forms}"
    )


def rows_of_products(code: Code) -> Iterator[str]:
    """Yield a row for each kernel that has a plan, and for each that spills."""
    for name, kernel in code.kernels.items():
        taken = code.taken.get(name)
        if taken is not None and (kernel.plan or taken.spills):
            figures = f"{taken.registers:>5} registers {taken.shared:>6} shared {taken.spills:>4} spills"
            yield f"    {name:<56}{figures}  {kernel.form}: {kernel.plan}"


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/models"))
    parser.add_argument("--models", nargs="+", help="only these, by the names of their files")
    parser.add_argument("--arch", nargs="+", default=ARCHS)
    parser.add_argument("--kernels", action="store_true", help="what each product and attention takes")
    parser.add_argument("--strict", action="store_true", help="fail on spills, and on what the assembler refuses")
    arguments = parser.parse_args(given)
    models = _models(arguments.folder, arguments.models)
    if not models:
        print(f"no models in {arguments.folder}: make models", file=sys.stderr)
        return 1 if arguments.strict else 0
    print(_HEAD, flush=True)
    wrong = list[str]()
    for name, read in models.items():
        for arch in arguments.arch:
            wrong += _checked(name, read, arch, with_kernels=arguments.kernels)
    for each in wrong:
        print(each, file=sys.stderr)
    return 1 if wrong and arguments.strict else 0


def _models(folder: Path, names: Sequence[str] | None) -> dict[str, Callable[[], rx.Module]]:
    """Return functions that read the models, by name."""
    found = {path.stem: partial(rx.from_onnx, path) for path in sorted(folder.glob("*.onnx"))}
    if names:
        given = {_FEW_BITS: _few_bits}
        return {name: given.get(name, partial(rx.from_onnx, folder / f"{name}.onnx")) for name in names}
    return {**found, _FEW_BITS: _few_bits} if found else {}


def _few_bits() -> rx.Module:
    """Return products with weights of 4 bits: for a single row, and for as many rows as a prompt."""
    size, block = 4096, 32
    random, module = numpy.random.default_rng(0), rx.Module()
    held = [
        random.integers(0, 256, (size, size // block, block // 2)).astype("uint8"),
        (0.002 * random.normal(size=(size, size // block))).astype("float16"),
    ]
    for rows in (1, 128):
        with module.function(f"rows_{rows}", [rx.tensor((rows, size), "f16")]) as f:
            constants = map(relax.const, held)
            f.returns(relax.matmul_nbits(*f, *constants, None, None, bits=4, block_size=block))
    return module


def _checked(name: str, read: Callable[[], rx.Module], arch: str, *, with_kernels: bool) -> list[str]:
    """Print a model's rows, and return the problems with it."""
    try:
        code = code_of(name, read(), arch)
    except rx.RelaxError as error:
        print(f"{name:<24}{arch:>8}  {error.message.splitlines()[0]}", flush=True)
        return [f"{name} for {arch} is not compiled: {error}"]
    print(row(code), flush=True)
    for each in rows_of_products(code) if with_kernels else ():
        print(each, flush=True)
    wrong = [f"{name} for {arch}: {code.refused}"] if code.refused else []
    return wrong + [f"{name} for {arch}: kernel '{kernel}' spills {code.taken[kernel].spills} bytes of a thread"
                    for kernel in code.spilling]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
