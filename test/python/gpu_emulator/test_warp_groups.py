# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wgmma in the emulator: results against numpy, and detection of errors that a device computes silently."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from emulated import Result, kernel, run
from gpu_emulator.faults import Fault

_LINE, _COLUMNS, _STEPS = 64, 8, 16
#: Of 64 rows and of 8 columns, lines of 64 halves: where they begin in shared memory.
_BYTES = (64 + _COLUMNS) * 128
#: Of descriptors: turned lines of 128 bytes, eight of which are 1024 bytes.
_KIND = 1 << 62 | 64 << 32 | 1 << 16
_BEFORE = ".extern .shared .align 1024 .b8 memory[];"
_FILL = "\n".join(
    f"ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%d10+{at}]; st.shared.v4.b32 [%d11+{at}], {{%r1, %r2, %r3, %r4}};"
    for at in range(0, _BYTES, 2048)
    if at + 2048 <= _BYTES
)
_PARTS = {
    "fill": f"""mul.wide.u32 %d9, %r60, 16; add.s64 %d10, %d1, %d9; mov.u64 %d12, memory; add.s64 %d11, %d12, %d9;
        {_FILL}
        setp.lt.u32 %p1, %r60, {_BYTES % 2048 // 16}; @!%p1 bra filled;
        ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%d10+{_BYTES // 2048 * 2048}];
        st.shared.v4.b32 [%d11+{_BYTES // 2048 * 2048}], {{%r1, %r2, %r3, %r4}};
        filled:""",
    "show": "fence.proxy.async.shared::cta;",
    "meet": "bar.sync 0;",
    "describe": f"""shr.u64 %d20, %d12, 4; or.b64 %d20, %d20, {_KIND};
        add.s64 %d21, %d20, 512; setp.eq.s32 %p2, 0, 0;""",
    "zero": "mov.b32 %f0, 0f3F800000; mov.b32 %f1, %f0; mov.b32 %f2, %f0; mov.b32 %f3, %f0;",
    "fence": "wgmma.fence.sync.aligned;",
    "multiply": "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d20, %d21, %p2, 1, 1, 0, 0;",
    "commit": "wgmma.commit_group.sync.aligned;",
    "wait": "wgmma.wait_group.sync.aligned 0;",
    "change": "",
    "store": "mul.wide.u32 %d9, %r60, 16; add.s64 %d13, %d2, %d9; st.global.v4.b32 [%d13], {%f0, %f1, %f2, %f3};",
}


def _swizzled(values: Any) -> Any:
    """Swizzle lines of 64 halves: the index of each 16-byte piece is XORed with the line's number modulo 8."""
    pieces = values.reshape(len(values), 8, 8)
    lines = numpy.arange(len(values))[:, None]
    return pieces[lines, numpy.arange(8)[None] ^ lines % 8].reshape(len(values), _LINE)


def multiplied(**changes: str) -> tuple[Any, Any]:
    """Return the result of a kernel with these parts, and the expected result: ones plus the product."""
    random = numpy.random.default_rng(11)
    rows, columns = (random.integers(-8, 8, (count, _LINE)).astype(numpy.float16) for count in (64, _COLUMNS))
    given = numpy.concatenate([_swizzled(rows), _swizzled(columns)])
    body = "\n".join({**_PARTS, **changes}.values())
    text = kernel(body, 2, _BEFORE).replace(".reg .pred", ".reg .b32 %f<8>; .reg .pred").replace("sm_80", "sm_90a")
    (_, found) = run(text, given, Result((128, 4), numpy.float32), block=128, shared=_BYTES, capability=(9, 0))
    thread = numpy.arange(128)[:, None]
    row = thread // 32 * 16 + thread % 32 // 4 + numpy.array([0, 0, 8, 8])
    wanted = 1 + rows[:, :_STEPS].astype(float) @ columns[:, :_STEPS].T.astype(float)
    return found, wanted[row, thread % 4 * 2 + numpy.array([0, 1, 0, 1])]


def test_a_product() -> None:
    found, wanted = multiplied()
    assert (found == wanted).all()
    found, _ = multiplied(wait=_PARTS["multiply"] + _PARTS["commit"] + _PARTS["wait"])
    assert (found == 2 * wanted - 1).all()
    found, _ = multiplied(describe=_PARTS["describe"].replace("eq.s32", "ne.s32"))
    assert (found == wanted - 1).all(), "sums that are not read"


@pytest.mark.parametrize(
    ("part", "text", "words"),
    [
        ("fill", _PARTS["fill"].replace("st.shared.v4.b32 [%d11+2048]", "// "), "it is unwritten"),
        ("show", "", "no fence.proxy.async behind it"),
        ("meet", "", "nothing orders the two"),
        ("fence", "", "no wgmma.fence is behind that"),
        ("wait", "", "reads a register of sums of a wgmma that was not waited for"),
        ("wait", "wgmma.wait_group.sync.aligned 1;", "reads a register of sums of a wgmma"),
        ("commit", "", "reads a register of sums"),
        ("commit", _PARTS["commit"] + "mov.b32 %f1, %f7;", "writes a register of sums"),
        ("commit", _PARTS["commit"] + "st.shared.b32 [%d11], %r1;", "a wgmma that was not waited for reads there"),
        ("describe", _PARTS["describe"] + "add.s64 %d21, %d21, 64;", "beyond shared memory"),
        ("describe", _PARTS["describe"] + "cvt.u64.u32 %d9, %r60; add.s64 %d20, %d20, %d9;", "different descriptors"),
        ("describe", _PARTS["describe"].replace(str(_KIND), "0"), "turned lines of 128 bytes alone"),
        ("multiply", f"setp.lt.u32 %p3, %r60, 7; @%p3 bra left; {_PARTS['multiply']} left:", "threads wait for"),
    ],
)
def test_faulty_warp_group_products_are_detected(part: str, text: str, words: str) -> None:
    with pytest.raises(Fault, match=words):
        multiplied(**{part: text})


#: The left factor of a lane in registers, from contiguous rows without a swizzle.
_OWN = """shr.u32 %r5, %r60, 5; mul.lo.u32 %r5, %r5, 16; and.b32 %r6, %r60, 31; shr.u32 %r7, %r6, 2;
    add.u32 %r5, %r5, %r7; mul.lo.u32 %r5, %r5, 32; and.b32 %r6, %r6, 3; mul.lo.u32 %r6, %r6, 4;
    add.u32 %r5, %r5, %r6; mul.wide.u32 %d9, %r5, 1; add.s64 %d13, %d1, %d9; add.s64 %d13, %d13, """
_LOAD = """; ld.global.b32 %w0, [%d13]; ld.global.b32 %w1, [%d13+256]; ld.global.b32 %w2, [%d13+16];
    ld.global.b32 %w3, [%d13+272];"""
_FROM_REGISTERS = (
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.{0}.{0} {{%f0, %f1, %f2, %f3}}, {{%w0, %w1, %w2, %w3}}, %d21, %p2, "
    "1, 1, 0;"
)


#: By another one's sums.
_WITH_SUMS = _FROM_REGISTERS.format("f16").replace("%w0", "%f0").replace("%f0, %f1, %f2, %f3", "%f4, %f5, %f6, %f7")


def multiplied_from_registers(dtype: Any = numpy.float16, **changes: str) -> tuple[Any, Any]:
    random = numpy.random.default_rng(12)
    rows, columns = random.integers(-8, 8, (64, _STEPS)), random.integers(-8, 8, (_COLUMNS, _LINE))
    whole = numpy.zeros((64, _LINE))
    given = [_swizzled(each.astype(dtype)).reshape(-1) for each in (whole, columns)]
    multiply = _FROM_REGISTERS.format("f16" if dtype is numpy.float16 else "bf16")
    parts = {**_PARTS, "zero": f"{_PARTS['zero']} {_OWN}{_BYTES}{_LOAD}", "multiply": multiply, **changes}
    body = "\n".join(parts.values())
    registers = ".reg .b32 %f<8>; .reg .b32 %w<8>; .reg .pred"
    text = kernel(body, 2, _BEFORE).replace(".reg .pred", registers).replace("sm_80", "sm_90a")
    data = numpy.concatenate([*given, rows.astype(dtype).reshape(-1)])
    result = Result((128, 4), numpy.float32)
    (_, found) = run(text, data, result, block=128, shared=_BYTES, capability=(9, 0))
    thread = numpy.arange(128)[:, None]
    row = thread // 32 * 16 + thread % 32 // 4 + numpy.array([0, 0, 8, 8])
    wanted = 1 + rows.astype(float) @ columns[:, :_STEPS].T.astype(float)
    return found, wanted[row, thread % 4 * 2 + numpy.array([0, 1, 0, 1])]


@pytest.mark.parametrize("dtype", [numpy.float16, ml_dtypes.bfloat16])
def test_a_factor_in_registers(dtype: Any) -> None:
    found, wanted = multiplied_from_registers(dtype)
    assert (found == wanted).all()


@pytest.mark.parametrize(
    ("part", "text", "words"),
    [
        ("commit", _PARTS["commit"] + "mov.b32 %w2, %r1;", "writes a register of factors of a wgmma"),
        ("commit", _PARTS["commit"] + "mov.b32 %r1, %w2;", "reads a register of factors of a wgmma"),
        ("fence", _PARTS["fence"] + "mov.b32 %w1, %w0;", "factors were written, and no wgmma.fence is behind"),
        ("commit", _WITH_SUMS, "factors of one wgmma are sums of another one"),
    ],
)
def test_faulty_products_of_registers_are_detected(part: str, text: str, words: str) -> None:
    with pytest.raises(Fault, match=words):
        multiplied_from_registers(**{part: text})


def test_factors_that_were_waited_for_may_be_overwritten() -> None:
    found, wanted = multiplied_from_registers(change="mov.b32 %w2, %r1;")
    assert (found == wanted).all()


def test_factors_may_be_overwritten_after_the_wait() -> None:
    found, wanted = multiplied(change="bar.sync 0; st.shared.b32 [%d11], %r1;")
    assert (found == wanted).all()
