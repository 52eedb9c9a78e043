# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters and results of a tensor program do not depend on the sizes of its buffers."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.frontends.script import effects
from relax_mlir.frontends.script.accesses import ProgramAccesses, visited
from relax_mlir.frontends.script.common.source import Source
from relax_mlir.frontends.script.names import Names
from relax_mlir.frontends.script.prim_func import ProgramReader

import relax_mlir as rx

BLOCK = "with T.block('C'):\n        vi = T.axis.spatial({N}, {i})\n        vj = T.axis.spatial({M}, {j})\n        "
#: name: (body for N times M elements, whether they come out whole)
PROGRAMS = {
    "one loop for all": ("for f in range({N} * {M}):\n    C[f // {M}, f % {M}] = A[f // {M}, 0]", True),
    "threads": (
        "for b in T.thread_binding({N} * {M} // 256, 'blockIdx.x'):\n"
        "    for t in T.thread_binding(256, 'threadIdx.x'):\n"
        "        C[(b * 256 + t) // {M}, (b * 256 + t) % {M}] = A[0, 0]",
        True,
    ),
    "set, then summed": (
        "for f in range({N} * {M}):\n    C[f // {M}, f % {M}] = T.float32(0)\n"
        "    for k in range(3):\n        C[f // {M}, f % {M}] = C[f // {M}, f % {M}] + A[0, k]",
        True,
    ),
    "backward": ("for i, j in T.grid({N}, {M}):\n    C[{N} - 1 - i, j] = A[i, j]", True),
    "read when it is there": (
        "for i, j in T.grid({N}, {M}):\n    C[{N} - 1 - i, j] = A[i, j]\n"
        "for i, j in T.grid({N}, {M} - 1):\n    C[i, j] = C[i, j + 1] + C[0, 0]",
        True,
    ),
    "tiles with a rest": (
        "for f, j in T.grid({N} * ({M} // 24 + 1), 24):\n    "
        + BLOCK.replace("{i}", "f // ({M} // 24 + 1)").replace("{j}", "f % ({M} // 24 + 1) * 24 + j")
        + "T.where(f % ({M} // 24 + 1) * 24 + j < {M})\n        C[vi, vj] = A[vi, vj]",
        True,
    ),
    "half of the rows": ("for f in range({N} // 2 * {M}):\n    C[f // {M}, f % {M}] = A[0, 0]", False),
    "every other column": ("for i, j in T.grid({N}, {M} // 2):\n    C[i, j * 2] = A[i, j]", False),
    "read before": ("for i, j in T.grid({N}, {M}):\n    C[i, j] = C[i, j] + A[i, j]", False),
    "a diagonal": ("for i, j in T.grid({N}, {M}):\n    C[i, i % {M}] = A[i, j]", False),
    "where the data say": (
        "for i, j in T.grid({N}, {M}):\n    if A[i, j] > T.float32(0):\n        C[i, j] = A[i, j]",
        False,
    ),
}


def inputs(body: str, n: int, m: int) -> list[str]:
    type_ = f'T.Buffer(({n}, {m}), "float32")'
    lines = "".join(f"    {line}\n" for line in body.replace("{N}", str(n)).replace("{M}", str(m)).split("\n"))
    module = rx.Module.from_script(f"@T.prim_func\ndef f(A: {type_}, C: {type_}):\n{lines}")
    (main,) = (line for line in str(module).splitlines() if "func.func @main" in line)
    return [name for name in "AC" if f'relax.name = "{name}"' in main]


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_do_not_decide_what_a_program_takes(name: str) -> None:
    body, is_whole = PROGRAMS[name]
    wanted = ["A"] if is_whole else ["A", "C"]
    assert inputs(body, 64, 256) == wanted
    assert inputs(body, 2048, 4096) == wanted


#: Extents of loops, and where they write to of 4 times 6 elements: all, unless something is changed.
PLACES = [
    ((24,), "x0 // 6", "x0 % 6"),
    ((4, 6), "x0", "x1"),
    ((6, 4), "3 - x1", "x0"),
    ((2, 6, 2), "x0 * 2 + x2", "x1"),
    ((2, 12), "x0 * 2 + x1 // 6", "x1 % 6"),
    ((3, 4, 2), "x1", "x2 * 3 + x0"),
    ((3, 8), "x1 // 2", "x0 + x1 % 2 * 3"),
    ((4, 2, 4), "x0", "x1 * 4 + x2"),
    ((2, 4, 6), "x1", "x2"),
]


@st.composite
def programs(draw: Any) -> str:
    """Draw nests that store, some with a later store to the same place, a block's init, or a condition."""

    def changed(text: str) -> str:
        """Replace a number or variable in the text, often."""
        words = re.split(r"(\w+)", text)
        if draw(st.integers(0, 2)) == 0:
            number = draw(st.integers(0, len(words) // 2 - 1)) * 2 + 1
            words[number] = draw(st.sampled_from(["x0", f"x{len(extents) - 1}", "0", "1", "2", "3", "6"]))
        return re.sub(r"(//|%) (0|x\d)", r"\1 2", "".join(words))

    lines = []
    for _ in range(draw(st.integers(1, 2))):
        extents, row, column = draw(st.sampled_from(PLACES))
        row, column = changed(row), changed(column)
        names = ", ".join(f"x{number}" for number in range(len(extents)))
        lines.append(f"for {names} in T.grid({', '.join(map(str, extents))}):")
        place = f"{row}, {column}"
        read = draw(st.sampled_from(["", "", f" + C[{place}]", " + C[0, 0]"]))
        kind = draw(st.sampled_from(["plain", "twice", "init", "where"]))
        if kind == "plain" or kind == "twice":
            lines.append(f"    C[{place}] = T.float32(1){read}")
            lines += [f"    C[{place}] = C[{changed(place)}] + T.float32(1)"] if kind == "twice" else []
            continue
        lines += ["    with T.block('b'):", f"        v = T.axis.spatial(24, {row})",
                  f"        w = T.axis.spatial(24, {column})"]  # fmt: skip
        if kind == "where":
            limit = draw(st.sampled_from([4, 5, 6, 8]))
            lines += [
                f"        T.where({draw(st.sampled_from([row, column]))} < {limit})",
                f"        C[v, w] = T.float32(1){read}",
            ]
        else:
            turn = changed(draw(st.sampled_from(["0", "x0", "x2" if len(extents) > 2 else "x1"])))
            lines += [f"        r = T.axis.reduce(24, {turn})", "        with T.init():",
                      f"            C[v, {draw(st.sampled_from(['w', 'w', 'r']))}] = T.float32(0)",
                      "        C[v, w] = C[v, w] + T.float32(1)"]  # fmt: skip
    return "\n".join(lines)


@draws(300)
@given(programs())
def test_writes_that_the_analysis_calls_whole_are_whole(body: str) -> None:
    """Visit each point: a write that the analysis calls whole must be whole. The converse need not hold."""
    shape = (4, 6)
    text = f"@T.prim_func\ndef f(C: T.Buffer({shape}, 'float32')):\n" + "".join(
        f"    {each}\n" for each in body.split("\n")
    )
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    reader = ProgramReader(Names(Source(text, "<test>"), {}), function)
    accesses = ProgramAccesses(reader.read(), reader.annotations).of_sizes({})
    is_inside = all(points.places is not None for points in visited(accesses, shape))
    if is_inside and effects.is_written_first(accesses, shape):
        assert effects._effect(shape, accesses) is effects.Effect.REPLACES
