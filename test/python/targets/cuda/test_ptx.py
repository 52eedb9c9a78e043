# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handwritten gpu.modules become PTX, which NVIDIA's assembler accepts for old and new devices."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from assembler import HAS_PTXAS, needs_ptxas
from relax_mlir.bindings.context import load_dialects
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.bindings.rewriting import replace_op
from relax_mlir.dialects.context import create_context
from relax_mlir.passes.core.base import Pass
from relax_mlir.support.disk_cache import DiskCache
from relax_mlir.targets.core import llvmlite
from relax_mlir.targets.cuda.device_passes import DEVICE_PASSES
from relax_mlir.targets.cuda.objects import cubin as cubin_module
from relax_mlir.targets.cuda.objects import ptx, wheels
from relax_mlir.targets.cuda.objects.arch import ARCHS
from relax_mlir.targets.cuda.objects.cubin import Resources, cubin, cubin_if_possible, resources
from relax_mlir.targets.cuda.objects.ptx import kernel_names, make_ptx

import relax_mlir as rx
from relax_mlir import relax

SHOWN_ARCHS = ("sm_80", "sm_90a", "sm_100")
FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i8", "i16", "i32", "i64")
_DIALECTS = "affine arith cf gpu linalg llvm math memref nvgpu nvvm scf vector".split()


def kernel(body: str, arguments: str = "%a: memref<4096xf32>", name: str = "k", threads: int = 128) -> str:
    size = f"known_block_size = array<i32: {threads}, 1, 1>"
    return f"gpu.func @{name}({arguments}) kernel attributes {{{size}}} {{\n{body}\ngpu.return\n}}\n"


def lowered(text: str, passes: tuple[str, ...] = DEVICE_PASSES) -> Any:
    """Return a module with the gpu.module as its first operation."""
    with create_context() as context:
        load_dialects(context, _DIALECTS)
        module = ir.Module.parse(f"gpu.module @kernels {{\n{text}\n}}")
        rx.Pipeline(passes).run(module)
    return module


def made(text: str, arch: str = "sm_80", opt_level: int = 3) -> str:
    module = lowered(text)
    return make_ptx(module.body.operations[0].operation, arch, opt_level)


def problem(text: str, passes: tuple[str, ...] = DEVICE_PASSES, arch: str = "sm_80") -> str:
    module = lowered(text, passes)
    with pytest.raises(rx.RelaxError) as caught:
        make_ptx(module.body.operations[0].operation, arch, 3)
    return str(caught.value)


def on_elements(dtype: str, statements: str, name: str) -> str:
    """Return a kernel on %x and %y from memory that stores %z."""
    memory = f"memref<4096x{dtype}>"
    body = f"""%i = gpu.global_id x
      %x = memref.load %a[%i] : {memory}
      %y = memref.load %b[%i] : {memory}
      {statements}
      memref.store %z, %b[%i] : {memory}"""
    return kernel(body, f"%a: {memory}, %b: {memory}", name)


def assembles(text: str) -> None:
    for arch in SHOWN_ARCHS:
        assert resources(made(text, arch), arch)


@needs_ptxas
def test_arithmetic_of_all_types() -> None:
    kernels = []
    for dtype in FLOATS:
        for op in "addf subf mulf divf remf maximumf minnumf".split():
            kernels.append(on_elements(dtype, f"%z = arith.{op} %x, %y : {dtype}", f"{op}_{dtype}"))
        chosen = f"%c = arith.cmpf olt, %x, %y : {dtype}\n%z = arith.select %c, %x, %y : {dtype}"
        kernels.append(on_elements(dtype, chosen, f"select_{dtype}"))
        whole = f"%w = arith.fptosi %x : {dtype} to i32\n%z = arith.sitofp %w : i32 to {dtype}"
        kernels.append(on_elements(dtype, whole, f"whole_{dtype}"))
    for dtype in INTEGERS:
        for op in "addi muli divsi remui shrsi maxsi floordivsi".split():
            kernels.append(on_elements(dtype, f"%z = arith.{op} %x, %y : {dtype}", f"{op}_{dtype}"))
        kernels.append(on_elements(dtype, f"%z = math.ctpop %x : {dtype}", f"ctpop_{dtype}"))
    kernels.append(on_elements("i1", "%z = arith.xori %x, %y : i1", "xor_i1"))
    assembles("".join(kernels))


@needs_ptxas
def test_functions_of_all_types() -> None:
    kernels = []
    for dtype in FLOATS:
        for op in "exp log sin tanh erf sqrt rsqrt floor trunc roundeven".split():
            kernels.append(on_elements(dtype, f"%z = math.{op} %x : {dtype}", f"{op}_{dtype}"))
        kernels.append(on_elements(dtype, f"%z = math.powf %x, %y : {dtype}", f"powf_{dtype}"))
        kernels.append(on_elements(dtype, f"%z = math.fma %x, %y, %x : {dtype}", f"fma_{dtype}"))
    assembles("".join(kernels))


@needs_ptxas
def test_vectors_reductions_atomics_and_shuffles() -> None:
    kernels = []
    for dtype in (*FLOATS, *INTEGERS):
        memory, kind = f"memref<4096x{dtype}>", "addf" if dtype in FLOATS else "addi"
        body = f"""%i = gpu.global_id x
          %v = vector.load %a[%i] {{alignment = 8 : i64}} : {memory}, vector<4x{dtype}>
          %w = arith.{kind} %v, %v : vector<4x{dtype}>
          %s = vector.reduction <add>, %w : vector<4x{dtype}> into {dtype}
          %o = memref.atomic_rmw {kind} %s, %b[%i] : ({dtype}, {memory}) -> {dtype}
          %g = memref.generic_atomic_rmw %b[%i] : {memory} {{
          ^bb0(%old: {dtype}):
            %new = arith.{kind} %old, %o : {dtype}
            memref.atomic_yield %new : {dtype}
          }}
          %lane = arith.constant 4 : i32
          %warp = arith.constant 32 : i32
          %other, %ok = gpu.shuffle xor %g, %lane, %warp : {dtype}
          memref.store %other, %b[%i] : {memory}
          vector.store %w, %a[%i] : {memory}, vector<4x{dtype}>"""
        kernels.append(kernel(body, f"%a: {memory}, %b: {memory}", f"vectors_{dtype}"))
    assembles("".join(kernels))


def test_a_load_is_as_wide_as_its_alignment_is_known() -> None:
    body = """%i = gpu.global_id x
      %v = vector.load %a[%i] {{{0}}} : memref<4096xf32>, vector<4xf32>
      vector.store %v, %b[%i] {{{0}}} : memref<4096xf32>, vector<4xf32>"""
    arguments = "%a: memref<4096xf32>, %b: memref<4096xf32>"
    known, unknown = (made(kernel(body.format(each), arguments)) for each in ("alignment = 16 : i64", ""))
    assert "ld.global.v4.b32" in known and "st.global.v4.b32" in known
    assert ".v2" not in unknown and ".v4" not in unknown and unknown.count("ld.global.b32") == 4


def test_blocks_share_memory_and_wait() -> None:
    body = """%i = gpu.global_id x
      %t = gpu.thread_id x
      %x = memref.load %a[%i] : memref<4096xf32>
      %s = memref.get_global @shared : memref<128xf32, 3>
      memref.store %x, %s[%t] : memref<128xf32, 3>
      gpu.barrier
      %last = arith.constant 127 : index
      %u = arith.subi %last, %t : index
      %v = memref.load %s[%u] : memref<128xf32, 3>
      %lane = arith.constant 4 : i32
      %warp = arith.constant 32 : i32
      %w, %ok = gpu.shuffle xor %v, %lane, %warp : f32
      memref.store %w, %a[%i] : memref<4096xf32>"""
    shared = 'memref.global "private" @shared : memref<128xf32, 3> {alignment = 16 : i64}\n'
    text = made(shared + kernel(body))
    order = [text.index(each) for each in ("st.shared.b32", "bar.sync", "ld.shared.b32", "shfl.sync.bfly.b32")]
    assert order == sorted(order)
    assert ".shared .align 16 .b8 shared[512]" in text and ".maxntid 128, 1, 1" in text
    if HAS_PTXAS:
        assert resources(text, "sm_80")["k"].shared == 512


@needs_ptxas
def test_tensor_cores() -> None:
    body = """%c0 = arith.constant 0 : index
      %t = gpu.thread_id x
      %s = memref.get_global @tile : memref<16x16xf16, 3>
      %token = nvgpu.device_async_copy %a[%t, %c0], %s[%c0, %c0], 8 {bypassL1}
        : memref<64x16xf16> to memref<16x16xf16, 3>
      %group = nvgpu.device_async_create_group %token
      nvgpu.device_async_wait %group {numGroups = 0 : i32}
      gpu.barrier
      %x = nvgpu.ldmatrix %s[%c0, %c0] {numTiles = 4 : i32, transpose = false} : memref<16x16xf16, 3> -> vector<4x2xf16>
      %y = nvgpu.ldmatrix %s[%c0, %c0] {numTiles = 2 : i32, transpose = true} : memref<16x16xf16, 3> -> vector<2x2xf16>
      %z = arith.constant dense<0.0> : vector<2x2xf32>
      %d = nvgpu.mma.sync (%x, %y, %z) {mmaShape = [16, 8, 16]}
        : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
      %e = vector.extract %d[1] : vector<2xf32> from vector<2x2xf32>
      vector.store %e, %b[%t] : memref<4096xf32>, vector<2xf32>"""
    tile = 'memref.global "private" @tile : memref<16x16xf16, 3> {alignment = 16 : i64}\n'
    text = tile + kernel(body, "%a: memref<64x16xf16>, %b: memref<4096xf32>", threads=32)
    words = made(text)
    for word in ("cp.async.cg.shared.global", "ldmatrix.sync.aligned", "mma.sync.aligned.m16n8k16"):
        assert word in words
    assembles(text)


def test_roots_and_quotients_are_rounded_correctly() -> None:
    """Round square roots and quotients correctly, and fuse multiplications and additions only on request, as on
    CPUs."""
    text = made(
        on_elements("f32", "%z = math.sqrt %x : f32", "root")
        + on_elements("f32", "%z = arith.divf %x, %y : f32", "quotient")
        + on_elements("f32", "%p = arith.mulf %x, %y : f32\n%z = arith.addf %p, %y : f32", "apart")
    )
    assert "sqrt.rn.f32" in text and "div.rn.f32" in text and "mul.rn.f32" in text and "add.rn.f32" in text
    assert "approx" not in text and "fma" not in text and ".ftz" not in text


def test_kernels_keep_their_names_and_nothing_of_libdevice_is_left() -> None:
    kernels = on_elements("f64", "%z = math.sin %x : f64", "one") + on_elements("f32", "%z = math.exp %x : f32", "two")
    module = lowered(kernels)
    assert kernel_names(module.body.operations[0].operation) == ["one", "two"]
    text = made(kernels)
    assert re.findall(r"\.visible \.entry (\w+)\(", text) == ["one", "two"]
    assert "__nv_" not in text and "reflect" not in text
    assert text == made(kernels)


@pytest.mark.parametrize("opt_level", range(4))
def test_each_level(opt_level: int) -> None:
    text = made(on_elements("f32", "%z = math.exp %x : f32", "k"), opt_level=opt_level)
    assert ".entry k(" in text and "__nv_" not in text


def test_registers_of_a_running_warp_group_are_not_moved() -> None:
    """Keep registers of a running group unchanged: at the lowest level they would be copied."""
    ask = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, $8, $8, 1, 1, 1, 0, 0;"
    sums = "!llvm.struct<(f32, f32, f32, f32)>"
    body = f"""%i = gpu.global_id x
      %x = memref.load %a[%i] : memref<4096xf32>
      %d = arith.constant 0 : i64
      %s = llvm.inline_asm has_side_effects "{ask}", "=f,=f,=f,=f,0,1,2,3,l" %x, %x, %x, %x, %d
        : (f32, f32, f32, f32, i64) -> {sums}
      %s0 = llvm.extractvalue %s[0] : {sums}
      %s1 = llvm.extractvalue %s[1] : {sums}
      %y = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,=f,0,1" %s0, %s1
        : (f32, f32) -> !llvm.struct<(f32, f32)>
      %z = llvm.extractvalue %y[0] : !llvm.struct<(f32, f32)>
      memref.store %z, %a[%i] : memref<4096xf32>"""
    text = made(kernel(body, "%a: memref<4096xf32>", "k"), "sm_90a", 0)
    assert "mov" not in text[text.index("wgmma.mma_async") : text.index("wgmma.wait_group")]


@pytest.mark.parametrize("arch", ARCHS)
def test_each_architecture(arch: str) -> None:
    text = made(on_elements("f32", "%z = arith.addf %x, %y : f32", "k"), arch)
    assert f".target {arch}\n" in text and f".version {ARCHS[arch].ptx / 10}\n" in text
    if HAS_PTXAS:
        assert resources(text, arch)["k"] == Resources(resources(text, arch)["k"].registers, 0, 0, 0)


def test_machine_code() -> None:
    text = made(on_elements("f32", "%z = arith.addf %x, %y : f32", "k"))
    try:
        code = cubin(text, "sm_80")
    except rx.RelaxError as error:
        pytest.skip(f"no machine code here: {error}")
    assert code.startswith(b"\x7fELF") and code == cubin(text, "sm_80")
    with pytest.raises(rx.RelaxError, match=r"NVIDIA's linker, AddData: .*mulx"):
        cubin(text.replace("add.rn.f32", "mulx.rn.f32"), "sm_80")
    assert cubin_if_possible(re.sub(r"\.version [\d.]+", ".version 99.0", text), "sm_80") is None, "it is older"


def test_machine_code_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text, cache = made(on_elements("f32", "%z = arith.addf %x, %y : f32", "k")), DiskCache(tmp_path)
    first = cubin_if_possible(text, "sm_80", cache)
    assert first is not None
    monkeypatch.setattr(cubin_module, "cubin", lambda *_: b"anew")
    assert cubin_if_possible(text, "sm_80", cache) == first
    assert cubin_if_possible(text, "sm_86", cache) == cubin_if_possible(text + "\n", "sm_80", cache) == b"anew"


@pytest.mark.parametrize(("opt_level", "formats"), [(0, ["ptx"]), (1, ["ptx", "cubin"])])
def test_optimized_programs_contain_machine_code(opt_level: int, formats: list[str]) -> None:
    """Include machine code unless optimization is off: PTX suffices for an experiment."""
    module = rx.Module()
    with module.function("main", [rx.tensor((8,))]) as f:
        f.returns(relax.exp(*f))
    target = "cuda{arch=sm_90}"
    codes = rx.compile(module, target, pipeline=rx.stages(target), opt_level=opt_level)._artifact.devices
    assert [each.format for each in codes] == formats
    assert {(each.arch, each.kernels) for each in codes} == {("sm_90", ("exp",))}
    assert all(bytes(each.data).startswith(b"\x7fELF") for each in codes[1:])


@needs_ptxas
def test_spills_are_reported() -> None:
    loads = "\n".join(f"%v{n} = memref.load %a[%c{n}] : memref<4096xf32>" for n in range(300))
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in range(300))
    stores = "\n".join(f"memref.store %v{n}, %b[%c{299 - n}] : memref<4096xf32>" for n in range(300))
    text = made(kernel(f"{constants}\n{loads}\ngpu.barrier\n{stores}", "%a: memref<4096xf32>, %b: memref<4096xf32>"))
    used = resources(text, "sm_80")["k"]
    assert used.spills > 0 and used.stack >= used.spills
    with pytest.raises(rx.RelaxError, match=r"ptxas rejects the PTX for sm_80: .*mulx"):
        resources(text.replace("ld.global", "mulx.global"), "sm_80")


def test_kernels_that_share_memory_may_have_all_registers() -> None:
    """Without it ptxas spills some of theirs, to have room for one more block."""
    global_ = 'memref.global "private" @shared : memref<128xf32, 3>\n'
    body = """%t = gpu.thread_id x
      %s = memref.get_global @shared : memref<128xf32, 3>
      %x = memref.load %a[%t] : memref<4096xf32>
      memref.store %x, %s[%t] : memref<128xf32, 3>
      gpu.barrier
      %c0 = arith.constant 0 : index
      %y = memref.load %s[%c0] : memref<128xf32, 3>
      memref.store %y, %a[%t] : memref<4096xf32>"""
    text = made(global_ + kernel(body, name="sharing") + kernel("", name="alone"))
    sharing, alone = (text.partition(f".entry {name}(")[2].partition("{")[0] for name in ("sharing", "alone"))
    assert ".minnctapersm 1" in sharing and ".maxntid 128" in sharing and ".minnctapersm" not in alone


# ---- the cache ----


def test_ptx_is_cached_except_for_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sine = on_elements("f32", "%z = math.sin %x : f32", "k")
    cache, optimized = DiskCache(tmp_path), []

    def optimize(*arguments: Any) -> None:
        optimized.append(arguments)
        llvmlite.optimize(*arguments)

    monkeypatch.setattr(ptx, "optimize", optimize)

    def ptx_of(text: str, arch: str = "sm_80", opt_level: int = 3) -> str:
        module = lowered(text)
        return make_ptx(module.body.operations[0].operation, arch, opt_level, cache)

    first = ptx_of(sine)
    assert first == made(sine) and len(optimized) == 2
    assert ptx_of(sine) == first and len(optimized) == 2
    # A change of the code's inputs makes another entry.
    others = [ptx_of(sine, "sm_90a"), ptx_of(sine, opt_level=0), ptx_of(sine.replace("math.sin", "math.cos"))]
    assert len({first, *others}) == 4 and len(optimized) == 5
    calls = "func.func private @mine(f32) -> f32\n"
    calls += on_elements("f32", "%z = func.call @mine(%x) : (f32) -> f32", "k")
    for _ in range(2):  # failures are not cached
        with pytest.raises(rx.RelaxError, match="which is not defined"):
            ptx_of(calls)


@dataclass(frozen=True)
class Exchange(Pass):
    """Pass that replaces an operation by another one in kernels only."""

    name: ClassVar[str] = "test-exchange"
    before: str = ""
    after: str = ""

    def run(self, op: Any) -> None:
        kernels = [each for each in operations_in(op) if each.name == "gpu.module"]
        for each in [inside for module in kernels for inside in operations_in(module) if inside.name == self.before]:
            with each.location, ir.InsertionPoint(each):
                types = [result.type for result in each.results]
                replace_op(each, [ir.Operation.create(self.after, results=types, operands=list(each.operands)).result])


def test_a_stage_that_does_something_else_makes_other_code(tmp_path: Path) -> None:
    """Check that passes and options of the last stages change the code, too: the cache's key is their output."""
    module = rx.Module()
    with module.function("main", [rx.tensor((64,)), rx.tensor((64,))]) as f:
        f.returns(rx.relax.add(*f))

    def code(*passes: tuple[str, Pass], target: str = "cuda", opt_level: int = 3) -> bytes:
        stages = rx.stages(target)
        for stage, each in passes:
            stages = stages.insert_after(stage, f"more-{stage}", [each])
        run = rx.compile(module, target=target, pipeline=stages, opt_level=opt_level, cache=tmp_path, jobs=1)
        return bytes(run._artifact.devices[0].data)

    first = code()
    others = [
        code(("threads", Exchange("arith.addf", "arith.subf"))),
        code(("device", Exchange("llvm.fadd", "llvm.fmul"))),
        code(target="cuda{arch=sm_90}"),
    ]
    assert b"add" in first and b"sub.rn.f32" in others[0] and b"mul.rn.f32" in others[1] and b"sm_90" in others[2]
    assert len({first, *others}) == 4 and code() == first


# ---- refusals ----


def test_other_dialects() -> None:
    add = on_elements("f32", "%z = arith.addf %x, %y : f32", "k")
    assert "operation 'gpu.func' is not in the dialects llvm or nvvm" in problem(add, ())
    product = """%i = gpu.global_id x
      %x = memref.load %a[%i] : memref<4096xf32>
      %o = memref.atomic_rmw mulf %x, %a[%i] : (f32, memref<4096xf32>) -> f32"""
    assert "operation 'memref.atomic_rmw' is not in the dialects" in problem(kernel(product))
    intrinsic = on_elements("f32", '%z = "tir.exp"(%x) : (f32) -> f32', "k")
    assert "operation 'tir.exp' is not in the dialects" in problem(intrinsic)


def test_no_kernel() -> None:
    assert "gpu.module 'kernels' has no kernel" in problem("")
    module = lowered("")
    with pytest.raises(rx.RelaxError, match=r"PTX requires a gpu\.module, got 'builtin\.module'"):
        make_ptx(module.operation, "sm_80", 3)


def test_functions_that_do_not_exist() -> None:
    calls = "func.func private @{0}(f32) -> f32\n" + on_elements("f32", "%z = func.call @{0}(%x) : (f32) -> f32", "k")
    mine = problem(calls.replace("{0}", "mine"))
    assert "a kernel calls 'mine', which is not defined: no GPU has such a function" in mine and ":7:" in mine
    assert "'__nv_expq', which is not defined: NVIDIA's libdevice has no" in problem(calls.replace("{0}", "__nv_expq"))


def test_vectors_of_bits_in_memory() -> None:
    text = on_elements("vector<4xi1>", "%z = arith.xori %x, %y : vector<4xi1>", "k")
    assert "a vector<4xi1> in memory: elements of less than a byte" in problem(text)


def test_unknown_architecture() -> None:
    message = problem(kernel(""), arch="sm_90b")
    assert "there is no architecture 'sm_90b'; did you mean 'sm_90" in message and "known: sm_80, sm_86" in message


def test_libdevice_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "_LIBDEVICE", ())
    monkeypatch.setattr(wheels, "_TOOLKITS", ())
    message = problem(on_elements("f32", "%z = math.exp %x : f32", "k"))
    assert (
        "'__nv_expf' is a function of NVIDIA's libdevice, which is not installed: pip install relax-mlir[cuda]"
        in message
    )
    assert ".entry k(" in made(on_elements("f32", "%z = arith.addf %x, %y : f32", "k"))


def test_libdevice_of_a_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    file = tmp_path / "nvvm" / "libdevice" / "libdevice.10.bc"
    file.parent.mkdir(parents=True)
    file.symlink_to(wheels.libdevice_path("a test"))
    monkeypatch.setattr(wheels, "_LIBDEVICE", ())
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert wheels.libdevice_path("a test") == file


def test_llvmlite_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    assert "PTX needs llvmlite: pip install relax-mlir[cuda]" in problem(kernel(""))


def test_the_linker_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "_NVJITLINK", ())
    monkeypatch.setattr(wheels, "_TOOLKITS", ())
    assert cubin_if_possible("", "sm_80") is None
    cubin_module._library.cache_clear()
    with pytest.raises(rx.RelaxError, match="needs NVIDIA's nvJitLink, which is not installed: pip install"):
        cubin("", "sm_80")
