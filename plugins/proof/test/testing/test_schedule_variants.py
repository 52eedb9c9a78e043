# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random schedules of kernels keep the bits, or are refused. All of them: 200 for each kernel."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from example_counts import DRAW, some
from relax_mlir import relax
from relax_mlir.dialects.tir.prim_func import prim_funcs_in
from relax_mlir.runtime import cpu, to_numpy
from relax_mlir_proof.check.options import parse
from relax_mlir_proof.interpreter.held_values import stored
from relax_mlir_proof.testing.random_schedules import changes, draw_schedule
from relax_mlir_proof.testing.schedule_variants import Draws, compare_schedules

TARGET = "llvm{numerics=same}"
pytestmark = pytest.mark.skipif(
    not {"avx2", "fma"} <= set(cpu.host_features()), reason="numerics=same needs a fused multiply-add"
)


def _quantized(x: Any, y: Any) -> Any:
    return relax.astype(relax.matmul(x, y, out_dtype="i32"), dtype="f32")


def _piece_of_attention(q: Any, k: Any) -> Any:
    return relax.exp(relax.matmul(relax.multiply(q, relax.const(numpy.float32(0.25))), k))


#: Operators, and types of their operands.
KERNELS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "matmul": (relax.matmul, [(24, 40), (40, 36)]),
    "matmul with an epilogue": (lambda x, y, b: relax.nn.relu(relax.matmul(x, y) + b), [(13, 100), (100, 20), (20,)]),
    "batched matmul": (relax.matmul, [(3, 9, 17), (3, 17, 16)]),
    "matmul of f64": (relax.matmul, [((9, 30), "f64"), ((30, 12), "f64")]),
    "quantized product": (_quantized, [((9, 32), "i8"), ((32, 20), "i8")]),
    "conv2d": (lambda x, w: relax.nn.conv2d(x, w, padding=1), [(1, 6, 9, 8), (8, 6, 3, 3)]),
    "depthwise conv2d": (
        lambda x, w: relax.nn.conv2d(x, w, padding=1, groups=8), [(2, 8, 9, 8), (8, 1, 3, 3)],
    ),
    "softmax": (relax.nn.softmax, [(6, 50)]),
    "layer_norm": (lambda x, g, b: relax.nn.layer_norm(x, g, b, axes=[-1]), [(6, 48), (48,), (48,)]),
    "sum of columns": (lambda x: relax.sum(x, axis=[0]), [(50, 24)]),
    "sum of rows": (lambda x: relax.sum(x, axis=[1]), [(24, 50)]),
    "max": (lambda x: relax.max(x, axis=[1]), [(12, 30)]),
    "avg_pool2d": (lambda x: relax.nn.avg_pool2d(x, pool_size=[3, 3], strides=[2, 2]), [(1, 4, 15, 15)]),
    "max_pool2d": (lambda x: relax.nn.max_pool2d(x, pool_size=[3, 3], strides=[2, 2]), [(1, 4, 15, 15)]),
    "gather": (lambda x, i: relax.take(x, i, axis=0), [(20, 24), ((7,), "i64")]),
    "elementwise": (lambda x, y: relax.tanh(x * y + x), [(12, 40), (12, 40)]),
    "piece of attention": (_piece_of_attention, [(4, 12, 16), (4, 16, 12)]),
}  # fmt: skip


def module_of(name: str) -> tuple[rx.Module, list[Any]]:
    """Return a kernel's module, and random arguments."""
    build, operands = KERNELS[name]
    types = [each if isinstance(each[0], tuple) else (each, "f32") for each in operands]
    module, generator = rx.Module(), numpy.random.default_rng(0)
    with module.function("main", [rx.tensor(shape, dtype) for shape, dtype in types]) as f:
        f.returns(build(*f))
    return module, [_elements(generator, *each) for each in types]


def _elements(generator: numpy.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype.startswith("i"):
        return generator.integers(0, 7, shape).astype(stored(dtype))
    return generator.normal(size=shape).astype(stored(dtype))


def notes_of(name: str, count: int, seed: int, target: str = TARGET) -> list[str]:
    """Compare random schedules of a kernel. Return the notes with the counts."""
    module, arguments = module_of(name)
    expected = to_numpy(rx.compile(module, TARGET, jobs=1)["main"](*arguments)).tobytes()

    def compare(words: str, program: rx.Executable) -> None:
        for threads in (1, 2):
            program.threads = threads
            assert to_numpy(program["main"](*arguments)).tobytes() == expected, f"{words}, threads={threads}"

    return list(compare_schedules(module, target, Draws(count, seed), compare))


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_random_schedules_keep_the_bits(name: str) -> None:
    notes = notes_of(name, some(200), int(DRAW or 0))
    print("\n".join(notes))
    assert all(re.match(r"schedules of @\w+: \d+ ", note) for note in notes)


def test_drawn_schedules_keep_the_bits() -> None:
    """Compare a few schedules of one kernel in each run."""
    name = random.Random(f"{DRAW} schedules").choice(sorted(KERNELS))
    notes_of(name, some(200), int(DRAW or 0) + 1)


def test_refused_schedules_are_counted() -> None:
    (note,) = notes_of("sum of rows", 6, 0)
    assert re.search(r"schedules of @sum: 6 refused for the order of a sum", note), note
    (note,) = notes_of("sum of rows", 6, 0, "llvm")
    assert re.search(r"schedules of @sum: 6 with another order that the program states", note), note


def test_other_bits_are_found_with_the_seed() -> None:
    report = rx.testing.check(TARGET, only=["relax.matmul f32"], same_bits=True, schedules=2, jobs=1)
    assert report.is_right and "schedules of @matmul: 2 with the same bits" in report.verdicts[0].reason
    module, _ = module_of("matmul")

    def compare(words: str, program: rx.Executable) -> None:
        raise AssertionError(words)

    with pytest.raises(AssertionError, match=r"schedule of @matmul, seed '3 matmul \d' \[.* = sch.get_block\("):
        list(compare_schedules(module, TARGET, Draws(9, 3), compare))


def test_schedules_are_drawn_again_by_their_seed() -> None:
    lowered = rx.Pipeline("relax-legalize-ops").run(module_of("matmul")[0])
    (function,) = prim_funcs_in(lowered.operation)
    traces = {str(draw_schedule(function, f"0 matmul {number}").trace) for number in (0, 1, 0, 1)}
    assert len(traces) == 2 and changes(draw_schedule(function, "0 matmul 0"))


def test_wrong_options_are_refused() -> None:
    with pytest.raises(rx.RelaxError, match="option --schedules needs --same-bits"):
        parse(["llvm", "--schedules=3"])
    with pytest.raises(rx.RelaxError, match="schedules are compared with same_bits=True only"):
        rx.testing.check("llvm", schedules=3)
