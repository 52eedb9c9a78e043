# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of the rules for GPUs, and a device's limits for the usual kernels."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from assembler import needs_ptxas
from gpu_products import Buffer, Product, muladd, zero
from relax_mlir.bindings.mlir import ir, string_value
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.bindings.rewriting import Decline
from relax_mlir.dialects.context import create_context
from relax_mlir.passes.kernels.schedule.planning import plan_each
from relax_mlir.passes.kernels.schedule.registry import ScheduleContext
from relax_mlir.targets.core.backend import ChosenTarget
from relax_mlir.targets.core.machine import Machine
from relax_mlir.targets.cuda.objects.cubin import resources
from relax_mlir.targets.gpu.plans.strip import plan_strip
from relax_mlir_spirv.abi import unpacked
from relax_mlir_spirv.device_kernels import block_needs

import relax_mlir as rx

FACTS = {"cores": 108, "shared_bytes": 48 << 10}
PLAIN = Machine("nvptx64", frozenset({"sm_70"}), 16, 255, **FACTS)  # type: ignore[arg-type]
WITH_UNITS = Machine("nvptx64", frozenset({"sm_80"}), 16, 255, instructions=("m16n8k16", "m16n8k32"), **FACTS)  # type: ignore[arg-type]
SUM = """^bb0(%x: f32, %y: f32, %o: f32):
  %p = arith.mulf %x, %y : f32
  %q = arith.addf %o, %p : f32
  linalg.yield %q : f32"""


def planned(text: str, machine: Machine) -> list[str]:
    """Return the plans of a function's operations, or the reasons why there are none."""
    with create_context() as context:
        module = ir.Module.parse(text)
        schedule = ScheduleContext("cuda", ChosenTarget("cuda"))
        schedule.__dict__["machine"] = machine
        (function,) = module.body.operations
        assert plan_each(function.operation, schedule) is None
        found = [each for each in operations_in(function.operation) if each.name == "linalg.generic"]
        return [
            string_value(each.attributes[name])
            for each in found
            for name in ("tir.plan", "tir.unplanned")
            if name in each.attributes and context is not None
        ]


def product(left: str, right: str, result: str, maps: Sequence[str], kinds: str, body: str) -> str:
    """Return a function that fills a result, sums products, and takes roots of them."""
    iterators = ", ".join('"parallel"' if kind == "p" else '"reduction"' for kind in kinds)
    named = ", ".join(f"affine_map<{each}>" for each in maps)
    rank = result.count("x")
    same = ", ".join(f"d{number}" for number in range(rank))
    pointwise = ", ".join(['"parallel"'] * rank)
    element = result.split("x")[-1]
    return f"""
    func.func @k(%a: tensor<{left}>, %b: tensor<{right}>, %out: tensor<{result}>) -> tensor<{result}> {{
      %none = arith.constant {zero(element)}
      %0 = linalg.fill ins(%none : {element}) outs(%out : tensor<{result}>) -> tensor<{result}>
      %1 = linalg.generic {{indexing_maps = [{named}], iterator_types = [{iterators}]}}
          ins(%a, %b : tensor<{left}>, tensor<{right}>) outs(%0 : tensor<{result}>) {{ {body} }} -> tensor<{result}>
      %2 = linalg.generic {{indexing_maps = [affine_map<({same}) -> ({same})>, affine_map<({same}) -> ({same})>],
                           iterator_types = [{pointwise}]}}
          ins(%1 : tensor<{result}>) outs(%out : tensor<{result}>) {{
        ^bb0(%x: {element}, %o: {element}):
          %s = arith.{"mulf" if element[0] == "f" else "muli"} %x, %x : {element}
          linalg.yield %s : {element} }} -> tensor<{result}>
      return %2 : tensor<{result}> }}"""


MATMUL = ("(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)")
BATCH = ("(b, m, n, k) -> (b, m, k)", "(b, m, n, k) -> (k, n)", "(b, m, n, k) -> (b, m, n)")
CONV = (
    "(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)",
    "(n, o, h, w, c, i, j) -> (o, c, i, j)",
    "(n, o, h, w, c, i, j) -> (n, o, h, w)",
)


def test_a_large_product_has_a_plan_with_epilogue() -> None:
    plans = planned(product("4096x4096xf32", "4096x4096xf32", "4096x4096xf32", MATMUL, "ppr", SUM), PLAIN)
    assert plans == [
        "start",
        "order 0 1 2; carried 1; vector 1 x 4; tile 0: 8, 1: 2; blocks 2: 8; threads 0: 16, 1: 16; shared 0 1; "
        "stages 2; rule product",
        "epilogue of 0",
    ]


def test_batches_without_a_gap_are_rows() -> None:
    plans = planned(product("8x512x256xf32", "256x512xf32", "8x512x512xf32", BATCH, "pppr", SUM), PLAIN)
    assert plans[1].startswith("order (0 1) 2 3; carried 1; vector 2 x 4; ")


def test_small_products_take_small_rectangles() -> None:
    """Choose small rectangles: two large ones would leave most cores without work."""
    (_, plan, _) = planned(product("256x512xf32", "512x256xf32", "256x256xf32", MATMUL, "ppr", SUM), PLAIN)
    assert "tile 0: 4, 1: 1; blocks 2: 16; threads 0: 8, 1: 8" in plan


def test_convolutions_have_places_for_columns_and_channels_for_rows() -> None:
    (_, plan, _) = planned(product("4x64x58x58xf32", "64x64x3x3xf32", "4x64x56x56xf32", CONV, "pppprrr", SUM), PLAIN)
    assert plan.startswith("order 1 (0 2 3) (4 5 6); carried 1; vector 0 x 4; ")


@pytest.mark.parametrize(
    "matrix,threads", [("4096x4096xf32", "threads 2: 32, 1: 8"), ("?x?xf32", "threads 2: 32, 1: 8")]
)
def test_a_vector_times_a_matrix(matrix: str, threads: str) -> None:
    left, right = ("4096xf32", "4096xf32") if matrix[0] == "4" else ("?xf32", "?xf32")
    maps = ("(b, n, k) -> (b, k)", "(b, n, k) -> (k, n)", "(b, n, k) -> (b, n)")
    (_, plan, _) = planned(product(f"1x{left}", matrix, f"1x{right}", maps, "ppr", SUM), WITH_UNITS)
    assert "threads 2: 32, 1: 8" in plan and plan.endswith("rule strip")


@pytest.mark.parametrize(
    "machine,instruction", [(WITH_UNITS, "instruction m16n8k16; rule matrix_units"), (PLAIN, "rule product")]
)
def test_plans_use_matrix_units_of_the_device(machine: Machine, instruction: str) -> None:
    text = product("512x256xf16", "256x512xf16", "512x512xf32", MATMUL, "ppr", muladd("f16", "f32"))
    assert planned(text, machine)[1].endswith(instruction)


def test_numbers_in_single_precision_stay_exact() -> None:
    text = product("512x256xf32", "256x512xf32", "512x512xf32", MATMUL, "ppr", SUM)
    assert planned(text, WITH_UNITS)[1].endswith("rule product")


def test_a_product_without_a_rule_states_the_reason() -> None:
    maps = ("(m, k) -> (m, k)", "(m, k) -> (m, k)", "(m, k) -> (m)")
    plans = planned(product("64x64xf32", "64x64xf32", "64xf32", maps, "pr", SUM), WITH_UNITS)
    assert plans[1] == "one of the two inputs has no rows or columns of its own"


# ---- on a device ----

LARGE = "order 0 1 2; carried 1; vector 1 x 4; tile 0: 8, 1: 2; blocks 2: 8; threads 0: 16, 1: 16; shared 0 1; stages 2"
UNITS = (
    "order 0 1 2; carried 1; vector 1 x 2; tile 0: 8, 1: 4; blocks 2: 32; threads 0: 16, 1: 16; shared 0 1; stages 2; "
    "instruction m16n8k16"
)


def large(factor: str, size: int = 1024) -> Product:
    buffers = [Buffer(factor, (size, size)), Buffer(factor, (size, size))]
    total = Buffer("f32", (size, size))
    return Product("; ".join(MATMUL), "ppr", buffers, total, muladd(factor, "f32"), zero("f32"))


def test_most_of_the_time_is_spent_multiplying() -> None:
    kernel = large("f32").compiled(LARGE)
    # Of a step 64 products: two vectors of rows and two of columns.
    assert kernel.instructions(r"fma\.rn\.f32") == 64
    assert kernel.instructions(r"ld\.shared\.v4") == 4 and not kernel.instructions(r"ld\.shared\.b32")
    assert kernel.instructions(r"ld\.global\.(nc\.)?v4") and not kernel.instructions(r"ld\.global\.(nc\.)?b32")


def test_matrix_units_get_four_tiles_at_once() -> None:
    kernel = large("f16").compiled(UNITS)
    assert kernel.instructions(r"mma\.sync") == 32 and kernel.instructions(r"ldmatrix\S*\.x4") == 12
    assert kernel.instructions(r"cp\.async\.cg\.shared\.global") == 8


@needs_ptxas
@pytest.mark.parametrize("factor,plan", [("f32", LARGE), ("f16", UNITS)])
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("size", [1024, 1001])
def test_registers_suffice(factor: str, plan: str, arch: str, size: int) -> None:
    (found,) = resources(large(factor, size).compiled(plan, arch).ptx, arch).values()
    assert found.spills == 0 and found.shared <= 48 << 10
    # The limit is that of one block: the assembler uses a few more registers where sizes do not fit.
    assert found.registers <= 176


def test_plans_that_do_not_fit_say_why() -> None:
    wrong = {
        LARGE.replace("threads 0: 16, 1: 16; ", ""): "the plan has no 'threads'",
        LARGE.replace("carried 1; ", ""): "the last loop of the order must be carried",
        LARGE.replace("blocks 2: 8", "blocks 0: 8"): "'blocks' must name the reduction, not loop 0",
        LARGE.replace("shared 0 1", "shared 0 2"): "operand 2 cannot be shared",
        LARGE.replace("stages 2", "stages 30"): "bytes of shared memory are more than a block may have: 232448",
        LARGE.replace("threads 0: 16", "threads 0: 128"): "2048 threads are more than a block may have: 1024",
        LARGE.replace("tile 0: 8", "tile 2: 2, 0: 8"): "the reduction cannot have a tile",
        LARGE + "; instruction m16n8k16": "no instruction sums products of f32 in f32",
        LARGE + "; instruction cooperative_f16_16x16": "'cooperative_f16_16x16' does not name cooperative matrices",
        LARGE + "; instruction cooperative_f16_16x16x16_32": "no instruction sums products of f32 in f32",
        LARGE + "; instruction m16n8k17": "no target has an instruction 'm16n8k17'",
        LARGE.replace("threads 0: 16, 1: 16", "threads 1: 16, 2: 16"): "require that threads do not share",
    }
    for plan, reason in wrong.items():
        with pytest.raises(Decline) as caught:
            large("f32").compiled(plan)
        assert reason in caught.value.reason
    with pytest.raises(Decline, match="multiples"):
        large("f16").compiled(UNITS.replace("tile 0: 8", "tile 0: 7"))
    with pytest.raises(
        Decline, match="'cooperative_f16_16x16x16_32' has threads 8 and 4 for rows and columns, or mult"
    ):
        large("f16").compiled(UNITS.replace("m16n8k16", "cooperative_f16_16x16x16_32"))


@pytest.mark.parametrize("turned", [False, True])
def test_few_rows_read_a_matrix_by_vectors(turned: bool) -> None:
    maps = ("(m, n, k) -> (m, k)", "(m, n, k) -> (n, k)" if turned else "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)")
    buffers = [Buffer("f32", (1, 256)), Buffer("f32", (64, 256) if turned else (256, 64))]
    case = Product("; ".join(maps), "ppr", buffers, Buffer("f32", (1, 64)), muladd("f32", "f32"), zero("f32"))
    kernel = case.compiled(lambda op: plan_strip(op, PLAIN))
    # For four steps: the vector's elements, and those of one column, or four rows of four columns.
    vectors = kernel.instructions(r"ld\.global\S*\.v4")
    assert vectors and vectors % (2 if turned else 5) == 0
    assert kernel.instructions(r"ld\.global") == vectors


@pytest.mark.parametrize("options", ["shared=16384", "shared=16384 threads=128", "shared=16384 subgroup=4"])
@pytest.mark.parametrize("images", [1, "n"])
def test_sums_of_few_rows_have_room_in_small_blocks(images: int | str, options: str) -> None:
    """Store all threads' sums of five rows in shared memory at the end."""
    module = rx.Module()
    with module.function("main", [rx.tensor((images, 128, 2, 5)), rx.tensor((5, 128, 1, 1))]) as f:
        f.returns(rx.relax.nn.conv2d(*f, padding=[0, 0, 0, 1]))
    executable = rx.compile(module, f"vulkan{{{options}}}")
    needs = [block_needs(each.module) for each in unpacked(executable._artifact.devices[0].data)[0]]
    assert 4096 < max(each.shared_bytes for each in needs) <= 16384
