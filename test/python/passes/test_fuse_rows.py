# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tir-fuse-rows: one loop over rows equals operations one after the other, for any number of threads."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from onnx_oracle import run_onnx
from relax_mlir.emit import linalg
from relax_mlir.emit.axis_reduction import Reduction, lowest
from relax_mlir.emit.numbers import maximum, select

import relax_mlir as rx
from relax_mlir import relax

#: A small cache, so that small tensors are worth it.
TARGET = "llvm{caches=2K,4K cores=2}"


def has_rows(module: rx.Module) -> bool:
    stages = rx.stages(TARGET)
    text = str(rx.lower(module, TARGET, pipeline=stages.until("plan")))
    return "tensor.insert_slice" in text and "scf.for" in text


def results(module: rx.Module, *arrays: Any) -> list[Any]:
    """Run with one thread and with three."""
    program = rx.compile(module, TARGET)
    found = []
    for program.threads in (1, 3):
        found.append(numpy.from_dlpack(program["main"](*arrays)))
    return found


def one(op: Any, *shapes: Any, **attributes: Any) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape) for shape in shapes]) as f:
        f.returns(op(*f, **attributes))
    return module


def normal(*shape: int, seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("f4")


@pytest.mark.parametrize(
    ("op", "onnx", "shapes", "ours", "theirs"),
    [
        (relax.nn.softmax, "Softmax", [(6, 5, 70)], {}, {"axis": -1}),
        (relax.nn.log_softmax, "LogSoftmax", [(37, 70)], {}, {"axis": -1}),
        (
            relax.nn.layer_norm,
            "LayerNormalization",
            [(3, 12, 70), (70,), (70,)],
            {"axes": [-1], "epsilon": 1e-5},
            {"axis": -1, "epsilon": 1e-5},
        ),
        (
            relax.nn.instance_norm,
            "InstanceNormalization",
            [(5, 4, 9, 11), (4,), (4,)],
            {"channel_axis": 1, "axes": [2, 3], "epsilon": 1e-5},
            {"epsilon": 1e-5},
        ),
    ],
    ids=["softmax", "log_softmax", "layer_norm", "instance_norm"],
)
def test_rows(op: Any, onnx: str, shapes: Any, ours: Any, theirs: Any) -> None:
    module = one(op, *shapes, **ours)
    assert has_rows(module)
    arrays = [normal(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    alone, shared = results(module, *arrays)
    numpy.testing.assert_allclose(alone, run_onnx(onnx, *arrays, **theirs)[0], rtol=2e-5, atol=2e-6)
    assert alone.tobytes() == shared.tobytes()


TEST = rx.Dialect("rows_test", doc="Of this file.")
TEST.op("below", "x", infer=lambda call: call.x, doc="Each row's distances to its largest element.")


@rx.register_legalize("rows_test.below")
def below(call: Any) -> Any:
    def body(x: Any, out: Any) -> Any:
        rows = Reduction(x, [2])
        most = rows.extreme(maximum, lowest("f32"), "f32")

        def distance(element: Any, largest: Any) -> Any:
            return select(linalg.index(2) <= linalg.index(1), element - largest, linalg.index(0).to("f32"))

        return rows.everywhere(distance, [rows.whole, rows.part(most)], out)

    return call.prim(body)


def test_positions_count_from_the_first_row() -> None:
    module = one(TEST.below, (3, 24, 30))
    assert has_rows(module)
    x = normal(3, 24, 30)
    behind = numpy.broadcast_to(numpy.arange(3, dtype="f4")[:, None, None], x.shape)
    expected = numpy.where(numpy.tri(24, 30, dtype=bool), x - x.max(2, keepdims=True), behind)
    for found in results(module, x):
        numpy.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "module",
    [
        one(relax.nn.softmax, (2, 70)),  # little
        one(relax.nn.softmax, (70, 40), axis=0),  # rows are contiguous
        one(relax.nn.softmax, ("n", 70)),  # how many is unknown
        one(relax.matmul, (64, 64), (64, 64)),
    ],
    ids=["little", "across", "unknown", "product"],
)
def test_what_has_no_rows(module: rx.Module) -> None:
    assert not has_rows(module)
