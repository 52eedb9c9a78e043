# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Capabilities of architectures, compared with NVIDIA's assembler."""

from __future__ import annotations

import pytest
from assembler import needs_ptxas
from relax_mlir.targets.core.machine import Machine
from relax_mlir.targets.core.registry import parse_target
from relax_mlir.targets.cuda.objects.arch import ARCHS, MMA, arch_of, find_arch
from relax_mlir.targets.cuda.objects.cubin import resources
from relax_mlir.targets.gpu.emit.threads import STATIC_SHARED

import relax_mlir as rx

# PTX's name of a type, its bits, the kind and bits of a register.
_TYPES = {
    "f16": ("f16", 16, "b32", 32), "bf16": ("bf16", 16, "b32", 32), "tf32": ("tf32", 32, "b32", 32),
    "i8": ("s8", 8, "b32", 32), "f8E4M3FN": ("e4m3", 8, "b32", 32), "f8E5M2": ("e5m2", 8, "b32", 32),
    "f32": ("f32", 32, "f32", 32), "i32": ("s32", 32, "b32", 32), "f64": ("f64", 64, "f64", 64),
}  # fmt: skip


def _program(arch: str, statements: str, ptx: int = 0) -> str:
    version = (ptx or ARCHS[arch].ptx) / 10
    return f".version {version}\n.target {arch}\n.address_size 64\n.visible .entry k()\n{{\n{statements}\nret;\n}}\n"


def _product(mma: MMA) -> str:
    """Return the instruction with the number of registers that each operand's elements fill in each thread."""
    declared, operands = [], []
    sizes = {"a": (mma.factors, mma.m * mma.k), "b": (mma.factors, mma.k * mma.n), "c": (mma.sums, mma.m * mma.n)}
    for name, (type_, elements) in sizes.items():
        _, bits, kind, register_bits = _TYPES[type_]
        count = elements * bits // Machine.warp // register_bits
        declared.append(f".reg .{kind} %{name}<{count}>;")
        operands.append(f"{{{', '.join(f'%{name}{index}' for index in range(count))}}}")
    a, b, c = operands
    sums, factors = _TYPES[mma.sums][0], _TYPES[mma.factors][0]
    shape = f"m{mma.m}n{mma.n}k{mma.k}"
    types = f"{sums}.{factors}.{factors}.{sums}"
    return "\n".join([*declared, f"mma.sync.aligned.{shape}.row.col.{types} {c}, {a}, {b}, {c};"])


@needs_ptxas
@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_90a", "sm_100", "sm_120"])
def test_products_of_matrices(arch: str) -> None:
    for mma in ARCHS[arch].mma:
        # Products of f8 came to sm_89 with PTX 8.4.
        assert resources(_program(arch, _product(mma), max(ARCHS[arch].ptx, 84)), arch), mma


@needs_ptxas
def test_products_that_older_devices_lack() -> None:
    newer = [mma for mma in ARCHS["sm_89"].mma if mma not in ARCHS["sm_86"].mma]
    assert len(newer) == 2
    for mma in newer:
        with pytest.raises(rx.RelaxError, match="ptxas rejects the PTX for sm_86"):
            resources(_program("sm_86", _product(mma), 84), "sm_86")


@needs_ptxas
def test_static_shared_memory() -> None:
    most = (
        ".shared .align 16 .b8 memory[{}];\n.reg .b32 %r;\nld.shared.b32 %r, [memory];\nst.shared.b32 [memory+4], %r;"
    )
    assert resources(_program("sm_80", most.format(STATIC_SHARED)), "sm_80")["k"].shared == STATIC_SHARED
    with pytest.raises(rx.RelaxError, match="ptxas rejects the PTX for sm_80"):
        resources(_program("sm_80", most.format(STATIC_SHARED + 16)), "sm_80")


def test_only_some_architectures_have_matrix_instructions() -> None:
    assert [name for name, arch in ARCHS.items() if arch.has_wgmma] == ["sm_90a"]
    assert [name for name, arch in ARCHS.items() if arch.has_tcgen05] == ["sm_100a", "sm_103a"]
    assert [name for name, arch in ARCHS.items() if not arch.has_tma] == ["sm_80", "sm_86", "sm_87", "sm_89"]
    assert all(STATIC_SHARED < arch.block_shared < arch.shared for arch in ARCHS.values())
    assert (find_arch("sm_90a").number, find_arch("sm_90a").is_specific) == (90, True)


def test_the_option() -> None:
    assert arch_of(parse_target("cuda")).name == "sm_80"
    assert arch_of(parse_target("cuda{arch=sm_120}")).name == "sm_120"
    with pytest.raises(rx.RelaxError, match=r"target 'cuda\{arch=sm90\}': there is no architecture 'sm90'; did you"):
        arch_of(parse_target("cuda{arch=sm90}"))
