# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Page of relax-compile --report: its data are complete and consistent, and it needs no other files."""

from __future__ import annotations

import html.parser
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir.frontends.onnx.import_notes import attribute_text
from relax_mlir.runtime import load
from relax_mlir.tools.relax_compile import run
from relax_mlir_report.compare import compared
from relax_mlir_report.data import Measured, Subject, report_data
from relax_mlir_report.page import page
from relax_mlir_report.roofline import UNKNOWN, Roofline
from relax_mlir_report.work import add_work, flops_of
from reported import Stream, compiled, model

onnx = pytest.importorskip("onnx")
helper = onnx.helper

EVIL = "</script><b id='evil'>&amp;<!-- DATA_PLACE SCRIPT_PLACE */ `${1}` \u2028 \"x\""
VOID = frozenset({"meta", "input", "wbr", "br", "link", "img"})


def refused(*arguments: str | Path) -> str:
    stream: Any = Stream()
    assert run([str(each) for each in arguments], stdout=stream, stderr=stream) == 1
    assert "internal error" not in stream.text
    return str(stream.text)


def data_of(report: Path) -> dict[str, Any]:
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', report.read_text(encoding="utf-8"), re.S
    )
    assert found is not None
    content: dict[str, Any] = json.loads(found[1])
    return content


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return compiled(model(tmp_path_factory.mktemp("static") / "small.onnx", 8))


@pytest.fixture(scope="module")
def data(static: tuple[Path, Path]) -> dict[str, Any]:
    return data_of(static[1])


# ---- the data ----


def test_every_node_is_found_again_or_has_a_reason(data: dict[str, Any]) -> None:
    nodes = {node["name"]: node for node in data["nodes"]}
    assert set(nodes) == {"product", "folded", "plus", "same", "positive", "view", "back", "branch"}
    without = {name: node["why"] for name, node in nodes.items() if not node["operators"]}
    assert without == {
        "folded": "its value is known when the model is imported",
        "same": "it hands on what it gets",
        **dict.fromkeys(("view", "back"), "nothing computes: what it made is a size, or simplified away, or unused"),
    }
    assert all(node["why"] == "" for node in nodes.values() if node["operators"])
    assert nodes["branch"]["inner"] == 2
    names = {data["operators"][number]["operator"] for number in nodes["branch"]["operators"]}
    assert {"relax.exp", "relax.negative"} <= names


def test_links_are_about_the_same_thing(data: dict[str, Any]) -> None:
    nodes = {node["name"]: node for node in data["nodes"]}
    (operator,) = nodes["product"]["operators"]
    assert data["operators"][operator]["operator"] == "relax.matmul"
    assert data["operators"][operator]["rule"]
    (call,) = data["operators"][operator]["calls"]
    kernel = data["kernels"][data["calls"][call]["kernel"]]
    assert "relax.matmul" in kernel["operator"]
    assert call in kernel["calls"]
    assert call in nodes["plus"]["calls"]  # they are fused
    assert kernel["name"] in kernel["text"]


def test_the_kernels_are_those_of_the_program(static: tuple[Path, Path], data: dict[str, Any]) -> None:
    entry = load(static[0]).signature("main")
    assert {kernel["name"] for kernel in data["kernels"]} == {each["name"] for each in entry["profile"]["kernels"]}
    calls = [call for call in data["calls"] if call["kernel"] is not None]
    assert len(calls) == len(entry["profile"]["sites"])
    sites = [entry["profile"]["kernels"][site["kernel"]]["name"] for site in entry["profile"]["sites"]]
    assert [data["kernels"][call["kernel"]]["name"] for call in calls] == sites


def test_edges_are_who_reads_of_whom(data: dict[str, Any]) -> None:
    graphs = {graph["name"]: graph for graph in data["graphs"]}
    assert list(graphs) == ["Model", "Operators", "Kernel calls"]
    boxes = graphs["Model"]["boxes"]
    named = {(boxes[source]["detail"], boxes[target]["detail"]) for source, target in graphs["Model"]["edges"]}
    assert ("product", "plus") in named
    assert ("plus", "same") in named
    assert ("product", "positive") not in named
    for graph in graphs.values():
        assert all(0 <= end < len(graph["boxes"]) for edge in graph["edges"] for end in edge)
        assert len(graph["edges"]) >= len(graph["boxes"]) - 4


def test_memory_over_time(data: dict[str, Any]) -> None:
    (plan,) = data["memory"]
    assert len(plan["live"]) == len(plan["steps"])
    assert max(plan["live"]) == plan["peak"] == plan["live"][plan["peak_step"]]
    assert 0 < plan["peak"] <= plan["arena"]
    for buffer in plan["buffers"]:
        assert 0 <= buffer["start"] <= buffer["end"] < len(plan["steps"])
        writers = [
            step
            for step, call in enumerate(plan["steps"])
            if any(place.get("buffer") == buffer["number"] for place in data["calls"][call]["outputs"])
        ]
        assert writers[0] == buffer["start"]


def test_times_add_up(data: dict[str, Any]) -> None:
    assert "means of the middle half of" in data["note"]
    calls = [call for call in data["calls"] if call["kernel"] is not None]
    assert all("seconds" in call for call in calls)
    assert sum(call["seconds"] for call in calls) > 0
    assert data["seconds"] > 0


def test_stages_weights_and_sizes(static: tuple[Path, Path], data: dict[str, Any]) -> None:
    names = [stage["name"] for stage in data["stages"]]
    assert names[:8] == ["import", "integers", "simplify", "blocks", "norms", "attention", "heads", "fold"]
    assert names[-1] == "code"
    (legalized,) = [each for each in data["passes"] if each["name"] == "relax-legalize-ops"]
    assert legalized["stage"] == "legalize" and legalized["operations"]["relax.call_tir"] > 0
    assert data["model"]["weights"] == 3
    assert data["model"]["weight_bytes"] == 16 * 4 + 4 * 4 + 8
    assert 0 < data["code_bytes"] < static[0].stat().st_size


LOOPS = {"sizes": [8, 4, 16], "reductions": [2], "flops": 2, "epilogue": 3, "reason": ""}


@pytest.mark.parametrize(
    ("loops", "shapes", "flops"),
    [
        ([LOOPS], [], 8 * 4 * 16 * 2 + 8 * 4 * 3),
        ([{**LOOPS, "sizes": [None, 4, 16]}], [], None),
        ([LOOPS, {**LOOPS, "reason": "it has no plan"}], [], None),
        ([LOOPS, {**LOOPS, "flops": 0, "epilogue": None, "sizes": [None]}], [], 1120),
        ([], [], None),
        ([{**LOOPS, "sizes": ["0.1*2", 4, 16]}], [(3, 4), (5,)], 1120),
        ([{**LOOPS, "sizes": ["0.1*1.0", 4, 16]}], [(3, 4), (None,)], None),
        ([{**LOOPS, "sizes": ["2.0", 4, 16]}], [(3, 4)], None),
    ],
)
def test_flops(loops: list[dict[str, Any]], shapes: list[Any], flops: int | None) -> None:
    assert flops_of(loops, shapes) == flops


@pytest.mark.parametrize(
    ("type_", "bytes_"),
    [
        *[("f32[2,3]", 24), ("i1[5]", 5), ("bf16[n,4]", 56), ("f64[2*n + 1]", 120), ("f32[min(n, 4),2]", 32)],
        *[("f32[]", 4), ("f32[?]", None), ("f32[...]", None), ("f32[m]", None), ("i64", 0)],
    ],
)
def test_bytes_of_types(type_: str, bytes_: int | None) -> None:
    call: dict[str, Any] = {"kernel": None, "inputs": [{"type": type_}], "outputs": []}
    add_work([call], [], {"n": 7})
    assert call["bytes"] == bytes_, type_


def test_work_for_given_dynamic_sizes_equals_static_work(tmp_path: Path) -> None:
    fixed = data_of(compiled(model(tmp_path / "fixed.onnx", 40))[1])
    given = data_of(compiled(model(tmp_path / "given.onnx"), "--report-shape", "x:40,4")[1])
    work = [
        [(call["flops"], call["bytes"]) for call in each["calls"] if call["kernel"] is not None]
        for each in (fixed, given)
    ]
    assert work[0] == work[1] and any(flops for flops, _ in work[0]), work


def test_attributes_are_text_for_people(tmp_path: Path) -> None:
    values = {
        "number": 3, "real": 0.1, "text": "SAME_UPPER", "list": [1, 2], "long": list(range(40)),
        "tensor": helper.make_tensor("t", 1, [2, 3], [0.0] * 6), "graph": helper.make_graph([], "g", [], []),
    }  # fmt: skip
    shown = {each.name: attribute_text(each) for each in helper.make_node("Any", [], [], **values).attribute}
    assert shown.pop("long").endswith("15, ... (40 in all)]")
    assert shown == {
        "number": "3", "real": "0.100000001", "text": "SAME_UPPER", "list": "[1, 2]",
        "tensor": "f32[2,3]", "graph": "a graph of 0 nodes",
    }  # fmt: skip


def test_the_roofline_is_the_bound_that_is_reached_first() -> None:
    machine = Roofline(100.0, {64: 40.0, 256: 10.0})
    assert machine.share(200, 0, 4.0) == 0.5  # two seconds of arithmetic
    assert machine.share(200, 64, 4.0) == 0.5  # and at most 1.6 of traffic
    assert machine.share(200, 65, 10.0) == 0.65  # in the next cache it is slower
    assert machine.share(None, 1000, 200.0) == 0.5  # in memory as in the largest amount that was measured
    assert machine.share(200, None, 4.0) is None
    assert UNKNOWN.share(200, 64, 4.0) is None
    assert UNKNOWN.described() is None


def test_no_call_is_above_the_roofline() -> None:
    """Raise the machine's limits to the rates of actual calls: small programs on a busy machine do not reach the
    maximum."""
    machine = Roofline(100.0, {64: 40.0, 256: 10.0})
    calls = [(300, 10, 2.0), (10, 60, 0.5), (None, 200, 4.0), (5, None, 1.0)]
    assert max(share for call in calls if (share := machine.share(*call)) is not None) == 5.0
    raised = machine.holding(calls)
    assert (raised.flops, raised.traffic) == (150.0, {64: 120.0, 256: 50.0})
    assert max(share for call in calls if (share := raised.share(*call)) is not None) == 1.0
    assert machine.holding([]) == machine and UNKNOWN.holding(calls) == UNKNOWN


def test_times_have_a_spread_and_a_share_of_the_roofline(data: dict[str, Any]) -> None:
    assert data["roofline"]["flops"] > data["roofline"]["memory"] / 4 > 0
    timed = [call for call in data["calls"] if "seconds" in call]
    assert timed and all(call["spread"][0] <= call["seconds"] <= call["spread"][1] for call in timed)
    assert all(0 < (call["roofline"] or 0) <= 1 for call in timed if call["bytes"] and call["seconds"])


# ---- two reports ----


def _report_of(*calls: tuple[list[str], str, float], seconds: float = 1.0) -> dict[str, Any]:
    names = list(dict.fromkeys(name for _, name, _ in calls))
    return {
        "title": "m.onnx", "version": "0", "target": "llvm", "options": [["-O", "2"]], "seconds": seconds,
        "calls": [{"origins": nodes, "kernel": names.index(name), "seconds": time} for nodes, name, time in calls],
        "kernels": [{"name": name} for name in names],
        "memory": [{"arena": 64}], "stages": [{"name": "legalize", "seconds": 2.0}],
        "weights": {"bytes": 10}, "code_bytes": 100,
    }  # fmt: skip


def test_parts_are_named_by_nodes_however_they_were_fused() -> None:
    before = _report_of((["a"], "k0", 1.0), (["b"], "k1", 2.0), (["c"], "k2", 4.0), (["gone"], "k1", 1.0), seconds=8.0)
    now = _report_of((["a", "b"], "k_ab", 1.5), (["c"], "k2", 3.0), ([], "made", 0.5), seconds=5.0)
    result = compared(before, now)
    parts = {" ".join(part["nodes"]): part for part in result["parts"]}
    assert set(parts) == {"a b", "c", "gone", "made"}
    assert parts["a b"]["before"] == {"kernels": ["k0", "k1"], "seconds": 3.0}
    assert parts["a b"]["now"] == {"kernels": ["k_ab"], "seconds": 1.5}
    assert parts["gone"]["now"] == {"kernels": [], "seconds": None}
    assert parts["made"]["before"] == {"kernels": [], "seconds": None}
    totals = {each["name"]: (each["before"], each["now"]) for each in result["totals"]}
    assert totals["a run"] == (8.0, 5.0) and totals["kernel calls"] == (4, 3)


def test_compare_adds_the_differences_to_an_earlier_report(static: tuple[Path, Path], tmp_path: Path) -> None:
    _, report = compiled(model(tmp_path / "again.onnx", 8), "--compare", str(static[1]))
    result = data_of(report)["compared"]
    assert result["title"] == "small.onnx"
    assert all(part["before"]["kernels"] == part["now"]["kernels"] for part in result["parts"])
    called = [call for call in data_of(report)["calls"] if call["kernel"] is not None]
    assert sum(len(part["now"]["kernels"]) for part in result["parts"]) == len(called) > 0


@pytest.mark.parametrize(
    "content", [b"<html></html>", b"\xff\xfe", b'<script type="application/json" id="data">[1</script>']
)
def test_compare_refuses_files_that_are_no_reports(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "old.html").write_bytes(content)
    source, page_ = model(tmp_path / "m.onnx"), tmp_path / "r.html"
    message = refused(source, "-o", tmp_path / "m.rxa", "--report", page_, "--compare", tmp_path / "old.html")
    assert "is no report of relax-compile: --compare takes what --report has written" in message
    assert not page_.exists() and not (tmp_path / "m.rxa").exists()
    assert "cannot read nowhere.html" in refused(source, "-o", "m.rxa", "--report", page_, "--compare", "nowhere.html")
    assert "--compare is for two reports" in refused(source, "-o", "m.rxa", "--compare", tmp_path / "old.html")


def test_unknown_facts_are_shown() -> None:
    journal, made = rx.Journal(), rx.Module()
    with made, made.function("main", {"x": rx.tensor((4,))}) as f:
        f.returns(rx.relax.exp(next(iter(f))))
    executable = rx.compile(made, journal=journal)
    journal.note("partition", device="npu", nodes=["a", "b"])
    content = report_data(journal, Subject("t", "llvm", "0"), executable._artifact, Measured())
    assert content["others"] == {"partition": [{"kind": "partition", "device": "npu", "nodes": ["a", "b"]}]}
    assert content["nodes"] == []
    assert [graph["name"] for graph in content["graphs"]] == ["Operators", "Kernel calls"]


def test_sizes_that_only_the_run_tells(tmp_path: Path) -> None:
    unknown = data_of(compiled(model(tmp_path / "unknown.onnx"))[1])
    assert unknown["note"] == "No times: no size was given for n: --report-shape input:sizes gives it."
    assert not any("seconds" in call for call in unknown["calls"])
    known = data_of(compiled(model(tmp_path / "known.onnx"), "--report-shape", "x:100,4")[1])
    assert known["sizes"] == {"n": 100}
    assert any("seconds" in call for call in known["calls"])
    assert known["memory"][0]["arena"] > unknown["memory"][0]["arena"] > 0


def test_a_program_for_another_machine(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    content = data_of(compiled(model(tmp_path / "far.onnx", 8), "--target=llvm{triple=aarch64-linux-gnu}")[1])
    assert content["note"].startswith("No times: the program cannot run here, the code is for aarch64")
    assert content["kernels"]


def test_a_program_that_fails_with_random_inputs(tmp_path: Path) -> None:
    nodes = [helper.make_node("Gather", ["w", "i"], ["y"], "pick")]
    weights = [helper.make_tensor("w", 1, [2, 4], [0.0] * 8)]
    inputs = [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [64])]
    outputs = [helper.make_tensor_value_info("y", 1, [64, 4])]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    content = data_of(compiled(tmp_path / "m.onnx")[1])
    assert content["note"].startswith("No times: with random inputs main failed, IndexError")


# ---- the page ----


class Checker(html.parser.HTMLParser):
    """Parser of a page that checks the order of closing tags and collects references and names of elements."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.references += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    return compiled(model(tmp_path / "evil <b>.onnx", 8, EVIL))[1]


def test_hostile_names_keep_the_page_well_formed(evil: Path) -> None:
    checker = Checker()
    checker.feed(evil.read_text(encoding="utf-8"))
    checker.close()
    assert checker.open == []
    assert "b" not in checker.seen
    assert checker.seen.count("script") == 2
    content = data_of(evil)
    assert EVIL in [node["name"] for node in content["nodes"]]
    assert content["title"] == "evil <b>.onnx"


def test_the_page_asks_for_nothing(evil: Path) -> None:
    text = evil.read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(text)
    assert checker.references == []
    assert "default-src 'none'" in text
    own = text.replace(re.search(r'id="data">(.*?)</script>', text, re.S)[1], "")  # type: ignore[index]
    assert re.search(r"https?:|//[a-z]+\.[a-z]|@import|url\(|\bfetch\b|XMLHttp|import\(|\.src\b|innerHTML", own) is None


def test_the_same_facts_give_the_same_page() -> None:
    content = {"title": "STYLE_PLACE", "nodes": ["SCRIPT_PLACE"]}
    assert page(content) == page(content)
    assert page(content).count('["SCRIPT_PLACE"]') == 1


def test_a_browser_draws_the_page(evil: Path, tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no chromium on this machine")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [browser, *options, "--virtual-time-budget=3000", "--dump-dom", evil.resolve().as_uri()]
    drawn = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout
    content = data_of(evil)
    kernels = re.search(r'id="kernel-table".*?</table>', drawn, re.S)
    assert kernels is not None
    assert kernels[0].count('<tr class="row"') == len(content["kernels"])
    placed = [buffer for buffer in content["memory"][0]["buffers"] if buffer["offset"] is not None]
    assert drawn.count('class="buffer"') == len(placed)
    assert '<h1 id="title">evil &lt;b&gt;.onnx</h1>' in drawn
    assert 'id="evil"' not in drawn
    assert all(f"<span>{stage['name']}</span>" in drawn for stage in content["stages"])
    passes = re.search(r'id="pass-table".*?</table>', drawn, re.S)
    assert passes is not None
    assert [passes[0].count(f">{each['stage']}<") > 0 for each in content["passes"]] == [True] * len(content["passes"])


# ---- the option ----


def test_a_program_in_the_cache_is_compiled_again_for_its_report(tmp_path: Path) -> None:
    source, cache = model(tmp_path / "model.onnx", 8), tmp_path / "cache"
    program, report = tmp_path / "model.rxa", tmp_path / "model.html"
    plain = [str(source), "-o", str(program), f"--cache-dir={cache}"]
    assert run(plain) == 0
    first = program.read_bytes()
    program.unlink()
    assert run([*plain, "--report", str(report)]) == 0
    assert program.read_bytes() == first
    content = data_of(report)
    assert "legalize" in [stage["name"] for stage in content["stages"]]
    pieces = content["pieces"]
    assert pieces["found"] > 0 and (pieces["made"], pieces["seconds"]) == (0, 0)


def test_report_refuses_incompatible_options(tmp_path: Path) -> None:
    source = model(tmp_path / "model.onnx")
    program, report = tmp_path / "model.rxa", tmp_path / "model.html"
    whole = [source, "-o", program, "--no-cache"]
    assert "ends before there is code" in refused(source, "--emit=tir", "--report", report)
    assert "--check ends before" in refused(source, "--check", "--report", report)
    assert "--report needs a file" in refused(*whole, "--report", "-")
    assert "the same file" in refused(*whole, "--report", program)
    assert "--report=<file.html> makes one" in refused(*whole, "--report-shape", "x:2,4")
    assert "there is no folder" in refused(*whole, "--report", tmp_path / "nowhere" / "r.html")
    assert "option --report-shape: '?' in 'x:?,4'" in refused(*whole, "--report", report, "--report-shape", "x:?,4")
    assert "no input 'z'" in refused(*whole, "--report", report, "--report-shape", "z:2,4")
    assert "expected 4, but --report-shape has 5" in refused(*whole, "--report", report, "--report-shape", "x:2,5")
    assert sorted(tmp_path.iterdir()) == [source]
