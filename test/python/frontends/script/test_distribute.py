# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops around several blocks in scripts: blocks that schedules find, and unchanged loops if a change were visible."""

import numpy
import pytest

import relax_mlir as rx

RNG = numpy.random.default_rng(9)
HEAD = (
    'A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")',
    'B = T.alloc_buffer((16, 8))',
)  # fmt: skip
DYNAMIC = (
    "a: T.handle, c: T.handle",
    "n = T.int64()\nA = T.match_buffer(a, (n, 8))\nC = T.match_buffer(c, (n, 8))\nB = T.alloc_buffer((n, 8))",
)


def script(body, head=HEAD):
    parameters, allocations = head
    lines = (*allocations.split("\n"), *body.split("\n"))
    return f"@T.prim_func\ndef f({parameters}):\n" + "".join(f"    {line}\n" for line in lines)


def block(name, indices, *statements, indent=1, kinds="SS"):
    variables = ", ".join(f"v{index}" for index in indices)
    lines = [
        f'with T.block("{name}"):',
        f'    {variables} = T.axis.remap("{kinds}", [{", ".join(indices)}])',
        *(f"    {each}" for each in statements),
    ]
    return "".join(f"\n{'    ' * indent}{line}" for line in lines)


def two(first, second, head=HEAD, extent="16"):
    """Two blocks in a loop over i and loops over j of their own."""
    inner = "".join(
        f"\n    for j in range(8):{block(name, 'ij', *statements, indent=2)}"
        for name, statements in (("B", first), ("C", second))
    )
    return script(f"for i in range({extent}):{inner}", head)


DOUBLED = ("B[vi, vj] = A[vi, vj] * T.float32(2)",)
#: name: (script, C of A, the blocks that schedules find)
APART = {
    "the same element": (two(DOUBLED, ["C[vi, vj] = B[vi, vj] + T.float32(1)"]), lambda a: a * 2 + 1, "BC"),
    "another one of the row": (two(DOUBLED, ["C[vi, vj] = B[vi, 7 - vj]"]), lambda a: a[:, ::-1] * 2, "BC"),
    "an earlier row": (
        two(DOUBLED, ["C[vi, vj] = T.if_then_else(vi > 0, B[vi - 1, vj], T.float32(0))"]),
        lambda a: numpy.concatenate([0 * a[:1], a[:-1] * 2]),
        "BC",
    ),
    "rows of the run": (two(DOUBLED, ["C[vi, vj] = B[vi, vj]"], DYNAMIC, "n"), lambda a: a * 2, "BC"),
    "in two loops": (
        script("for i, j in T.grid(16, 8):" + block("B", "ij", *DOUBLED) + block("C", "ij", "C[vi, vj] = B[vi, vj]")),
        lambda a: a * 2,
        "BC",
    ),
    "tiles": (
        script(
            "for i0 in range(4):\n    for i1, j in T.grid(4, 8):\n        with T.block('B'):\n"
            "            vi = T.axis.spatial(16, i0 * 4 + i1)\n            vj = T.axis.spatial(8, j)\n"
            "            B[vi, vj] = A[vi, vj] * T.float32(2)\n    for i1, j in T.grid(4, 8):\n"
            "        with T.block('C'):\n"
            "            vi = T.axis.spatial(16, i0 * 4 + i1)\n            vj = T.axis.spatial(8, j)\n"
            "            C[vi, vj] = B[vi // 4 * 4 + 3 - vi % 4, vj]"
        ),
        lambda a: 2 * a.reshape(4, 4, 8)[:, ::-1].reshape(16, 8),
        "BC",
    ),
    "a reduction in two": (
        script(
            "for i in range(16):\n    for j in range(8):" + block("Z", "ij", "C[vi, vj] = T.float32(0)", indent=2)
            + "\n        for k in range(8):"
            + block("U", "ijk", "C[vi, vj] = C[vi, vj] + A[vi, vk] * A[vk, vj]", indent=3, kinds="SSR")
        ),
        lambda a: a @ a[:8],
        "U",
    ),
}  # fmt: skip


def in_turn(first, second):
    """Return the effect of two blocks in one loop, row by row."""

    def run(a):
        b, c = numpy.zeros_like(a), numpy.zeros_like(a)
        for i in range(16):
            first(i, a, b, c)
            second(i, a, b, c)
        return c

    return run


def double(i, a, b, c):
    b[i] = a[i] * 2


def later(i, a, b, c):
    c[i] = b[i + 1] if i < 15 else 0


def back(i, a, b, c):
    c[i] = b[i]
    b[15 - i] = -a[i]


#: Scripts with blocks that would notice a distribution: their loops stay unchanged. name: (script, C of A)
TOGETHER = {
    "a later row, which is not there yet": (
        two(DOUBLED, ["C[vi, vj] = T.if_then_else(vi < 15, B[vi + 1, vj], T.float32(0))"]), in_turn(double, later)),
    "sums so far": (
        script("for i in range(16):\n    for j in range(8):" + block("B", "ij", "B[0, vj] = B[0, vj] + A[vi, vj]",
               indent=2, kinds="RS") + "\n    for j in range(8):" + block("C", "ij", "C[vi, vj] = B[0, vj]", indent=2)),
        lambda a: a.cumsum(0)),
    "what it read is overwritten later": (
        two(["C[vi, vj] = B[vi, vj]"], ["B[15 - vi, vj] = -A[vi, vj]"]), in_turn(lambda *_: None, back)),
    "turns of a loop that no place is made of": (
        script("for k in range(3):" + "".join(
            f"\n    for i, j in T.grid(16, 8):{block(name, 'kij', statement, indent=2, kinds='RSS')}"
            for name, statement in (("B", "B[vi, vj] = B[vi, vj] + A[vi, vj]"), ("C", "C[vi, vj] += B[vi, vj]")))),
        lambda a: 6 * a),
}  # fmt: skip


def zeroed(text):
    """Insert loops that set B and C to zero before everything else."""
    body = "    for z0, z1 in T.grid(16, 8):\n        B[z0, z1] = T.float32(0)\n        C[z0, z1] = T.float32(0)\n"
    return text.replace("B = T.alloc_buffer((16, 8))\n", "B = T.alloc_buffer((16, 8))\n" + body)


def compiled(module):
    a = RNG.standard_normal((16, 8)).astype("float32")
    return a, numpy.from_dlpack(rx.compile(module)["main"](a))


@pytest.mark.parametrize("name", APART)
def test_blocks_in_one_loop_are_found(name):
    text, oracle, blocks = APART[name]
    module = rx.Module.from_script(text)
    schedule = rx.Schedule(module)
    for loop in dict.fromkeys(schedule.get_loops(each)[0] for each in blocks):
        schedule.parallel(loop)
    for each in (module, schedule.mod):
        a, got = compiled(each)
        numpy.testing.assert_allclose(got, oracle(a), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", TOGETHER)
def test_blocks_that_would_notice_stay_together(name):
    text, oracle = TOGETHER[name]
    a, got = compiled(rx.Module.from_script(zeroed(text)))
    numpy.testing.assert_allclose(got, oracle(a), rtol=1e-5, atol=1e-5)


def test_an_element_that_only_large_sizes_have_is_not_overlooked():
    """Test a read 200 rows ahead, which no tried size reaches."""
    text = two(DOUBLED, ["C[vi, vj] = T.if_then_else(vi + 200 < n, B[vi + 200, vj], B[vi, vj])"], DYNAMIC, "n")
    text = text.replace(
        "    for i in", "    for z0, z1 in T.grid(n, 8):\n        B[z0, z1] = T.float32(5)\n    for i in"
    )
    a = RNG.standard_normal((300, 8)).astype("float32")
    want = a * 2
    want[:100] = 5
    got = numpy.from_dlpack(rx.compile(rx.Module.from_script(text))["main"](a))
    numpy.testing.assert_array_equal(got, want)
