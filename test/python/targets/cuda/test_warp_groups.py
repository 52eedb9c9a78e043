# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products by groups of four warps from swizzled shared memory: results against numpy, and no early reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from assembler import needs_ptxas
from example_counts import draws
from gpu_emulator.driver import EmulatedCuda
from gpu_emulator.tensors import CudaTensor, to_numpy
from gpu_products import Buffer, Kernel, Product, Rule, muladd, zero
from hypothesis import example, given
from hypothesis import strategies as st
from relax_mlir.bindings.rewriting import Decline
from relax_mlir.runtime.cuda.driver import use_library
from relax_mlir.support.errors import RelaxError
from relax_mlir.targets.core.machine import Machine
from relax_mlir.targets.cuda.objects.arch import find_arch
from relax_mlir.targets.cuda.objects.cubin import resources
from relax_mlir.targets.cuda.plans.warp_groups import plan_warp_groups

import relax_mlir as rx
from relax_mlir import relax

ARCH = find_arch("sm_90a")
MACHINE = Machine(
    "nvptx64", frozenset({ARCH.name}), 16, 255, shared_bytes=ARCH.block_shared, instructions=ARCH.instructions(False)
)
TYPES = [("f16", "f32"), ("bf16", "f32"), ("i8", "i32")]
#: By the columns of the instruction, the groups, rows of a lane, and stages.
PLAN = (
    "order 0 1 2; carried 1; vector 1 x 2; tile 0: {rows}, 1: {vectors}; blocks 2: {depth}; "
    "threads 0: {threads}, 1: 4; shared 0 1; stages {stages}; instruction wgmma_m64n{columns}k{steps}"
)


def groups(op: Any) -> Any:
    return plan_warp_groups(op, MACHINE)


def plan(columns: int = 64, warp_groups: int = 1, rows: int = 2, stages: int = 3, steps: int = 16) -> str:
    return PLAN.format(
        rows=rows,
        vectors=columns // 8,
        depth=4 * steps,
        threads=32 * warp_groups,
        stages=stages,
        columns=columns,
        steps=steps,
    )


def matmul(
    sizes: Sequence[int],
    factor: str = "f16",
    total: str = "f32",
    open_loops: str = "",
    turned: str = "",
    start: bool = True,
) -> Product:
    """Return a product. The inputs in `turned`, a and b, are transposed."""
    of = {name: (size,) if name in open_loops else size for name, size in zip("mnk", sizes, strict=True)}
    left, right = ("km" if "a" in turned else "mk"), ("nk" if "b" in turned else "kn")
    maps = "; ".join(f"(m, n, k) -> ({', '.join(axes)})" for axes in (left, right, "mn"))
    inputs = [Buffer(factor, [of[name] for name in axes]) for axes in (left, right)]
    output = Buffer(total, [of[name] for name in "mn"])
    return Product(maps, "ppr", inputs, output, muladd(factor, total), zero(total) if start else None)


def checked(case: Product, rule: Rule | str, turned: str = "", signs: str = "ss") -> Kernel:
    random = np.random.default_rng(7)
    arrays = [each.values(random) for each in case.buffers]
    kernel = case.compiled(rule, ARCH.name)
    assert kernel.instructions(r"wgmma\.mma_async") and not kernel.instructions(r"mma\.sync")
    found = kernel.run(*arrays)[2]
    left, right, before = (each.astype(np.float64) for each in arrays)
    left, right = (each % 256 if sign == "u" else each for each, sign in zip((left, right), signs, strict=True))
    left, right = (left.T if "a" in turned else left), (right.T if "b" in turned else right)
    wanted = left @ right + (0 if case.initial else before)
    np.testing.assert_allclose(
        found.astype(np.float64), wanted, rtol=0, atol=1e-5 * max(1.0, float(np.abs(wanted).max()))
    )
    return kernel


@pytest.mark.parametrize("factor,total", TYPES)
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize("sizes", [(64, 64, 384), (70, 83, 150)], ids=["even", "odd"])
def test_inputs_that_lie_either_way(factor: str, total: str, turned: str, sizes: Sequence[int]) -> None:
    """Load through registers where adjacent elements cannot be copied."""
    text = plan(steps=32 if factor == "i8" else 16)
    kernel = checked(matmul(sizes, factor, total, turned=turned), text, turned)
    if sizes[0] == 64:
        assert bool(kernel.instructions(r"cp\.async\.cg")) == (factor != "i8" or turned == "b")


@pytest.mark.parametrize(
    "chosen,size",
    [
        ({"columns": 256, "warp_groups": 2, "stages": 4}, 128),
        ({"columns": 128, "warp_groups": 2, "rows": 4}, 256),
        ({"columns": 64, "warp_groups": 3, "stages": 1}, 192),
        ({"columns": 64, "stages": 2}, 64),
        ({"columns": 128, "stages": 5}, 64),
    ],
)
@pytest.mark.parametrize("turned", ["", "ab"])
def test_all_shapes(chosen: dict[str, int], size: int, turned: str) -> None:
    """Several groups of warps, rows of several instructions, as many stages as there may be."""
    checked(matmul((size, 256, 448), turned=turned, start=False), plan(**chosen), turned)


def test_other_types_have_all_shapes() -> None:
    checked(matmul((128, 256, 512), "i8", "i32", turned="b"), plan(256, 2, steps=32), "b")
    checked(matmul((256, 128, 256), "bf16"), plan(128, 2, 4))


@pytest.mark.parametrize("signs", ["su", "us", "uu"])
def test_bytes_without_sign(signs: str) -> None:
    case = matmul((40, 72, 144), "i8", "i32", turned="b")
    case.body = muladd("i8", "i32", signs)
    checked(case, groups, "b", signs)


@given(
    st.tuples(st.integers(2, 100), st.integers(2, 100), st.integers(2, 200)),
    st.sets(st.sampled_from("mnk")),
    st.sampled_from(["", "a", "b", "ab"]),
    st.booleans(),
    st.sampled_from(TYPES),
)
@example((50, 50, 70), set("mnk"), "a", False, TYPES[0])
@draws(8)
def test_any_sizes(
    sizes: Sequence[int], open_loops: set[str], turned: str, start: bool, types: tuple[str, str]
) -> None:
    text = plan(steps=32 if types[0] == "i8" else 16)
    checked(matmul(sizes, *types, "".join(sorted(open_loops)), turned, start), text, turned)


def test_convolutions() -> None:
    loops = "(n, h, w, o, i, j, c)"
    maps = f"{loops} -> (n, h + i, w + j, c); {loops} -> (i, j, c, o); {loops} -> (n, h, w, o)"
    inputs = [Buffer("f16", (1, 10, 9, 16)), Buffer("f16", (3, 3, 16, 40))]
    case = Product(maps, "pppprrr", inputs, Buffer("f32", (1, 8, 7, 40)), muladd("f16", "f32"), zero("f32"))
    arrays = [each.values(np.random.default_rng(3)) for each in case.buffers]
    kernel = case.compiled(groups, ARCH.name)
    images, filters = (each.astype(np.float64) for each in arrays[:2])
    wanted = sum(images[:, i : i + 8, j : j + 7] @ filters[i, j] for i in range(3) for j in range(3))
    np.testing.assert_allclose(kernel.run(*arrays)[2], wanted, atol=1e-3)
    assert kernel.instructions(r"wgmma\.mma_async") and kernel.instructions(r"cp\.async\.cg")


# ---- plans ----


@pytest.mark.parametrize(
    "rows,columns,threads,instruction",
    [
        (64, 64, 32, "wgmma_m64n64k16"),
        (128, 4096, 64, "wgmma_m64n64k16"),
        (192, 4096, 32, "wgmma_m64n128k16"),
        (256, 4096, 64, "wgmma_m64n128k16"),
        (512, 4096, 64, "wgmma_m64n256k16"),
    ],
)
def test_few_rectangles_are_smaller(rows: int, columns: int, threads: int, instruction: str) -> None:
    """Choose smaller rectangles if most cores had no work otherwise. Each fits the instruction."""
    chosen = matmul((rows, columns, 128)).compiled(groups, ARCH.name).plan
    assert chosen.instruction == instruction and chosen.threads == ((0, threads), (1, 4)) and chosen.stages == 4


def test_plans_that_do_not_fit_say_why() -> None:
    case = matmul((64, 64, 128))
    shape = "has a multiple of 32 threads for rows, 4 for columns"
    wrong = {
        plan().replace("threads 0: 32", "threads 0: 16"): shape,
        plan().replace("tile 0: 2", "tile 0: 3"): shape,
        plan().replace("blocks 2: 64", "blocks 2: 32"): "blocks of 64 steps",
        plan().replace("m64n64", "m64n128"): "128 columns in all",
        plan(steps=32): "no instruction sums products of f16 in f32",
        plan().replace("m64n64k16", "m64n72k16"): "no target has an instruction 'wgmma_m64n72k16'",
    }
    for text, reason in wrong.items():
        with pytest.raises(Decline) as caught:
            case.compiled(text, ARCH.name)
        assert reason in caught.value.reason
    for sizes in ((16, 64, 128), (64, 16, 128), (64, 64, 32)):
        with pytest.raises(Decline, match="mostly empty"):
            matmul(sizes).compiled(groups, ARCH.name)
    for open_loops, columns, types in (("n", 64, TYPES[0]), ("", 76, TYPES[0]), ("", 64, TYPES[2])):
        with pytest.raises(Decline, match="copies of single elements are slower"):
            matmul((64, columns, 128), *types, open_loops).compiled(groups, ARCH.name)
    with pytest.raises(Decline, match="no instruction sums products of f32"):
        matmul((64, 64, 128), "f32").compiled(groups, ARCH.name)


@needs_ptxas
@pytest.mark.parametrize("factor,total", TYPES)
@pytest.mark.parametrize("sizes", [(4096, 4096, 4096), (4001, 4008, 1040)])
def test_sums_stay_in_registers_without_waits(factor: str, total: str, sizes: Sequence[int]) -> None:
    kernel = matmul(sizes, factor, total, turned="b" if factor == "i8" else "").compiled(groups, ARCH.name)
    assert str(kernel.plan.instruction).startswith("wgmma_m64n256k")
    (found,) = resources(kernel.ptx, ARCH.name).values()
    assert found.spills == 0 and not found.remarks, found


@needs_ptxas
def test_serialized_products_are_reported() -> None:
    ptx = matmul((256, 256, 4096)).compiled(plan(), ARCH.name).ptx
    wait = "wgmma.wait_group.sync.aligned 1;"
    register = ptx.partition("m64n64k16.f32.f16.f16 {")[2].partition(",")[0]
    early = ptx.replace(wait, f"add.f32 {register}, {register}, {register}; {wait}")
    (found,) = resources(early, ARCH.name).values()
    assert found.remarks and re.search("wgmma|GMMA", found.remarks[0]), "assemblers of CUDA 13.0 call it GMMA"


# ---- programs ----


def product_of(arch: str, rows: int, columns: int, steps: int, **options: Any) -> rx.Executable:
    module = rx.Module()
    with module.function("main", [rx.tensor((rows, steps), "float16"), rx.tensor((steps, columns), "float16")]) as f:
        f.returns(relax.matmul(*f))
    return rx.compile(module, f"cuda{{arch={arch}}}", **options)


def test_other_devices_multiply_by_warps() -> None:
    for arch, name in {"sm_80": "mma.sync", "sm_90": "mma.sync", "sm_90a": "wgmma", "sm_100": "mma.sync"}.items():
        code = bytes(product_of(arch, 256, 256, 256)._artifact.devices[0].data).decode()
        assert name in code and ("wgmma" in code) == (name == "wgmma"), arch


@pytest.mark.parametrize("arch,capability", [("sm_80", (8, 0)), ("sm_90a", (9, 0)), ("sm_86", (8, 6))])
def test_launches_ask_for_more_shared_memory(arch: str, capability: tuple[int, int]) -> None:
    """Request more than 48 KB at the launch and at loading. The driver refuses one without the other."""
    random = np.random.default_rng(5)
    arrays = [
        random.integers(-8, 8, (rows, columns)).astype(np.float16) for rows, columns in ((1024, 128), (128, 1024))
    ]
    program = product_of(arch, 1024, 1024, 128)
    assert ".extern .shared" in bytes(program._artifact.devices[0].data).decode()
    library = EmulatedCuda(capability=capability)
    with use_library(library):
        found = to_numpy(library, program["main"](*(CudaTensor(library, each) for each in arrays)))
    library.check()
    np.testing.assert_allclose(found.astype(float), arrays[0].astype(float) @ arrays[1].astype(float), rtol=1e-3)


def test_more_than_a_device_has_is_refused() -> None:
    """Refuse the plan on other devices than sm_90a."""
    large = (
        "order 0 1 2; carried 1; vector 1 x 2; tile 0: 8, 1: 4; blocks 2: 64; threads 0: 16, 1: 16; "
        "shared 0 1; stages 4; instruction m16n8k16"
    )
    case = matmul((256, 256, 256))
    assert case.compiled(large, "sm_90a").shared > 99 << 10
    with pytest.raises(RelaxError, match=r"kernel 'k' needs \d+ bytes of shared memory, a block may have 101376"):
        case.compiled(large, "sm_86")
