# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators and kernels on the page of relax-compile --report: scripts, in colours, without large constants."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.support.highlighting import COLOURS, marks
from relax_mlir_report.data import Measured, Subject, report_data
from relax_mlir_report.page import page

ROOT = Path(__file__).resolve().parents[1] / "relax_mlir_report"

ALPHA = "\U0001d6fc"  # two places in a text of JavaScript's, one of Python's


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    journal, made = rx.Journal(), rx.Module()
    with made.function("main", {"x": rx.tensor((8, 64)), "odd name": rx.tensor((64, 64))}) as f:
        x, y = f
        weights = relax.const(numpy.arange(4096, dtype="float32").reshape(64, 64) + 0.5)
        f.returns(relax.exp(relax.add(relax.matmul(x, y), relax.matmul(x, weights))))
    executable = rx.compile(made, journal=journal, cache=False)
    return report_data(journal, Subject("t", "llvm", "0"), executable._artifact, Measured())


def coloured(data: dict[str, Any], script: dict[str, Any]) -> set[tuple[str, str]]:
    numbers, at, found = script["marks"], 0, set()
    for gap, length, kind in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        found.add((data["marks"][kind], script["text"][at + gap : at + gap + length]))
        at += gap + length
    return found


def test_operator_lines_name_their_operands(data: dict[str, Any]) -> None:
    first, second, added, last = (each["text"] for each in data["operators"])
    assert "R.matmul(x, odd_name)" in first and "R.matmul(x, " in second
    names = [text.partition(":")[0] for text in (first, second, added)]
    assert f"R.add({names[0]}, {names[1]})" in added and f"R.exp({names[2]})" in last
    expected = {("word", "R.matmul"), ("word", "R.Tensor"), ("number", "8"), ("string", '"float32"')}
    assert coloured(data, data["operators"][0]) == expected | {("number", "64")}


def test_a_kernel_is_a_function_in_colours(data: dict[str, Any]) -> None:
    assert data["kernels"]
    for kernel in data["kernels"]:
        assert {("word", "T.prim_func"), ("keyword", "def"), ("keyword", "return")} <= coloured(data, kernel)
        assert f"def {kernel['name']}(" in kernel["text"]


def test_a_large_constant_is_not_on_the_page(data: dict[str, Any]) -> None:
    assert max(len(each["text"]) for each in (*data["kernels"], *data["operators"])) < 3000
    assert len(page(data)) - len(page({})) < 40_000


def test_a_long_kernel_is_cut_behind_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from relax_mlir.passes.graph.fuse import fused_functions

    monkeypatch.setattr(fused_functions, "_MOST_CHARACTERS", 300)
    module = rx.Module.parse(
        "func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func} {\n"
        + "%c = arith.constant 0 : index\n%e = tensor.extract %a[%c] : tensor<4xf32>\n"
        + "%s0 = tensor.insert %e into %a[%c] : tensor<4xf32>\n"
        + "".join(f"%s{n} = tensor.insert %e into %s{n - 1}[%c] : tensor<4xf32>\n" for n in range(1, 50))
        + "return %s49 : tensor<4xf32> }"
    )
    text = fused_functions._script(module.body.operations[0].operation)
    whole = rx.print_script(module.body.operations[0].operation).splitlines()
    assert text.endswith("\n...") and len(text) <= 304
    assert text.splitlines()[:-1] == whole[: len(text.splitlines()) - 1]


def test_the_page_colours_what_is_marked() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node on this machine")
    text = f'{ALPHA} = R.exp(x, "<b>")  # é\nreturn 1'
    script = (ROOT / "details.js").read_text(encoding="utf-8")
    given = json.dumps({"text": text, "marks": marks(text)})
    program = f"""
const data = {{ marks: {json.dumps(list(COLOURS))} }}, listeners = [];
const el = (tag, attributes, ...children) => [attributes.class, ...children];
{script}
console.log(JSON.stringify(coloured({given})));"""
    drawn = json.loads(subprocess.run([node, "-e", program], capture_output=True, timeout=600, check=True).stdout)
    assert "".join(each if isinstance(each, str) else each[1] for each in drawn) == text
    assert [each for each in drawn if isinstance(each, list)] == [
        ["word", "R.exp"],
        ["string", '"<b>"'],
        ["comment", "# é"],
        ["keyword", "return"],
        ["number", "1"],
    ]
