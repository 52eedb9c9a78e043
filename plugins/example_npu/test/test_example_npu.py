# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen example_npu: accepted operators against the default path, its bytes, and refusals.

Situations of Apache TVM's test_example_npu.py.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from before_after import changed
from relax_mlir import relax
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.passes.core.external import external_modules
from relax_mlir.support.external_bytes import PartFunction, packed
from relax_mlir_example_npu.runtime import ExampleNpuRuntime, Instruction, programs_of

WHOLE = "relax-partition{codegens=example_npu}"


def floats(*shape: int) -> Any:
    return numpy.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


def const(*shape: int) -> Any:
    return relax.const(floats(*shape))


def built(body: Any, *shapes: Sequence[int | str], dtype: str = "float32") -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        f.returns(body(*f))
    return module


def agrees(body: Any, *shapes: Sequence[int | str], codegen: str = "example_npu", tolerance: float = 1e-4) -> int:
    """Compare with the default path, and return the number of operators on the processor."""
    module = built(body, *shapes)
    arrays = [floats(*(3 if isinstance(size, str) else size for size in shape)) for shape in shapes]
    journal = rx.Journal()
    program = rx.compile(module, partition=[codegen], strict_partition=True, journal=journal, opt_level=0)
    expected = numpy.from_dlpack(rx.compile(module, opt_level=0)["main"](*arrays))
    numpy.testing.assert_allclose(program["main"](*arrays), expected, rtol=tolerance, atol=tolerance)
    return sum(sum(fact["matched"].values()) for fact in journal.facts if fact["kind"] == "partition")


@pytest.mark.parametrize(
    ("weight", "attributes"),
    [
        ((4, 3, 3, 3), {}),
        ((4, 3, 3, 3), {"padding": 1}),
        ((4, 3, 3, 3), {"padding": [1], "strides": [2], "dilation": [2]}),
        ((5, 3, 2, 1), {"padding": (1, 0, 2, 1), "strides": (2, 1)}),
        ((2, 3, 3, 2), {"padding": (1, 2), "dilation": (2, 1), "strides": (1, 2)}),
    ],
)
@pytest.mark.parametrize("batch", [2, "n"])
def test_convolutions_with_what_follows(batch: Any, weight: Any, attributes: Any) -> None:
    def layer(x: Any) -> Any:
        y = relax.nn.conv2d(x, const(*weight), **attributes)
        return relax.nn.relu(relax.add(y, const(weight[0], 1, 1)))

    assert agrees(layer, (batch, 3, 9, 8)) == 3


def test_a_convolution_that_is_in_nhwc_already() -> None:
    def layer(x: Any) -> Any:
        return relax.nn.conv2d(x, const(3, 2, 3, 4), padding=1, data_layout="NHWC", kernel_layout="HWIO")

    assert agrees(layer, (2, 7, 6, 3)) == 1


@pytest.mark.parametrize("pool", [relax.nn.max_pool2d, relax.nn.avg_pool2d])
@pytest.mark.parametrize("attributes", [{"pool_size": 2, "strides": 2}, {"pool_size": (3, 2), "padding": (1, 0, 1, 1)}])
def test_pools(pool: Any, attributes: Any) -> None:
    """Divide means by the number of elements inside of the image."""
    assert agrees(lambda x: pool(x, **attributes), (2, 3, 9, 8)) == 1


def test_layers_and_sums() -> None:
    def body(x: Any) -> Any:
        hidden = relax.nn.relu(relax.add(relax.matmul(x, const(6, 4)), const(4)))
        return relax.add(relax.matmul(hidden, const(4, 4)), hidden)

    assert agrees(body, ("n", 6)) == 5


def test_layouts_meet_at_the_borders_alone() -> None:
    """Keep NHWC between a convolution and later operators: the image is permuted once at each border."""

    def body(x: Any) -> Any:
        for _ in range(2):
            x = relax.nn.relu(relax.nn.conv2d(x, const(3, 3, 3, 3), padding=1))
        return relax.nn.max_pool2d(x, pool_size=2)

    assert agrees(body, (1, 3, 8, 8)) == 5
    artifact = rx.compile(built(body, (1, 3, 8, 8)), partition=["example_npu"])._artifact
    (external,) = artifact.externals
    (program,) = programs_of(memoryview(external.data)).values()
    names = [each.name for each in program.steps]
    assert names == ["permute_dims", "conv2d", "relu", "conv2d", "relu", "max_pool2d", "permute_dims"]


def test_constants_at_half_precision() -> None:
    def body(x: Any) -> Any:
        return relax.matmul(x, const(64, 64))

    assert agrees(body, ("n", 64), codegen="example_npu{precision=f16}", tolerance=3e-2) == 1
    sizes = []
    for precision in ("f32", "f16"):
        program = rx.compile(built(body, ("n", 64)), partition=[f"example_npu{{precision={precision}}}"])
        sizes.append(len(program._artifact.externals[0].data))
    assert sizes[0] - sizes[1] == 64 * 64 * 2
    with pytest.raises(rx.RelaxError, match="option 'precision' expects one of f32, f16, got 'f8'"):
        rx.compile(built(body, ("n", 64)), partition=["example_npu{precision=f8}"], strict_partition=True)


@pytest.mark.parametrize(
    ("body", "shape", "dtype", "why"),
    [
        (lambda x: relax.nn.conv2d(x, const(4, 3, 1, 1)), (1, 3, 8, 8), "float32", "windows of 2 to 7, not 1 by 1"),
        (lambda x: relax.nn.conv2d(x, const(4, 3, 8, 8)), (1, 3, 8, 8), "float32", "windows of 2 to 7, not 8 by 8"),
        (lambda x: relax.nn.conv2d(x, const(3, 1, 3, 3), groups=3), (1, 3, 8, 8), "float32", "1 group, not 3"),
        (
            lambda x: relax.nn.max_pool2d(x, pool_size=2, strides=2, ceil_mode=True), (1, 3, 7, 7), "float32",
            "pools without ceil_mode",
        ),
        (
            lambda x: relax.nn.max_pool2d(x, pool_size=2, layout="NCHW4c"), (1, 2, 7, 7, 4), "float32",
            "blocked channels, as in layout NCHW4c",
        ),
        (lambda x: relax.add(x, x), (4,), "float64", "f32 tensors of known rank, not tensor<4xf64>"),
        (lambda x: relax.matmul(x, relax.add(x, x)), (4, 4), "float64", "is not a constant"),
        (lambda x: relax.tanh(x), (4,), "float32", "no pattern has relax.tanh"),
    ],
)  # fmt: skip
def test_operators_left_to_the_target_are_reported(body: Any, shape: Any, dtype: str, why: str) -> None:
    journal = rx.Journal()
    partition = rx.Partition(codegens=("example_npu",), explain=True)
    program = rx.compile(built(body, shape, dtype=dtype), partition=partition, journal=journal, opt_level=0)
    assert not program._artifact.externals
    assert why in rx.explanation(journal.facts)


def test_a_plan_by_cost_leaves_what_is_small() -> None:
    """Keep a small sum on the target: a call of the processor takes longer, but less than a large product."""

    def count(body: Any, *shapes: Any) -> int:
        partition = rx.Partition(codegens=("example_npu",), plan="cost")
        return len(external_modules(changed(built(body, *shapes), partition).operation))

    assert count(lambda x: relax.add(x, x), (4,)) == 0
    assert count(lambda x: relax.matmul(x, const(512, 512)), (512, 512)) == 1


def test_passes_on_its_functions_alone() -> None:
    def body(x: Any) -> Any:
        large = relax.nn.conv2d(x, const(2, 2, 3, 4), data_layout="NHWC", kernel_layout="HWIO")
        return relax.nn.conv2d(large, const(1, 1, 4, 2), data_layout="NHWC", kernel_layout="HWIO")

    layout = "relax-convert-layout{desired=relax.nn.conv2d:NHWC:OHWI},relax-fold-constant"
    module = changed(built(body, (1, 8, 8, 3)), f"{WHOLE},external{{codegen=example_npu}}({layout})")
    found = [op.opview.kernel_layout for op in operations_in(module.operation) if op.name == "relax.nn.conv2d"]
    assert sorted(found) == ["HWIO", "OHWI"]
    assert "permute_dims" not in str(module)


def test_programs_run_without_the_compiler(tmp_path: Path) -> None:
    path = tmp_path / "layer.rxa"
    rx.compile(built(lambda x: relax.matmul(x, const(4, 2)), ("n", 4)), partition=["example_npu"]).save(path)
    code = (
        "import sys, numpy, relax_mlir as rx\n"
        f"main = rx.runtime.load({str(path)!r})['main']\n"
        "print(*numpy.from_dlpack(main(numpy.ones((1, 4), 'float32')))[0], 'torch_mlir' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    *found, imported = done.stdout.split()
    assert imported == "False" and list(map(float, found)) == pytest.approx(floats(4, 2).sum(0), rel=1e-5)


def a_part() -> bytes:
    program = PartFunction([0], {1: numpy.arange(20, dtype="float32")}, [Instruction("add", {}, [0, 1], 2)], [2])
    return packed("example_npu", {"f": program})


def test_constants_are_used_without_a_copy() -> None:
    data = numpy.frombuffer(a_part(), "uint8")
    array = programs_of(memoryview(data))["f"].constants[1]
    assert numpy.shares_memory(array, data) and array.tolist() == list(range(20))
    place = numpy.empty(20, "float32")
    ExampleNpuRuntime().load(memoryview(data))["f"](numpy.ones(20, "float32"), place)
    assert place.tolist() == list(range(1, 21))


def test_bytes_that_are_not_whole() -> None:
    data, runtime = a_part(), ExampleNpuRuntime()
    assert runtime.requires(memoryview(data)) == ""
    for length in range(len(data)):
        with pytest.raises(rx.RelaxError, match=r"cut short|no bytes of the codegen 'example_npu'"):
            runtime.requires(memoryview(data)[:length])
    unknown = packed("example_npu", {"f": PartFunction([0], {}, [Instruction("fly", {}, [0], 1)], [1])})
    assert runtime.requires(memoryview(unknown)) == "the processor has no instruction fly"
