# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-opt --explain-op: every operator can be explained, and every place in the text exists."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest
from own_rules import without_new_gradients, without_new_layouts
from relax_mlir.dialects import relax, tir  # noqa: F401  # declares what is explained
from relax_mlir.dialects.core.dialect import all_ops, find_op
from relax_mlir.passes.graph.gradient_rules import _REASONS, all_gradients
from relax_mlir.passes.graph.layout.registry import all_layout_rules
from relax_mlir.passes.legalize.rules import all_rules
from relax_mlir.support.blaming import place_of_caller
from relax_mlir.tools.opt.explanation import explanation

import relax_mlir as rx

ROOT = Path(__file__).resolve().parents[3]
PLACE = re.compile(r"([\w-]+/\w+\.py):(\d+)$", re.MULTILINE)


@pytest.mark.slow
def test_explanations_name_existing_lines() -> None:
    lines: dict[str, int] = {}
    for folder in ("dialects", "emit", "passes", "targets", "frontends", "plugins", "test"):
        for path in (ROOT / folder).rglob("*.py"):
            name, count = f"{path.parent.name}/{path.name}", path.read_text(encoding="utf-8").count("\n") + 1
            lines[name] = max(lines.get(name, 0), count)  # some folders have one name
    # Packages that other tests load register rules, too.
    own_folders = {file.partition("/")[0] for file in lines}
    for definition in all_ops():
        if definition.dialect.name not in ("relax", "tir"):
            continue
        text = explanation(definition.full_name)
        assert text.startswith(f"{definition.full_name}(") and definition.doc in text
        places = PLACE.findall(text)
        assert definition.place in [f"{file}:{line}" for file, line in places]
        own = [(file, int(line)) for file, line in places if file.partition("/")[0] in own_folders]
        assert all(line <= lines[file] for file, line in own), text


def test_all_rules_are_reported() -> None:
    told = functools.cache(explanation)
    for each in all_rules():
        assert each.place in told(each.op)
    for gradient in all_gradients():
        assert re.search(rf"^  gradient .* {gradient.place}$", told(gradient.op), re.MULTILINE)
    for operator, reason in _REASONS.items():
        assert re.search(rf"^  gradient +none +{re.escape(reason)}$", told(operator), re.MULTILINE)
    for reference in rx.rules.all_references():
        assert re.search(rf"^  reference .* {re.escape(reference.place)}$", told(reference.op), re.MULTILINE)
    for layout in all_layout_rules():
        assert re.search(rf"^  layouts .* {layout.place}$", told(layout.op), re.MULTILINE)


def test_a_registered_derivative_replaces_the_reason() -> None:
    with without_new_gradients():

        @rx.register_gradient("relax.bitwise_not")
        def passed_on(call):
            return call.gradient

        text = explanation("relax.bitwise_not")
    assert re.search(r"^  gradient +passed_on ", text, re.MULTILINE)
    assert "not continuous" not in text and "not continuous" in explanation("relax.bitwise_not")


def test_an_operator_of_another_package() -> None:
    dialect = rx.Dialect("explained", doc="Of this test.")
    dialect.op("renamed", "x:any", infer=lambda call: call.x, view="x", doc="The same."), (row := place_of_caller(0))
    tir.declare_intrinsic("twice", "x", dialect=dialect, doc="2 * x."), (intrinsic := place_of_caller(0))
    with without_new_gradients(), without_new_layouts():

        @rx.register_gradient("explained.renamed")
        def passed_on(call):
            return call.gradient

        @rx.register_layout("explained.renamed")
        def followed(call, layout):
            return call.follow(layout)

        text = explanation("explained.renamed")
    assert "this project's own" not in text and "view: its result is the memory of 'x'" in text
    assert re.search(rf"^  row +{row}$", text, re.MULTILINE)
    assert re.search(r"^  gradient +passed_on +tools/test_explanation\.py:\d+$", text, re.MULTILINE)
    assert re.search(r"^  layouts +followed +tools/test_explanation\.py:\d+$", text, re.MULTILINE)
    assert re.search(r"^  as it is +llvm +a view$", text, re.MULTILINE)
    assert find_op("explained.twice").place == intrinsic and "this project's own" in explanation("explained.twice")


def test_explanations_cover_operators_of_packages() -> None:
    dialect = rx.Dialect("explained_windows", doc="Of this test.")
    dialect.op(
        "sum_pool", "x", infer=lambda call: call.x, pattern="out_ewise_fusable", doc="Sums of windows.",
        attrs={"size": rx.attrs.Ints((2,)), "order": rx.attrs.Str("NCW")}, windows=("W", "size"),
        layouts={"x": ("order", "NCW"), "result": ("order", "NCW")},
    )  # fmt: skip
    dialect.op("apart", "x", infer=lambda call: call.x, doc="Says nothing.")
    text = explanation("explained_windows.sum_pool")
    assert "  fuses as 'out_ewise_fusable', see rx.OpPattern\n  windows slide over W; 'size' says how large" in text
    assert "'order' is the layout of 'x', of the dimensions NCW\n  'order' is the layout of 'result'" in text
    silent = explanation("explained_windows.apart")
    assert "fuses" not in silent and "windows slide" not in silent and "layout" not in silent


def test_an_operator_of_a_plug_in() -> None:
    command = [sys.executable, "-m", "relax_mlir.tools.relax_opt", "--load-plugin=examples/mynpu/mynpu/target.py"]
    done = subprocess.run(
        [*command, "--explain-op=relax.nn.softmax"], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stderr) == (0, "")
    rules = re.findall(r"legalization +(\w+) +(\w+/\w+\.py):\d+", done.stdout)
    assert rules == [("default", "default/legalize_softmax.py"), ("mynpu", "mynpu/rules.py")]
