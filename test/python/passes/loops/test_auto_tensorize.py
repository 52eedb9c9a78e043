# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""auto_tensorize: finds the loops that an intrinsic fits, keeps results, and its effect can be edited as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from asynchronous_device import SRAM, SUMS, agrees_in_all_modes, device, registered
from c_programs import needs_compiler
from relax_mlir.emit import loops
from schedule_kernels import Kernel, agree, kernel

import relax_mlir as rx
from relax_mlir import relax, te
from relax_mlir.script import tir as T

pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def on_device() -> Iterator[None]:
    with registered():
        yield


def check(kernel: Kernel, sch: rx.Schedule, seed: int = 0) -> None:
    again = rx.Schedule(kernel.module(), trace=sch.trace)
    assert again.show() == sch.show()
    function = rx.compile(sch.mod)["main"]
    agrees_in_all_modes(lambda: agree(kernel, function, seed, sch.show()))


@pytest.mark.parametrize("stages", [0, 2, 3])
@pytest.mark.parametrize(
    ("name", "block", "runs"),
    [("matmul_relu", "Y", 4 * 8 * 6), ("matmul", "C", 6 * 9 * 6), ("convolution", "Y", 2 * 5 * 2 * 5 * 1 * 3)],
)
def test_products_and_convolutions(name: str, block: str, runs: int, stages: int) -> None:
    """Pad to whole runs, and choose the iters with the fewest runs."""
    sch = rx.Schedule(kernel(name).module())
    loop = sch.auto_tensorize(block, "device.product", "device.clear", stages=stages)
    assert "device.product" in sch.show() and f'sch.tensorize({loop.name}, "device.product")' in sch.trace
    check(kernel(name), sch)
    cleared = runs // {"matmul_relu": 6, "matmul": 6, "convolution": 15}[name]
    assert device().device_started(1) == runs + cleared


@pytest.mark.parametrize("seed", range(3))
def test_of_dynamic_sizes(seed: int) -> None:
    sch = rx.Schedule(kernel("open_matmul").module())
    sch.auto_tensorize("C", "device.product", "device.clear", stages=2)
    check(kernel("open_matmul"), sch, seed)


@pytest.mark.parametrize(("name", "copies"), [("matmul_relu", 2 * 2 * (2 * 3 + 1)), ("matmul", 3 * 3 * (2 * 3 + 1))])
def test_copies_for_several_runs(name: str, copies: int) -> None:
    """Tile 2 x 4 results, or as many as divide the size. A copy brings the operands of 2 steps of 4."""
    sch = rx.Schedule(kernel(name).module())
    sch.auto_tensorize(
        "Y" if name == "matmul_relu" else "C", "device.product", "device.clear", stages=2, runs=(2, 4, 2)
    )
    check(kernel(name), sch)
    assert device().device_started(0) == copies


def test_copies_for_several_runs_of_dynamic_sizes() -> None:
    sch = rx.Schedule(kernel("open_matmul").module())
    sch.auto_tensorize("C", "device.product", "device.clear", stages=2, runs=(2, 1, 2))
    check(kernel("open_matmul"), sch, 2)
    with pytest.raises(rx.RelaxError, match="expected runs of 3 numbers of at least 1"):
        rx.Schedule(kernel("open_matmul").module()).auto_tensorize("C", "device.product", runs=(2,))


def transposed(a: bool, b: bool, c: bool) -> rx.Module:
    """Return a product of 8 x 12 by 12 x 16 with some matrices transposed."""
    left = te.placeholder((12, 8) if a else (8, 12), name="A")
    right = te.placeholder((16, 12) if b else (12, 16), name="B")
    k = te.reduce_axis((0, 12), name="k")

    def sums(i: Any, j: Any) -> Any:
        i, j = (j, i) if c else (i, j)
        return te.sum((left[k, i] if a else left[i, k]) * (right[j, k] if b else right[k, j]), axis=k)

    return te.create_prim_func([left, right, te.compute((16, 8) if c else (8, 16), sums, name="C")])


@pytest.mark.parametrize("turned", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1), (1, 1, 0)])
def test_of_other_layouts(turned: tuple[int, int, int]) -> None:
    a, b, c = map(bool, turned)
    sch = rx.Schedule(transposed(a, b, c))
    sch.auto_tensorize("C", "device.product", "device.clear", stages=2)
    random = np.random.default_rng(0)
    left, right = (random.standard_normal(size).astype("float32") for size in ((8, 12), (12, 16)))
    function = rx.compile(sch.mod)["main"]

    def run() -> None:
        result = np.from_dlpack(function(*(np.ascontiguousarray(x.T) if t else x for x, t in ((left, a), (right, b)))))
        np.testing.assert_allclose(result.T if c else result, left @ right, rtol=1e-4, atol=1e-4)

    agrees_in_all_modes(run)


def _wide(cost: Any) -> None:
    @T.prim_func
    def wide(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
        for i, j, k in T.grid(4, 8, 4):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @rx.schedules.register_tensor_intrin("device.wide", wide, cost=cost)
    def emit(a: Any, b: Any, c: Any) -> None:
        loops.nest(
            [4, 8, 4],
            lambda i, j, k: loops.store(loops.load(c, i, j) + loops.load(a, i, k) * loops.load(b, k, j), c, i, j),
        )


@pytest.mark.parametrize(("cost", "chosen"), [(7, "wide"), (9, "product"), (lambda runs: 100 + 4 * runs, "wide")])
def test_the_cheapest_is_taken(cost: Any, chosen: str) -> None:
    _wide(cost)
    sch = rx.Schedule(kernel("matmul_relu").module())
    sch.auto_tensorize("Y", "device.product", "device.wide")
    assert f"device.{chosen}" in sch.show()
    assert ("device.sram" in sch.show()) == (chosen == "product")


LARGEST_SUMS = """
@T.prim_func
def largest_sums(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), Y: T.Buffer((8, 8), "float32")):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = T.max(Y[vi, vj], A[vi, vk] + B[vk, vj])
"""


def test_a_block_without_an_intrinsic_is_refused_with_reasons() -> None:
    sch = rx.Schedule(kernel("softmax").module())
    before = sch.show()
    with pytest.raises(rx.RelaxError, match=r"auto_tensorize\(S\): no intrinsic fits the block") as refused:
        sch.auto_tensorize("S", "device.product")
    assert "'device.product': the intrinsic has 2 inputs, 'S' has 1" in str(refused.value)
    sch = rx.Schedule(kernel("products_of_bytes").module())
    with pytest.raises(rx.RelaxError, match=r"the intrinsic's elements are f32, f32, f32, but 'C' has (u?i8|i16), "):
        sch.auto_tensorize("C", "device.product")
    sch = rx.Schedule(rx.Module.from_script(LARGEST_SUMS))
    with pytest.raises(rx.RelaxError, match=r"the intrinsic computes C\[vi, vj\] \+ A.*, but 'Y' computes T.max\(Y"):
        sch.auto_tensorize("Y", "device.product")
    with pytest.raises(rx.RelaxError, match=r"did you mean 'device\.product'"):
        sch.auto_tensorize("Y", "device.produkt")
    split = rx.Schedule(kernel("matmul_relu").module())
    split.split(split.get_loops("Y")[0], [None, 4])
    shown = split.show()
    with pytest.raises(rx.RelaxError, match="its loops have been split or moved"):
        split.auto_tensorize("Y", "device.product")
    assert split.show() == shown and before


def test_a_family_of_operators() -> None:
    """Compute all products of a target on the device by a rule of one line."""
    name = "device_rule"
    rx.register_target(rx.Target(name, parents=("llvm",), doc="A CPU with a device."))

    @rx.schedules.register_schedule(operator="relax.matmul", target=name)
    def on_the_device(function: Any, context: Any) -> Any:
        return context.tensorized(function, "device.product", "device.clear", stages=2)

    module = rx.Module()
    with module.function(
        "main", {"a": rx.tensor(("n", 12)), "b": rx.tensor((12, 10)), "c": rx.tensor((3, 10, 8))}
    ) as f:
        a, b, c = f
        f.returns(relax.matmul(relax.nn.relu(relax.matmul(a, b)), c))
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(size).astype("float32") for size in ((7, 12), (12, 10), (3, 10, 8))]
    function = rx.compile(module, target=name)["main"]

    def run() -> None:
        result = np.from_dlpack(function(*arrays))
        expected = np.maximum(arrays[0] @ arrays[1], 0) @ arrays[2]
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)

    agrees_in_all_modes(run)
    assert device().device_started(1) == (2 * 3 * 3 + 2 * 3) + (3 * 2 * 2 * 3 + 3 * 2 * 2)


def test_memories_that_are_not_the_device_s_stay() -> None:
    """Keep buffers that are already in the right memory."""
    sch = rx.Schedule(kernel("matmul_relu").module())
    sch.cache_read("Y", "A", SRAM)
    sch.auto_tensorize("Y", "device.product", "device.clear")
    assert sch.show().count(f'scope="{SRAM}"') == 2 and sch.show().count(f'scope="{SUMS}"') == 1
