# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accesses that are in bounds for all sizes and data need no check at run time; others are checked."""

from pathlib import Path

import pytest

import relax_mlir as rx

HEAD = """
@T.prim_func
def f(a: T.handle, i: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8))
    I = T.match_buffer(i, (n,), "int64")
    C = T.match_buffer(c, (n, 8))
"""


def checks(*body):
    module = rx.Module.from_script(HEAD + "".join(f"    {line}\n" for line in body))
    return str(module).count('"tir.assert"')


@pytest.mark.parametrize(
    "body",
    [
        ("for i in range(n):", "    for j in range(8):", "        C[i, j] = A[n - 1 - i, 7 - j]"),
        ("for i in range(1, n):", "    C[i, 0] = C[i - 1, 7]"),
        ("for i in range(n - 1):", "    C[i, 0] = C[i + 1, 7]"),
        ("for i in range(n):", "    for j in range(i, n):", "        C[j, 0] = C[i, 0] + C[j, 0]"),
        ("for i in range(n):", "    for j in range(i + 1):", "        C[j, 0] = C[i, 0] + C[j, 0]"),
        ("for i in range(n * 8):", "    C[i // 8, i % 8] = C[i // 8, 0]"),
        ("for i in range(n):", "    for k in range(2):", "        C[i, k * 4 + 3] = C[i, 2 * k + 1]"),
        ("for i in range(n):", "    C[i // 2, 0] = C[i, 0] + 1.0"),
        ("for i in range(n):", "    k = n - 1 - i", "    C[k, 0] = C[i, 0] + 1.0"),
    ],
    ids=lambda body: " ".join(body),
)
def test_nothing_is_looked_at(body):
    assert checks(*body) == 0


@pytest.mark.parametrize(
    "body",
    [
        ("for i in range(n):", "    C[i, 0] = C[i + 1, 0]"),
        ("for i in range(n):", "    C[i, 0] = C[i - 1, 0]"),
        ("for i in range(n + 1):", "    C[i, 0] = C[i, 0] + 1.0"),
        ("for i in range(-1, n):", "    C[i, 0] = C[i, 0] + 1.0"),
        ("for i in range(n):", "    C[i * 2, 0] = C[i, 0] + 1.0"),
        ("for i in range(n):", "    C[i, I[i]] = C[i, 0] + 1.0"),
        # Where a loop begins or ends the data say.
        ("for i in range(n):", "    for j in range(I[i], n):", "        C[j, 0] = C[i, 0] + 1.0"),
        ("for i in range(n):", "    for j in range(I[i]):", "        C[j, 0] = C[i, 0] + 1.0"),
        ("for i in range(n):", "    k = I[i]", "    C[k, 0] = C[i, 0] + 1.0"),
    ],
    ids=lambda body: " ".join(body),
)
def test_the_run_looks(body):
    assert checks(*body) > 0


@pytest.mark.parametrize("count", [2**63 - 1, 2**63, 2**200])
def test_a_loop_of_more_points_than_integers_count(count):
    """Refuse sizes beyond a limit: the analysis of reads visits each point, and the number of points would wrap
    around."""
    text = (Path(__file__).parents[3] / "passes" / "tir-apply-schedule.py").read_text()
    assert "T.grid(n, 8)" in text
    with pytest.raises(rx.RelaxError, match=f"(a loop cannot run|a size cannot be) {count}"):
        rx.Module.from_script(text.replace("T.grid(n, 8)", f"T.grid(n, {count})", 1))
