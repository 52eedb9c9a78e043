# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions of operators for Arm and RISC-V with vectors, beside code for the same CPU without vectors.

    python bench/vector_counts.py               all operators
    python bench/vector_counts.py log dynamic   operators and variants with one of these in their names

TVM's issues 18560 to 18572 report these operators: its code with V of RISC-V is slower than its code without. Sizes are
the issues' with a batch of one. An emulator runs each program, and counts the instructions of one call of its entry.
Results are compared with NumPy's. NEON and the scalar CPUs run in unicorn. V needs qemu (apt install qemu-user), else
its columns stay empty. Registers have 128 bits.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy

import relax_mlir as rx
from relax_mlir import relax

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "test" / "python" / "helpers"))
from elf import read_object
from emulated_cpus import Cpu, Tools, emulated, linked

_RANDOM = numpy.random.default_rng(3)
_ENTRY = "__tvm_ffi_main"
_QEMU_CPU = "rv64,v=true,vext_spec=v1.0,vlen=128"


class Operator(NamedTuple):
    """Operator with one argument, and its definition in NumPy."""

    build: Callable[[Any], Any]
    define: Callable[[Any], Any]
    shape: tuple[int, ...] = (1, 23, 67, 99)
    lowest: float = -4

    def argument(self, dtype: str) -> Any:
        return _RANDOM.uniform(self.lowest, 4, self.shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


class CountingCpu(Cpu):
    """CPU with an emulator that counts the instructions of a call, in the file `count`."""

    def tools(self) -> Tools:
        link = [sys.executable, "-m", "ziglang", "cc", "-target", f"{self.kind}-linux-musl"]
        return Tools(link, [sys.executable, __file__, "--count", self.kind, self.emulated])


#: Code with vectors, and code without.
PAIRS = {
    "NEON": (
        CountingCpu("triple=aarch64-linux-gnu cpu=cortex-a53", "aarch64", "cortex-a53"),
        CountingCpu("triple=aarch64-linux-gnu cpu=cortex-a53 features=-neon", "aarch64", "cortex-a53"),
    ),
    "V": (
        CountingCpu("triple=riscv64-linux-gnu features=+v", "riscv64", _QEMU_CPU),
        CountingCpu("triple=riscv64-linux-gnu", "riscv64", "rv64"),
    ),
}


def _pool(x: Any, reduce: Callable[..., Any], padding: float) -> Any:
    padded = numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=padding)
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, (2, 2), axis=(2, 3))
    return reduce(windows[:, :, ::4, ::4], axis=(4, 5))


def _softmax(x: Any) -> Any:
    powers = numpy.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


_BIAS = _RANDOM.normal(size=(23, 1, 1)).astype("float32")
_WINDOW: dict[str, Any] = {"pool_size": (2, 2), "strides": (4, 4), "padding": (1, 1)}

OPERATORS = {
    "sum": Operator(lambda x: relax.sum(x, axis=1, keepdims=True), lambda x: x.sum(1, keepdims=True)),
    "log": Operator(relax.log, numpy.log, lowest=0.1),
    "relu": Operator(relax.nn.relu, lambda x: numpy.maximum(x, 0)),
    "bias_add": Operator(lambda x: relax.add(x, relax.const(_BIAS, str(x.type.element_type))), lambda x: x + _BIAS),
    "sqrt": Operator(relax.sqrt, numpy.sqrt, lowest=0),
    "floor": Operator(relax.floor, numpy.floor),
    "round": Operator(relax.round, numpy.round),
    "avg_pool2d": Operator(
        lambda x: relax.nn.avg_pool2d(x, count_include_pad=True, **_WINDOW),
        lambda x: _pool(x, numpy.mean, 0),
        (1, 23, 99, 95),
    ),
    "sigmoid": Operator(relax.sigmoid, lambda x: 1 / (1 + numpy.exp(-x))),
    "softmax": Operator(relax.nn.softmax, _softmax, (14, 185)),
    "negative": Operator(relax.negative, numpy.negative),
    "max_pool2d": Operator(
        lambda x: relax.nn.max_pool2d(x, **_WINDOW), lambda x: _pool(x, numpy.max, -numpy.inf), (1, 23, 99, 95)
    ),
    "cos": Operator(relax.cos, numpy.cos),
}


#: Types and first sizes, with the tolerated differences from NumPy's results.
VARIANTS: dict[str, tuple[str, str, float]] = {
    "": ("float32", "", 1e-5),
    "dynamic": ("float32", "n", 1e-5),
    "float64": ("float64", "", 1e-12),
    "float16": ("float16", "", 4e-3),
    "bfloat16": ("bfloat16", "", 3e-2),
}


@contextlib.contextmanager
def scalar_arm() -> Iterator[None]:
    """Let a target remove NEON: make NEON a feature of one CPU, not of all."""
    from relax_mlir.targets.llvm.objects.cpus import architectures

    known: Any = architectures()
    arm = known["aarch64"]
    cpus = {**arm.cpus, "cortex-a53": (*arm.cpus["cortex-a53"], "neon")}
    known["aarch64"] = dataclasses.replace(arm, baseline=arm.without(arm.baseline, "neon"), cpus=cpus)
    try:
        yield
    finally:
        known["aarch64"] = arm


def count(operator: Operator, cpu: Cpu, variant: str) -> int:
    """Return the number of instructions of a call, after a comparison of its result with NumPy's."""
    from relax_mlir.tools.relax_compile import run

    dtype, first, tolerance = VARIANTS[variant]
    x = operator.argument(dtype)
    module = rx.Module()
    with module.function("main", [rx.tensor((first or x.shape[0], *x.shape[1:]), dtype)]) as f:
        f.returns(operator.build(*f))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.mlir").write_text(str(module))
        target = f"--target=llvm{{{cpu.target} cores=1}}"
        if run([str(folder / "model.mlir"), "--emit=obj", target, "-o", str(folder / "model.o")]):
            sys.exit(1)
        program = linked([(folder / "model.o").read_bytes()], cpu, folder)
        expected = operator.define(x.astype("float64")).astype(x.dtype)
        result = emulated(program, cpu, x, expected).astype("float64")
        numpy.testing.assert_allclose(result, expected.astype("float64"), rtol=tolerance, atol=tolerance)
        return int((folder / "count").read_text())


class CallCounter:
    """Number of instructions between the entry of a function and its return."""

    def __init__(self, entry: int) -> None:
        self.total = 0
        self._entry = entry
        self._last_end = 0
        self._return: int | None = None

    def add(self, start: int, size: int, instructions: int) -> None:
        """Count a block that runs."""
        if start == self._entry and self._return is None:
            self._return = self._last_end
        if start == self._return:
            self._return = None
        if self._return is not None:
            self.total += instructions
        self._last_end = start + size


def _count_instructions(kind: str, code: bytes) -> int:
    """Return the number of instructions of a block. RISC-V's compressed ones have two bytes."""
    if kind == "aarch64":
        return len(code) // 4
    place = number = 0
    while place < len(code):
        place += 4 if code[place] & 3 == 3 else 2
        number += 1
    return number


def _run_in_unicorn(kind: str, model: str, command: list[str], counter: CallCounter) -> None:
    import unicorn
    from emulated_programs import KINDS, Process

    counts: dict[tuple[int, int], int] = {}

    class CountedProcess(Process):
        """Process that counts each block before the block runs."""

        def start_to_count(self) -> None:
            self._cpu.hook_add(unicorn.UC_HOOK_BLOCK, self._count_block)

        def _count_block(self, cpu: unicorn.Uc, start: int, size: int, _: object) -> None:
            if (start, size) not in counts:
                counts[start, size] = _count_instructions(kind, bytes(cpu.mem_read(start, size)))
            counter.add(start, size, counts[start, size])

    process = CountedProcess(KINDS[kind], model)
    process.start_to_count()
    process.run(Path(command[0]).read_bytes(), command)


def find_qemu(kind: str) -> str | None:
    return shutil.which(f"qemu-{kind}") or shutil.which(f"qemu-{kind}-static")


def _run_in_qemu(kind: str, model: str, command: list[str], counter: CallCounter) -> None:
    qemu = find_qemu(kind)
    assert qemu is not None
    reader, writer = os.pipe()
    log = ["-d", "in_asm,exec,nochain", "-D", f"/dev/fd/{writer}"]
    with subprocess.Popen([qemu, "-cpu", model, *log, *command], pass_fds=[writer]) as process:
        os.close(writer)
        with open(reader) as lines:
            read_log(lines, counter)
    if process.returncode < 0:
        signal.raise_signal(-process.returncode)
    sys.exit(process.returncode)


_EXECUTED = re.compile(r"Trace \d+: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/")
_TRANSLATED = re.compile(r"0x([0-9a-f]+):  ([0-9a-f]+) ")


def read_log(lines: Iterable[str], counter: CallCounter) -> None:
    """Count the blocks of a log of qemu, which lists the instructions of a block before the first run."""
    blocks: dict[int, tuple[int, int]] = {}
    addresses: list[int] = []
    for line in lines:
        if executed := _EXECUTED.match(line):
            start = int(executed[1], 16)
            counter.add(start, *blocks[start])
        elif line.startswith("IN:"):
            addresses = []
        elif translated := _TRANSLATED.match(line):
            addresses.append(int(translated[1], 16))
            end = addresses[-1] + len(translated[2]) // 2
            blocks[addresses[0]] = (end - addresses[0], len(addresses))


def _run_and_count(kind: str, model: str, *command: str) -> None:
    counter = CallCounter(read_object(Path(command[0]).read_bytes(), 2).defined[_ENTRY])
    run = _run_in_qemu if model == _QEMU_CPU else _run_in_unicorn
    try:
        run(kind, model, list(command), counter)
    finally:
        Path("count").write_text(str(counter.total))


def missing_tool(cpu: Cpu) -> str:
    """Return the reason why this machine cannot count the instructions of a CPU, or an empty text."""
    if cpu.emulated == _QEMU_CPU and find_qemu(cpu.kind) is None:
        return f"no qemu-{cpu.kind}: apt install qemu-user"
    missing = [name for name in ("ziglang", "unicorn") if find_spec(name) is None]
    return f"pip install {' '.join(missing)}" if missing else ""


def count_both(operator: Operator, pair: str, variant: str = "") -> tuple[int, int]:
    """Return the numbers of instructions with vectors and without."""
    vectors, scalar = PAIRS[pair]
    with scalar_arm():
        return count(operator, vectors, variant), count(operator, scalar, variant)


def _columns(operator: Operator, pair: str, variant: str) -> str:
    if missing_tool(PAIRS[pair][0]):
        return f"{'':>12}{'':>12}{'-':>7}"
    with_vectors, scalar = count_both(operator, pair, variant)
    return f"{with_vectors:12,}{scalar:12,}{with_vectors / scalar:7.2f}"


def main(words: list[str]) -> None:
    print(f"{'':20}" + "".join(f"{name:>12}{'scalar':>12}{'ratio':>7}" for name in PAIRS))
    for name, variant in itertools.product(OPERATORS, VARIANTS):
        label = f"{name} {variant}"
        if any(word in label for word in words) if words else not variant:
            print(f"{label:20}" + "".join(_columns(OPERATORS[name], pair, variant) for pair in PAIRS), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--count"]:
        _run_and_count(*sys.argv[2:])
    main(sys.argv[1:])
