# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces: their contents, times and rows, and that Perfetto reads them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import onnx.helper
import onnx.numpy_helper
import pytest
import tvm_ffi
from hypothesis import given, settings
from hypothesis import strategies as st
from relax_mlir.runtime import ArtifactError, Executable
from relax_mlir.runtime.event_log import BEGIN, KERNEL, RANGE, EventLog
from relax_mlir.runtime.manifest import Site
from relax_mlir.runtime.part_steps import TimedStep
from relax_mlir.runtime.recording import Recorded
from relax_mlir.runtime.trace import Trace, TraceEvent
from relax_mlir.runtime.tracing import _TraceRows
from trace_format import checked_trace

import relax_mlir as rx
from relax_mlir import relax

V = "tensor<4xf32>"
PROGRAM = f"""
func.func @main(%x: {V}, %n: i64) -> {V} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.index_cast %n : i64 to index
  %0 = "relax.call_dps_packed"(%x) {{func = "test_trace.hook"}} : ({V}) -> {V} loc("hook")
  %1 = scf.for %i = %c0 to %end step %c1 iter_args(%a = %0) -> ({V}) {{
    %2 = "relax.cumsum"(%a) {{axis = 0}} : ({V}) -> {V} loc("in loop"("onnx.CumSum"))
    scf.yield %2 : {V}
  }}
  return %1 : {V}
}}
func.func @nothing(%x: {V}) -> {V} {{
  return %x : {V}
}}
"""
ONES = numpy.ones(4, "float32")

_hook: Callable[[], None] = lambda: None  # noqa: E731


@tvm_ffi.register_global_func("test_trace.hook", override=True)
def hook(source: Any, target: Any) -> None:
    _hook()
    numpy.from_dlpack(target)[:] = numpy.from_dlpack(source)


@pytest.fixture(scope="module")
def program() -> Executable:
    # With optimization the loop's kernel would be a part of the loop, without events of its own.
    return rx.compile(rx.Module.parse(PROGRAM), opt_level=0)


def set_hook(monkeypatch: pytest.MonkeyPatch, function: Callable[[], None]) -> None:
    monkeypatch.setitem(globals(), "_hook", function)


def checked(trace: Trace) -> list[dict[str, Any]]:
    return checked_trace(json.dumps(trace.to_dict()))


def test_kernels_of_a_call(program: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    set_hook(monkeypatch, lambda: time.sleep(0.01))
    trace = program.trace("main", ONES, 3, repeat=2)
    checked(trace)
    assert [each.kind for each in trace.events] == ["call", *["kernel"] * 4] * 2
    assert (trace.function, trace.repeat, trace.notes) == ("main", 2, ())
    first, hooked, *sums = trace.events[:5]
    assert (first.name, first.begin, first.row) == ("main", 0, "caller")
    assert hooked.name == "test_trace.hook" and hooked.end - hooked.begin >= 10_000_000
    assert {each.name for each in sums} == {"cumsum"}
    assert sums[0].details["nodes"] == ["in loop"] and sums[0].details["node_operators"] == ["onnx.CumSum"]
    assert (sums[0].details["inputs"], sums[0].details["bytes"]) == (["f32[4]"], 32)
    ends = [each.end for each in (hooked, *sums)]
    assert ends == sorted(ends) and ends[-1] <= first.end
    assert trace.untraced_seconds >= 0.01 and trace.traced_seconds >= 0.01
    assert str(trace).startswith("2 calls of main, 10 events; a call takes ")
    assert repr(trace).startswith("<trace of 2 calls of main")


def test_a_program_without_kernels(program: Executable) -> None:
    plain = rx.compile(rx.Module.parse(f"func.func @f(%x: {V}) -> {V} {{\nreturn %x : {V}\n}}"))
    for executable, name in ((program, "nothing"), (plain, "f")):
        trace = executable.trace(name, ONES)
        assert [(each.kind, each.name) for each in trace.events] == [("call", name)]
        checked(trace)


def test_a_call_that_takes_no_times_is_as_before(program: Executable) -> None:
    """Turn clocks and log off after a trace, so that a profile is right."""
    program.trace("main", ONES, 2)
    profile = program.profile("main", ONES, 2, repeat=1)
    assert {each.nodes[0]: each.calls for each in profile.kernels} == {"hook": 1, "in loop": 2}


def test_calls_within_calls(program: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trace a kernel that calls the program, with a nested call that fails and is handled."""
    depth: list[int] = []

    def again() -> None:
        if len(depth) == 2:
            raise KeyError("inside")
        depth.append(1)
        with contextlib.suppress(KeyError):
            program["main"](ONES, 1)
        depth.pop()

    set_hook(monkeypatch, again)
    trace = program.trace("main", ONES, 1, warmup=0)
    checked(trace)
    hooks = [each for each in trace.events if each.name == "test_trace.hook"]
    sums = [each for each in trace.events if each.name == "cumsum"]
    # The innermost hook has failed, and has no end.
    assert len(hooks) == 2 and len(sums) == 2
    assert hooks[0].begin < hooks[1].begin and hooks[1].end < hooks[0].end
    assert hooks[1].end < sums[0].begin and sums[0].end < hooks[0].end <= sums[1].begin


def test_traces_exclude_other_threads(program: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = threading.get_ident()

    def elsewhere() -> None:
        if threading.get_ident() == mine:
            thread = threading.Thread(target=program["main"], args=(ONES, 5))
            thread.start()
            thread.join()

    set_hook(monkeypatch, elsewhere)
    assert len(program.trace("main", ONES, 1).events) == 3


def test_after_an_exception(program: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fail() -> None:
        calls.append(1)
        if len(calls) == 2:  # the one that is traced
            raise KeyError("of the hook")

    set_hook(monkeypatch, fail)
    with pytest.raises(KeyError, match="of the hook"):
        program.trace("main", ONES, 1, warmup=0)
    assert len(program.trace("main", ONES, 1, warmup=0).events) == 3


def test_one_at_a_time(program: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    set_hook(monkeypatch, lambda: program.trace("main", ONES, 1))
    with pytest.raises(RuntimeError, match="'main' cannot be traced: a profile of this program is under way"):
        program.profile("main", ONES, 1)


def test_bad_requests(program: Executable) -> None:
    with pytest.raises(LookupError, match="did you mean 'main'"):
        program.trace("mains", ONES)
    with pytest.raises(ValueError, match="repeat=0"):
        program.trace("main", ONES, 1, repeat=0)
    old = dataclasses.replace(program._artifact, entries=({"name": "nothing", "inputs": [], "outputs": []},))
    with pytest.raises(ArtifactError, match="'nothing' cannot be traced: its program was compiled without clocks"):
        Executable(old).trace("nothing", ONES)


def test_code_of_an_older_release(program: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse an older program, whose switch treats any number but 0 as 1 and writes no log."""
    monkeypatch.setattr(EventLog, "address", 1)
    with pytest.raises(ArtifactError, match="keeps no log of its calls: it was compiled by an older release"):
        program.trace("main", ONES, 1)


def test_files(program: Executable, tmp_path: Path) -> None:
    trace = program.trace("main", ONES, 1)
    path = tmp_path / "t.json"
    trace.write(path)
    assert json.loads(path.read_text("utf-8")) == json.loads(json.dumps(trace.to_dict()))
    with pytest.raises(rx.RelaxError, match=r"cannot write output file '.*': there is no folder"):
        trace.write(tmp_path / "none" / "t.json")


def test_ranges_of_threads() -> None:
    """Place each range of a parallel loop inside of its kernel, in the row of its thread."""
    module = rx.Module()
    with module.function("main", [rx.tensor((512, 512))]) as f:
        (x,) = f
        f.returns(relax.exp(relax.matmul(x, x)))
    program = rx.compile(module)
    x = numpy.random.default_rng(0).normal(size=(512, 512)).astype("float32")
    program.threads = 1
    assert [each.kind for each in program.trace("main", x).events] == ["call", "kernel"]
    program.threads = 3
    trace = program.trace("main", x, repeat=2)
    checked(trace)
    kernels, ranges = list(trace.of_kind("kernel")), list(trace.of_kind("range"))
    assert len(kernels) == 2 and len(ranges) >= 4
    for each in ranges:
        assert each.name == kernels[0].name
        assert any(kernel.begin <= each.begin <= each.end <= kernel.end for kernel in kernels)
    assert {each.row for each in ranges} <= {"caller", "worker 1", "worker 2"}


def test_loops_that_run_at_the_same_time() -> None:
    """Trace concurrent loops as one range each, or as one range if a single thread runs both.

    Kernels are in the caller's loops.
    """
    helper, random = onnx.helper, numpy.random.default_rng(0)
    weights = [
        onnx.numpy_helper.from_array(random.normal(size=size).astype("float32"), name)
        for name, size in (("w", (2, 256, 32)), ("r", (2, 256, 64)))
    ]
    node = helper.make_node("LSTM", ["x", "w", "r"], ["y"], "lstm", direction="bidirectional", hidden_size=64)
    ends = [helper.make_tensor_value_info(*each) for each in (("x", 1, [50, 4, 32]), ("y", 1, [50, 2, 4, 64]))]
    graph = helper.make_graph([node], "graph", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    program = rx.compile(rx.from_onnx(model))
    program.threads = 2
    trace = program.trace("main", random.normal(size=(50, 4, 32)).astype("float32"), repeat=3)
    checked(trace)
    loops = [each for each in trace.of_kind("range") if each.name == "shared loop"]
    assert 3 <= len(loops) <= 6
    (step, *_) = [each for each in trace.of_kind("kernel") if each.details["nodes"] == ["lstm"]]
    assert step.row == "caller"


def test_two_programs_at_the_same_time() -> None:
    """Trace two programs with separate logs and threads."""
    programs = [rx.compile(rx.Module.parse(PROGRAM), opt_level=0) for _ in range(2)]
    barrier, found = threading.Barrier(2), {}

    def trace(number: int) -> None:
        for _ in range(20):
            barrier.wait()
            found[number] = programs[number].trace("main", ONES, 1 + number)
            checked(found[number])

    threads = [threading.Thread(target=trace, args=(number,)) for number in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [len(found[number].events) for number in range(2)] == [3, 4]


# ---- conversion of records ----


def log_of(*records: tuple[int, int, int, int], room: int = 16) -> EventLog:
    log = EventLog(room)
    for number, record in enumerate(records):
        if number < room:
            log._words[8 + 4 * number : 12 + 4 * number] = record
    log._words[0] = len(records)
    return log


def test_ends_find_their_beginnings() -> None:
    """Drop spans that failed before their end, together with the surrounding span."""
    log = log_of(
        (BEGIN, 10, 100, 100), (BEGIN, 11, 110, 110), (KERNEL | 7 << 8, 10, 150, 150), (BEGIN, 12, 160, 160),
        (RANGE, 5, 161, 162), (KERNEL | 3 << 8, 12, 170, 170), (KERNEL | 3 << 8, 99, 180, 180),
    )  # fmt: skip
    assert [tuple(each)[1:] for each in log.spans()] == [(7, 10, 100, 150), (0, 5, 161, 162), (3, 12, 160, 170)]


def test_records_that_there_is_no_room_for() -> None:
    log = log_of(*[(RANGE, 1, 1, 2)] * 5, room=3)
    assert (len(log.spans()), log.lost) == (3, 2)
    log.clear()
    assert (log.spans(), log.lost) == ([], 0)


def test_a_log_that_is_full(program: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relax_mlir.runtime.recording.EventLog", lambda: EventLog(8))
    trace = program.trace("main", ONES, 100)
    assert trace.notes == ("the log has room for 8 records of a call: 194 more are not in the trace",)
    assert len(trace.events) == 5
    checked(trace)


def rows(*steps: tuple[int, int]) -> list[TraceEvent]:
    """Return the rows of a part from 0 to 100 with steps."""
    span = log_of((BEGIN, 1, 0, 0), (KERNEL, 1, 100, 100)).spans()
    made = _TraceRows([Site(0, "npu.f", ("n",), (), (), "", (), ())], {"npu.f": "npu"}, "")
    found = [(0, TimedStep(f"s{number}", (), *each)) for number, each in enumerate(steps)]
    made.add("main", (-5, 200), Recorded(span, found), [])
    events = made.events()
    checked(Trace("main", 1, events, 1.0, 1.0))
    return [each for each in events if each.kind == "step"]


def test_steps_at_the_same_time_are_in_rows_of_their_own() -> None:
    assert [each.row for each in rows((0, 50), (50, 100))] == ["caller", "caller"]
    assert [each.row for each in rows((0, 50), (10, 50), (10, 20))] == ["caller"] * 3
    side = ["npu, at the same time 1", "npu, at the same time 2"]
    assert [each.row for each in rows((0, 50), (10, 60), (20, 70), (60, 90))] == ["caller", *side, "caller"]


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)).map(lambda each: tuple(sorted(each)))))
@settings(deadline=None)
def test_no_events_of_a_row_overlap(steps: list[tuple[int, int]]) -> None:
    assert len(rows(*steps)) == len(steps)


def test_rows_of_a_device() -> None:
    """Separate events that overlap by rounding. Launches and copies are in the caller's row."""
    device, launch = 4, 5
    log = log_of(
        (BEGIN, 1, 10, 10), (launch, 1, 20, 20), (BEGIN, 2, 30, 30), (launch | 1 << 8, 2, 40, 40),
        (device, 0, 50, 81), (device | 1 << 8, 0, 80, 90),
    )  # fmt: skip
    sites = [Site(place, f"k{place}", (f"n{place}",), (), (), "", (), ()) for place in (0, 1)]
    made = _TraceRows(sites, {}, "cuda:0")
    made.add("main", (0, 200), Recorded(log.spans()), [("copy to the device", 1, 9), ("wait for kernels", 41, 95)])
    events = made.events()
    assert [(each.kind, each.name, each.row, each.begin, each.end) for each in events] == [
        ("call", "main", "caller", 0, 200),
        ("copy", "copy to the device", "caller", 1, 9),
        ("launch", "launch k0", "caller", 10, 20),
        ("launch", "launch k1", "caller", 30, 40),
        ("wait", "wait for kernels", "caller", 41, 95),
        ("device", "k0", "cuda:0", 50, 81),
        ("device", "k1", "cuda:0", 81, 90),
    ]
    found = checked(Trace("main", 1, events, 1.0, 1.0))
    assert {each["pid"] for each in found if each["cat"] == "device"} == {2}
