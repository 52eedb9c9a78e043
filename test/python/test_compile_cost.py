# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cost of compilation: equal layers are compiled once, memory follows the weights, no needless imports.

All figures are ratios within one run, or counts.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy
import pytest
from relax_mlir.support.processes.pool import Pool, process_pool
from relax_mlir.targets.llvm.objects import native_code

import relax_mlir as rx
from relax_mlir import relax


def blocks(count: int) -> rx.Module:
    """Return feed-forward blocks of a transformer with separate weights of one shape."""
    module, chosen = rx.Module(), numpy.random.default_rng(0)
    with module.function("main", [rx.tensor((16, 32))]) as f:
        (x,) = f
        for _ in range(count):
            up, down = (relax.const(chosen.normal(size=size).astype("float32")) for size in ((32, 96), (96, 32)))
            hidden = relax.nn.gelu(relax.matmul(x, up))
            x = relax.add(x, relax.nn.softmax(relax.matmul(hidden, down)))
        f.returns(x)
    return module


class _Pieces(rx.Instrument):
    def __init__(self) -> None:
        self.count = 0

    def code_made(self, kernel: str, done: int, count: int) -> None:
        self.count = count


def _compiled(module: rx.Module) -> tuple[float, int]:
    """Return the seconds of this thread, and the number of compiled pieces."""
    pieces, start = _Pieces(), time.thread_time()
    rx.compile(module, instruments=[pieces], cache=False, jobs=1)
    return time.thread_time() - start, pieces.count


def test_equal_layers_cost_little() -> None:
    few, many = blocks(4), blocks(24)
    _compiled(few)  # imports, and code that is compiled once per process
    pairs = [(_compiled(few), _compiled(many)) for _ in range(2)]
    assert {several[1] for _, several in pairs} == {one[1] for one, _ in pairs}, "equal kernels are compiled again"
    least = min(several[0] for _, several in pairs) / min(one[0] for one, _ in pairs)
    assert least < 2, f"6 times as many equal layers take {least:.1f} times as long"


@dataclass(frozen=True)
class _Look(rx.Pass):
    """Pass that records the number of processes that wait for code to compile."""

    name: ClassVar[str] = "test-look"
    found: ClassVar[list[int]] = []

    def run(self, op: Any) -> None:
        self.found.append(process_pool().idle_count())


@pytest.mark.parametrize(("count", "jobs", "expected"), [(2, 2, 0), (24, 1, 0), (24, 2, 2)])
def test_processes_are_there_when_a_large_module_is_lowered(
    count: int, jobs: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool()
    monkeypatch.setattr(native_code, "process_pool", lambda: pool)
    monkeypatch.setitem(globals(), "process_pool", lambda: pool)
    stages = rx.stages().insert_before("legalize", "look", _Look())
    rx.compile(blocks(count), pipeline=stages, cache=False, jobs=jobs)
    pool.end()
    assert _Look.found.pop() == expected


_MEMORY = """
import re, sys
import numpy
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.runtime.artifact import write_artifact

layers = int(sys.argv[1])
module = rx.Module()
with module.function("main", [rx.tensor((128, 1024))]) as f:
    (x,) = f
    for layer in range(layers):
        x = relax.nn.relu(relax.matmul(x, relax.const(numpy.full((1024, 1024), 1 / (layer + 999), "float32"))))
    f.returns(x)
rx.compile(module, cache=False, jobs=1).save(sys.argv[2])
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""
_LAYER_KILOBYTES = 4 * 1024


def test_memory_follows_the_weights(tmp_path: Any) -> None:
    """Check that memory has the model's weights, a copy in the layout that kernels read, and nothing else."""
    command = [sys.executable, "-c", _MEMORY]
    most = [int(subprocess.check_output([*command, str(layers), str(tmp_path / "m.rxa")])) for layers in (2, 22)]
    times = (most[1] - most[0]) / (20 * _LAYER_KILOBYTES)
    assert times < 2.3, f"weights are held {times:.1f} times"


_IMPORTS = """
import sys
import numpy
texts, before = [], set(sys.modules)
sys.addaudithook(lambda event, given: event == "compile" and given[1] == "<string>" and texts.append(given))
import relax_mlir as rx
from relax_mlir import relax
module = rx.Module()
with module.function("main", [rx.tensor(("n", 64))]) as f:
    f.returns(relax.exp(*f))
rx.compile(module, cache=False, jobs=1)
print(len(texts))
print("\\n".join(set(sys.modules) - before))
"""
#: Own modules, and texts that Python compiles for data classes, named tuples and annotations, tvm-ffi's included.
#: Python 3.11 has 603 and 1,814 of them, 20 and 330 for the units of the host's library; other versions differ a
#: little. `bench/compile_time.py --first` prints both.
_MOST_MODULES, _MOST_TEXTS = 607, 1900
_NEEDLESS = (
    "frontends.onnx frontends.script frontends.torch passes.graph.gradient_rules passes.graph.partition tools "
    "targets.c. targets.cuda targets.opencl targets.spirv.passes targets.vulkan "
    "targets.core.llvm_ir_text"
)


def test_imports_of_a_first_compilation() -> None:
    """Limit the imports of a first compilation: each module costs at least 0.3 ms, and each compiled text 0.1 ms."""
    texts, *found = subprocess.check_output([sys.executable, "-c", _IMPORTS], text=True).splitlines()
    own = [name.removeprefix("relax_mlir.") for name in found if name.startswith("relax_mlir.")]
    assert [name for name in own if name.startswith(tuple(_NEEDLESS.split()))] == []
    assert {"jax", "onnx", "yaml", "llvmlite", "multiprocessing", "scipy", "torch", "unittest"}.isdisjoint(found)
    assert not [name for name in found if name.endswith("dialects._llvm_ops_gen")], "classes that nothing asks for"
    assert len(own) <= _MOST_MODULES
    assert int(texts) <= _MOST_TEXTS
