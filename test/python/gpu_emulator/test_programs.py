# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole kernels from LLVM's back end: branches, loops, calls, tables, local memory, libdevice's functions."""

from __future__ import annotations

import ctypes
import importlib.util
from pathlib import Path
from typing import Any

import numpy
import pytest
from emulated import HEADER, Result, kernel, run
from gpu_emulator.driver import Checks
from gpu_emulator.program import make_program
from gpu_emulator.ptx import PtxError, parse

_PLACE = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define internal i32 @place() alwaysinline {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %m = mul i32 %c, %n
  %i = add i32 %m, %t
  ret i32 %i
}
"""


def _libdevice() -> bytes:
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        for found in Path(folder).glob("*/nvvm/libdevice/libdevice.10.bc"):
            return found.read_bytes()
    pytest.skip("libdevice is not installed (nvidia-nvvm)")


def from_llvm(text: str, level: int = 3, libdevice: bool = False, cpu: str = "sm_80") -> str:
    binding: Any = pytest.importorskip("llvmlite.binding")
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    module = binding.parse_assembly(text)
    module.triple = "nvptx64-nvidia-cuda"
    target = binding.Target.from_triple(module.triple)
    machine = target.create_target_machine(cpu=cpu, features="+ptx80", opt=level)
    module.data_layout = str(machine.target_data)
    if libdevice:
        functions = binding.parse_bitcode(_libdevice())
        functions.triple, functions.data_layout = module.triple, module.data_layout
        kept = {function.name for function in module.functions if not function.is_declaration}
        module.link_in(functions)
        for function in module.functions:
            if not function.is_declaration and function.name not in kept:
                function.linkage = "internal"
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=level))
    builder.getModulePassManager().run(module, builder)
    return str(machine.emit_assembly(module))


_COLLATZ = f"""{_PLACE}
define i32 @next(i32 %x) noinline {{
  %odd = and i32 %x, 1
  %is = icmp ne i32 %odd, 0
  br i1 %is, label %up, label %down
up:
  %a = mul i32 %x, 3
  %b = add i32 %a, 1
  ret i32 %b
down:
  %c = lshr i32 %x, 1
  ret i32 %c
}}
define ptx_kernel void @kernel(ptr %in, ptr %out, i32 %n) {{
entry:
  %i = call i32 @place()
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %start, label %end
start:
  %p = getelementptr i32, ptr %in, i32 %i
  %first = load i32, ptr %p
  br label %loop
loop:
  %x = phi i32 [%first, %start], [%y, %next]
  %k = phi i32 [0, %start], [%k1, %next]
  %done = icmp eq i32 %x, 1
  br i1 %done, label %store, label %next
next:
  %y = call i32 @next(i32 %x)
  %k1 = add i32 %k, 1
  %many = icmp eq i32 %k1, 100
  br i1 %many, label %store, label %loop
store:
  %r = phi i32 [%k, %loop], [-1, %next]
  %q = getelementptr i32, ptr %out, i32 %i
  store i32 %r, ptr %q
  br label %end
end:
  ret void
}}
"""


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("chunk", [1, 1 << 16])
def test_threads_go_their_own_ways(level: int, chunk: int) -> None:
    """Run loops of different lengths, two exits, a call that branches, and threads beyond the end."""
    start = numpy.random.default_rng(1).integers(1, 200, 300).astype(numpy.uint32)

    def steps(x: int) -> int:
        count = 0
        while x != 1:
            x, count = 3 * x + 1 if x % 2 else x // 2, count + 1
            if count == 100:
                return -1
        return count

    result = Result((300,), numpy.int32)
    checks = Checks(chunk_threads=chunk)
    text = from_llvm(_COLLATZ, level)
    assert "call" in text
    found = run(text, start, result, ctypes.c_int32(300), block=64, grid=5, checks=checks)[1]
    assert found.tolist() == [steps(int(x)) for x in start]


def test_tables_of_branches_and_local_memory() -> None:
    cases = "\n".join(f"i32 {case}, label %c{case}" for case in range(6))
    bodies = "\n".join(f"c{case}:\n  br label %join" for case in range(6))
    phi = ", ".join(f"[{value}, %c{case}]" for case, value in enumerate((11, 7, 5, 3, 2, 1)))
    text = from_llvm(
        f"""{_PLACE}
        define ptx_kernel void @kernel(ptr %in, ptr %out) {{
          %own = alloca [8 x i32]
          %i = call i32 @place()
          %p = getelementptr i32, ptr %in, i32 %i
          %x = load i32, ptr %p
          %slot = getelementptr i32, ptr %own, i32 %x
          store i32 %i, ptr %own
          store volatile i32 100, ptr %slot
          switch i32 %x, label %other [ {cases} ]
        {bodies}
        other:
          store volatile i32 55, ptr %own
          br label %join
        join:
          %v = phi i32 {phi}, [99, %other]
          %l = load volatile i32, ptr %own
          %s = add i32 %v, %l
          %q = getelementptr i32, ptr %out, i32 %i
          store volatile i32 %s, ptr %q
          ret void
        }}""",
        0,
    )
    assert "brx.idx" in text and ".local" in text
    x = (numpy.arange(64) % 8).astype(numpy.int32)
    found = run(text, x, Result((64,), numpy.int32), block=32, grid=2)[1]
    value = numpy.array([11, 7, 5, 3, 2, 1, 99, 99])[x]
    own = numpy.where(x == 0, 100, numpy.where(x >= 6, 55, numpy.arange(64)))
    assert (found == value + own).all()


_FUNCTIONS = {"exp": 2, "log": 2, "sin": 2, "tanh": 2, "erf": 2, "pow": 2, "rsqrt": 2, "atan": 2, "expm1": 2}


@pytest.mark.parametrize("name", list(_FUNCTIONS))
def test_functions_of_libdevice(name: str) -> None:
    scipy_special: Any = pytest.importorskip("scipy.special")
    two = name == "pow"
    arguments = "float %x, float %x" if two else "float %x"
    text = from_llvm(
        f"""{_PLACE}
        declare float @__nv_{name}f({"float, float" if two else "float"})
        define ptx_kernel void @kernel(ptr %in, ptr %out) {{
          %i = call i32 @place()
          %p = getelementptr float, ptr %in, i32 %i
          %x = load float, ptr %p
          %y = call float @__nv_{name}f({arguments})
          %q = getelementptr float, ptr %out, i32 %i
          store float %y, ptr %q
          ret void
        }}""",
        libdevice=True,
    )
    random = numpy.random.default_rng(2)
    x = (random.standard_normal(256) * 2.0 ** random.integers(-20, 20, 256)).astype("f4")
    x[:8] = [0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-40, 1e6, -1]
    found = run(text, x, Result((256,), numpy.float32), block=64, grid=4)[1]
    wide = x.astype("f8")
    functions: dict[str, Any] = {"erf": scipy_special.erf, "pow": lambda v: v**v, "rsqrt": lambda v: 1 / numpy.sqrt(v)}
    functions["atan"] = numpy.arctan
    with numpy.errstate(all="ignore"):
        expected = functions.get(name, getattr(numpy, name, None))(wide).astype("f4")
    assert (numpy.isnan(found) == numpy.isnan(expected)).all()
    good = numpy.isfinite(expected)
    assert (found[~good & ~numpy.isnan(found)] == expected[~good & ~numpy.isnan(found)]).all()
    ulps = numpy.abs(found[good].view("i4").astype("i8") - expected[good].view("i4"))
    assert (ulps[found[good] != expected[good]] <= 4).all()


# Tiles of 16 x 16 by 16 x 8, in two stages: ldmatrix loads the data of cp.async, and mma.sync multiplies it.
_STAGE = """
    add.u32 %r20, %r2, {offset}; add.u32 %r21, %r20, %r3;
    cp.async.cg.shared.global [%r21], [%d11+{source}], 16;
    setp.ge.u32 %p1, %r60, 16; @%p1 bra skip{stage};
    cp.async.cg.shared.global [%r21+512], [%d12+{right}], 16;
skip{stage}:
    cp.async.commit_group;"""
_USE = """
    cp.async.wait_group {left};
    BARRIER
    add.u32 %r22, %r2, {offset};
    and.b32 %r23, %r60, 15; shr.u32 %r24, %r60, 4; shl.b32 %r25, %r23, 5; shl.b32 %r26, %r24, 4;
    add.u32 %r27, %r22, %r25; add.u32 %r27, %r27, %r26;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r4, %r5, %r6, %r7}}, [%r27];
    shl.b32 %r28, %r23, 4; add.u32 %r29, %r22, %r28;
    ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {{%r8, %r9}}, [%r29+512];
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {{%r10, %r11, %r12, %r13}}, {{%r4, %r5, %r6, %r7}}, {{%r8, %r9}}, {{%r10, %r11, %r12, %r13}};"""
_GEMM = f""".shared .align 16 .b8 tile[2048]; mov.u32 %r2, tile; shl.b32 %r3, %r60, 4;
    shr.u32 %r14, %r60, 1; and.b32 %r15, %r60, 1;
    mul.wide.u32 %d20, %r14, 64; mul.wide.u32 %d21, %r15, 16; add.s64 %d11, %d1, %d20; add.s64 %d11, %d11, %d21;
    mul.wide.u32 %d22, %r60, 16; add.s64 %d12, %d2, %d22;
    mov.b32 %r10, 0; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;
    {_STAGE.format(stage=0, offset=0, source=0, right=0)}
    {_STAGE.format(stage=1, offset=1024, source=32, right=256)}
    {_USE.format(left=1, offset=0)}
    {_USE.format(left=0, offset=1024)}
    shr.u32 %r16, %r60, 2; and.b32 %r17, %r60, 3;
    mul.wide.u32 %d20, %r16, 32; mul.wide.u32 %d21, %r17, 8; add.s64 %d13, %d3, %d20; add.s64 %d13, %d13, %d21;
    st.global.v2.b32 [%d13], {{%r10, %r11}}; st.global.v2.b32 [%d13+256], {{%r12, %r13}};"""


def _product(text: str) -> tuple[Any, Any]:
    random = numpy.random.default_rng(5)
    a, b = random.standard_normal((16, 32)).astype("f2"), random.standard_normal((32, 8)).astype("f2")
    found = run(kernel(text, 3), a, b, Result((16, 8), numpy.float32))[-1]
    return found, a.astype("f8") @ b.astype("f8")


def test_a_product_on_tensor_cores() -> None:
    found, expected = _product(_GEMM.replace("BARRIER", "bar.warp.sync -1;"))
    assert numpy.abs(found - expected).max() < 1e-5


@pytest.mark.parametrize(
    ("old", "new", "kind"), [("BARRIER", "", "race"), ("wait_group 1", "wait_group 2", "missing wait")]
)
def test_a_product_with_a_fault(old: str, new: str, kind: str) -> None:
    with pytest.raises(Exception, match=kind):
        _product(_GEMM.replace(old, new).replace("BARRIER", "bar.warp.sync -1;"))


def test_generic_addresses_of_all_spaces_in_one_load() -> None:
    body = """.shared .align 4 .b8 tile[4]; .local .align 4 .b8 own[4];
        mov.u64 %d5, tile; cvta.shared.u64 %d5, %d5; mov.u64 %d6, own; cvta.local.u64 %d6, %d6;
        st.local.u32 [own], %r60; setp.eq.u32 %p1, %r60, 0; @%p1 st.shared.u32 [tile], 77; bar.sync 0;
        setp.lt.u32 %p2, %r60, 8; setp.lt.u32 %p3, %r60, 16;
        selp.b64 %d7, %d5, %d6, %p2; selp.b64 %d8, %d7, %d1, %p3;
        ld.u32 %r1, [%d8]; isspacep.shared %p4, %d8; selp.u32 %r2, 1000, 0, %p4; add.u32 %r3, %r1, %r2;
        mul.wide.u32 %d9, %r60, 4; add.s64 %d10, %d2, %d9; st.u32 [%d10], %r3;"""
    found = run(kernel(body, 2), numpy.array([5], "u4"), Result((32,), numpy.uint32))[1]
    assert found.tolist() == [1077] * 8 + list(range(8, 16)) + [5] * 16


def test_threads_that_spin_until_another_has_written() -> None:
    body = """setp.eq.u32 %p1, %r60, 0; @%p1 bra write;
        spin: ld.relaxed.gpu.global.u32 %r1, [%d1]; setp.eq.u32 %p2, %r1, 0; @%p2 bra spin; bra.uni end;
        write: st.release.gpu.global.u32 [%d1], 7; mov.u32 %r1, 1;
        end: mul.wide.u32 %d9, %r60, 4; add.s64 %d10, %d2, %d9; st.u32 [%d10], %r1;"""
    found = run(kernel(body, 2), numpy.zeros(1, "u4"), Result((32,), numpy.uint32))[1]
    assert found.tolist() == [1] + [7] * 31


def test_places_of_threads_and_blocks() -> None:
    body = """mov.u32 %r1, %tid.y; mov.u32 %r2, %ctaid.z; mov.u32 %r3, %nctaid.z; mov.u32 %r4, %ntid.y;
        mov.u32 %r5, %laneid; mov.u32 %r6, %warpid; mov.u32 %r9, %ctaid.y;
        mad.lo.u32 %r7, %r1, 16, %r60; mad.lo.u32 %r8, %r2, 48, %r7; mad.lo.u32 %r8, %r9, 96, %r8;
        mul.wide.u32 %d9, %r8, 16; add.s64 %d10, %d1, %d9; mad.lo.u32 %r10, %r3, 100, %r4;
        st.global.v4.u32 [%d10], {%r8, %r5, %r6, %r10};"""
    found = run(kernel(body), Result((288, 4), numpy.uint32), grid=(1, 3, 2), block=(16, 3))[0]
    thread = numpy.arange(288) % 48
    expected = numpy.stack([numpy.arange(288), thread % 32, thread // 32, numpy.full(288, 203)], axis=1)
    assert (found == expected).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no .version or no .target"),
        (HEADER + "kernel", "line 4: 'kernel' is nothing that PTX has here"),
        (kernel("bra nowhere;"), "no label 'nowhere'"),
        (kernel("mov.u32 %r99, 1;"), "'%r99' is no register"),
        (kernel("mov.u32 %h1, %r1;"), "too narrow"),
        (kernel("call.uni missing, ();"), "'missing' is called and not defined"),
        (kernel("tcgen05.wait::ld.sync.aligned;"), "does not know 'tcgen05.wait::ld.sync.aligned'"),
        (kernel("mov.u32 %r1"), "does not know 'mov.u32': mov.u32 %r1 ret"),
        (HEADER + ".visible .entry kernel() { ret }", "no ;"),
    ],
)
def test_text_that_is_refused(text: str, words: str) -> None:
    with pytest.raises(PtxError, match=words):
        make_program(parse(text), "kernel")


_CALLED = """
.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 result) twisted(.param .b32 given)
{
  .local .align 8 .b8 __local_depot0[8];
  .reg .b64 %rd<3>;
  .reg .b32 %r<4>;
  mov.b64 %rd1, __local_depot0;
  ld.param.b32 %r1, [given];
  st.local.b32 [%rd1+4], %r1;
  ld.local.b32 %r2, [%rd1+4];
  cvt.u64.u32 %rd2, %r2;
  { .reg .b32 tmp; mov.b64 {%r3, tmp}, %rd2; }
  { .reg .b32 tmp; add.s32 tmp, %r3, 1; mov.b32 %r3, tmp; }
  st.param.b32 [result], %r3;
  ret;
}
.visible .entry kernel(.param .u64 out)
{
  .reg .b64 %rd<4>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  { .reg .b32 tmp; .param .b32 p; .param .b32 q; st.param.b32 [p], %r1;
    call.uni (q), twisted, (p); ld.param.b32 tmp, [q]; st.global.b32 [%rd3], tmp; }
  ret;
}
"""


def test_called_functions_have_memory_and_scopes_of_their_own() -> None:
    (found,) = run(_CALLED, Result((32,), "int32"))
    numpy.testing.assert_array_equal(found, numpy.arange(1, 33))
