# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wgmma in the emulator: beside numpy, and what a device would compute wrongly without a word is found."""

from __future__ import annotations

from typing import Any

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
    """Lines of 64 halves whose pieces of 16 bytes are turned by the line's number among eight."""
    pieces = values.reshape(len(values), 8, 8)
    lines = numpy.arange(len(values))[:, None]
    return pieces[lines, numpy.arange(8)[None] ^ lines % 8].reshape(len(values), _LINE)


def multiplied(**changes: str) -> tuple[Any, Any]:
    """What a kernel of these parts computes, and what it should: ones and the product."""
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
        ("fill", _PARTS["fill"].replace("st.shared.v4.b32 [%d11+2048]", "// "), "nobody has written there"),
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
def test_what_is_found(part: str, text: str, words: str) -> None:
    with pytest.raises(Fault, match=words):
        multiplied(**{part: text})


def test_what_was_waited_for_may_be_overwritten() -> None:
    found, wanted = multiplied(change="bar.sync 0; st.shared.b32 [%d11], %r1;")
    assert (found == wanted).all()
