# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Appearance of the report's page: windows from a telephone's to a desktop's size, and parts of codegens."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import relax_mlir as rx
from partitioning import codegen
from relax_mlir.patterns import is_op
from relax_mlir_report.data import Measured, Subject, report_data
from reported import compiled, model

ROOT = Path(__file__).resolve().parents[1] / "relax_mlir_report"


def report(folder: Path) -> Path:
    return compiled(model(folder / "small.onnx", 8))[1].resolve()


#: Elements that do not fit into the page at a width, as a script in a surrounding page sees them.
MEASURE = """<iframe id="page" src="{page}" style="width: {width}px; height: 3000px"></iframe><pre id="measured"></pre><script>
addEventListener("load", () => setTimeout(() => {{
  const page = document.getElementById("page").contentDocument, found = [];
  const check = (isGood, what) => isGood || found.push(what);
  check(page.documentElement.scrollWidth <= {width}, "the page is wider than the window");
  for (const tile of page.querySelectorAll(".tiles b")) check(tile.scrollWidth <= tile.parentElement.clientWidth - 16, `tile ${{tile.textContent}}`);
  for (const input of page.querySelectorAll("input")) {{
    const pen = page.createElement("canvas").getContext("2d");
    pen.font = page.defaultView.getComputedStyle(input).font;
    check(pen.measureText(input.placeholder).width <= input.clientWidth - 20, `placeholder ${{input.placeholder}}`);
  }}
  const steps = [...page.querySelectorAll("#flow > *")].map((each) => each.getBoundingClientRect().top + each.getBoundingClientRect().height / 2);
  check(Math.max(...steps) - Math.min(...steps) < 2, "an arrow leads to nothing");
  const map = page.getElementById("graph-map").getBoundingClientRect(), canvas = page.getElementById("graph-canvas").getBoundingClientRect();
  check(map.width === 0 || map.left >= canvas.right - 1, "the map is over the graph");
  check(canvas.width >= Math.min(250, {width} - 110), "there is no room for the graph");
  document.getElementById("measured").textContent = `measured: ${{found.join(", ") || "all fits"}}`;
}}, 500));
</script>"""  # noqa: E501


@pytest.mark.parametrize("width", [390, 800, 1400])
def test_the_page_fits_into_windows(width: int, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no chromium on this machine")
    around = tmp_path / "around.html"
    around.write_text(MEASURE.format(page=report(tmp_path).as_uri(), width=width))
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    options += ["--allow-file-access-from-files", "--window-size=1600,3200", "--virtual-time-budget=5000", "--dump-dom"]
    command = [browser, *options, around.as_uri()]
    drawn = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout
    measured = re.search(r'<pre id="measured">(.*?)</pre>', drawn, re.S)
    assert measured is not None and measured[1] == "measured: all fits"


def test_the_page_has_rules_for_narrow_windows(tmp_path: Path) -> None:
    """Check that the page has the rules that the browser's test relies on."""
    style = re.search(r"<style>(.*?)</style>", report(tmp_path).read_text(encoding="utf-8"), re.S)
    assert style is not None
    narrow = style[1][style[1].index("@media (max-width: 640px)") :]
    assert "#graph-map { display: none; }" in narrow and ".flow { flex-wrap: nowrap;" in narrow
    assert ".tiles { display: flex; flex-wrap: wrap;" in style[1]


def test_parts_of_codegens_are_distinguished(tmp_path: Path) -> None:
    """Mark nodes, operators and kernels of a codegen, in the graph by its colour."""
    path = model(tmp_path / "small.onnx", 8)
    journal = rx.Journal()
    with journal.recording(), codegen([("npu.add", is_op("relax.add"))]) as npu:
        executable = rx.compile(rx.from_onnx(path), partition=npu, journal=journal, cache=False)
    found = report_data(journal, Subject("t", "llvm", "0"), executable._artifact, Measured())
    nodes = {node["name"]: node for node in found["nodes"]}
    kernels = {name: [found["calls"][call]["kernel"] for call in node["calls"]] for name, node in nodes.items()}
    of_node = {
        name: {found["kernels"][number]["codegen"] for number in numbers if number is not None}
        for name, numbers in kernels.items()
    }
    assert "npu" in of_node["plus"] and of_node["product"] == {""}
    (recorded,) = found["others"]["partition"]
    assert recorded["codegen"] == "npu" and recorded["matched"] == {"npu.add": 1}
    (part,) = [kernel for kernel in found["kernels"] if kernel["codegen"]]
    assert part["title"] == "npu, all in one part" and part["operator"] == "Add", "not by the symbol of its function"
    assert all(kernel["title"] == kernel["name"] for kernel in found["kernels"] if not kernel["codegen"])


def test_several_parts_are_numbered(tmp_path: Path) -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4,))}) as f:
        (x,) = f
        f.returns(rx.relax.add(rx.relax.exp(rx.relax.add(x, x)), x))
    journal = rx.Journal()
    with journal.recording(), codegen([("npu.add", is_op("relax.add"))]) as npu:
        executable = rx.compile(module, partition=npu, journal=journal, cache=False)
    found = report_data(journal, Subject("t", "llvm", "0"), executable._artifact, Measured())
    assert [each["title"] for each in found["kernels"] if each["codegen"]] == ["npu, part 1", "npu, part 2"]


def test_a_part_whose_operators_have_no_node_is_named_by_its_patterns() -> None:
    """Name a part after the codegen's patterns: a program that is built in Python has no nodes."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((4,))}) as f:
        (x,) = f
        f.returns(rx.relax.add(rx.relax.add(x, x), x))
    journal = rx.Journal()
    with journal.recording(), codegen([("npu.add", is_op("relax.add"))]) as npu:
        executable = rx.compile(module, partition=npu, journal=journal, cache=False)
    found = report_data(journal, Subject("t", "llvm", "0"), executable._artifact, Measured())
    (part,) = [kernel for kernel in found["kernels"] if kernel["codegen"]]
    assert (part["title"], part["operator"]) == ("npu, all in one part", "2 add")


def npu_report(folder: Path) -> dict[str, Any]:
    """Return the report of a small model with a part that reports its steps."""
    _, report = compiled(model(folder / "small.onnx", 8), "--partition=example_npu")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', report.read_text("utf-8"), re.S)
    assert found is not None
    content: dict[str, Any] = json.loads(found[1])
    return content


def test_parts_by_their_steps(tmp_path: Path) -> None:
    data = npu_report(tmp_path)
    (call,) = [call for call in data["calls"] if "steps" in call]
    assert data["kernels"][call["kernel"]]["codegen"] == "example_npu"
    steps = {each["name"]: each for each in call["steps"]}
    assert {"matmul", "add", "relu", "between steps"} <= set(steps)
    assert (steps["matmul"]["nodes"], steps["matmul"]["operator"]) == (["product"], "onnx.MatMul")
    assert sum(each["seconds"] for each in call["steps"]) == pytest.approx(call["seconds"])


def test_the_page_draws_steps() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node on this machine")
    script = (ROOT / "tables.js").read_text(encoding="utf-8")
    steps = [
        {"name": "conv", "nodes": ["a", "b"], "operator": "onnx.Conv", "calls": 1, "seconds": 0.25},
        {"name": "between steps", "nodes": [], "operator": "", "calls": None, "seconds": 0.5},
    ]
    data = {"kernels": [{"title": "npu, part 1"}], "calls": [{"kernel": 0, "steps": steps}, {"kernel": 0}]}
    program = f"""
const data = {json.dumps(data)}, listeners = [], selected = null, totalSeconds = 1, parts = {{}}, filled = [];
const joined = (children) => children.flat(9).filter((each) => each !== null && each !== undefined).join("|");
const el = (tag, attributes, ...children) => ({{ text: joined(children), setAttribute() {{}}, toString() {{ return this.text; }} }});
const at = () => parts, fill = (place, ...content) => filled.push(content.flat().map(String));
const same = (text) => text, [breakable, shortened, lastPart, operatorText] = [same, same, same, same];
const secondsText = (seconds) => `${{seconds}} s`, percentText = (share) => `${{share * 100}} %`, swatch = () => null;
{script}
showParts();
console.log(JSON.stringify({{ hidden: parts.hidden, rows: filled.at(-1) }}));"""  # noqa: E501
    drawn = json.loads(subprocess.run([node, "-e", program], capture_output=True, timeout=600, check=True).stdout)
    assert drawn == {
        "hidden": False,
        "rows": [
            "between steps||npu, part 1|\u2013|0.5 s||50 %|\u2013",
            "conv|onnx.Conv|npu, part 1|a + b|0.25 s||25 %|1",
        ],
    }
