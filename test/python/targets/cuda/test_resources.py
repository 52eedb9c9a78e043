# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products, convolutions and attention keep their operands in registers, by the report of NVIDIA's assembler.

`suite.py gpu-code` checks the kernels of the exported models.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from assembler import needs_ptxas
from relax_mlir.targets.cuda.objects.arch import REGISTERS
from relax_mlir.targets.cuda.objects.cubin import resources
from relax_mlir.targets.gpu.emit.threads import STATIC_SHARED

import relax_mlir as rx
from relax_mlir import relax

pytestmark = needs_ptxas
ARCHS = ("sm_80", "sm_90a", "sm_100")
Build = Callable[..., Any]
Shape = tuple[int | str, ...]


def product(x: Any, w: Any, b: Any) -> Any:
    return relax.nn.gelu(relax.add(relax.matmul(x, w), b))


def wide(x: Any, w: Any) -> Any:
    return relax.matmul(x, w, out_dtype="int32")


def convolution(x: Any, w: Any) -> Any:
    return relax.nn.relu(relax.nn.conv2d(x, w, padding=(1, 1, 1, 1)))


def depthwise(x: Any, w: Any) -> Any:
    return relax.nn.conv2d(x, w, padding=(1, 1, 1, 1), groups=64)


def attention(query: Any, key: Any, value: Any) -> Any:
    return relax.nn.attention(query, key, value, causal_mask="TopLeft")


_HEADS: Shape = (2, "length", 8, 64)
#: By name: the element type, the shapes, the computation.
CASES: dict[str, tuple[str, tuple[Shape, ...], Build]] = {
    "rows": ("float32", ((256, 512), (512, 384), (384,)), product),
    "rows_halves": ("float16", ((256, 512), (512, 384), (384,)), product),
    "rows_bfloats": ("bfloat16", ((256, 512), (512, 384), (384,)), product),
    "rows_bytes": ("int8", ((256, 512), (512, 384)), wide),
    "any_rows": ("float32", (("n", 512), (512, 384), (384,)), product),
    "one_row": ("float32", ((1, 512), (512, 384), (384,)), product),
    "batches": ("float32", ((8, 64, 32), (8, 32, 64)), relax.matmul),
    "taps": ("float32", ((1, 64, 28, 28), (64, 64, 3, 3)), convolution),
    "taps_halves": ("float16", ((1, 64, 28, 28), (64, 64, 3, 3)), convolution),
    "taps_of_channels": ("float32", ((1, 64, 28, 28), (64, 1, 3, 3)), depthwise),
    # Of vit, where sm_80's assembler spilled.
    "many_columns": ("float32", ((1, 197, 768), (768, 3072), (3072,)), product),
    "heads": ("float32", ((1, 128, 8, 64),) * 3, attention),
    "heads_halves": ("float16", ((1, 128, 8, 64),) * 3, attention),
    "large_heads_halves": ("float16", ((1, 128, 4, 128),) * 3, attention),
    "largest_heads_bfloats": ("bfloat16", ((1, "length", 4, 256),) * 3, attention),
    "heads_of_any_length": ("float32", (_HEADS,) * 3, attention),
}
#: Cases that use matrix instructions of warps, and on sm_90a those of groups of four warps.
BY_WARPS = ("rows_halves", "rows_bfloats", "rows_bytes")
BY_GROUPS = ("rows_halves", "rows_bfloats", "heads_halves", "large_heads_halves", "largest_heads_bfloats")


@cache
def ptx_of(arch: str) -> str:
    """Compile all cases as one program, optimized independently of other tests."""
    module = rx.Module()
    for name, (dtype, shapes, build) in CASES.items():
        with module.function(name, [rx.tensor(shape, dtype) for shape in shapes]) as f:
            f.returns(build(*f))
    program = rx.compile(module, f"cuda{{arch={arch}}}", opt_level=3)
    return bytes(program._artifact.devices[0].data).decode().rstrip("\0")


def entries(text: str) -> dict[str, str]:
    """Return the kernels' code by name."""
    pieces = re.split(r"\.entry (\w+)\(", text)[1:]
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


@pytest.mark.parametrize("arch", ARCHS)
def test_nothing_spills(arch: str) -> None:
    text = ptx_of(arch)
    used = resources(text, arch)
    assert used.keys() == entries(text).keys()
    threads = {name: int(re.search(r"\.(?:req|max)ntid (\d+)", code)[1]) for name, code in entries(text).items()}  # type: ignore[index]
    for name, each in used.items():
        assert each.spills == 0 and not each.remarks, f"{name} for {arch}: {each}"
        assert each.registers * threads[name] <= REGISTERS, f"{name} for {arch}: no block has that many: {each}"
        assert each.shared <= STATIC_SHARED, f"{name} for {arch}: {each}"
    # Plans exist to read data once per block if many results need it.
    sharing = [name for name, each in used.items() if each.shared >= 4096]
    assert len(sharing) >= 8, f"for {arch} only these share memory: {sharing}"


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHS)
def test_warps_multiply(arch: str) -> None:
    """Use wgmma on sm_90a, and mma.sync elsewhere."""
    code = entries(ptx_of(arch)).values()
    by_groups = sum("wgmma" in each for each in code)
    assert by_groups + sum("mma.sync" in each for each in code) >= len(BY_WARPS)
    assert by_groups == (len(BY_GROUPS) if arch == "sm_90a" else 0)
