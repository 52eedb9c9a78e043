# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instruments of pipelines: callbacks, printed IR, times."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import relax_mlir as rx

TEXT = """\
module {
  func.func @f(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = "relax.exp"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "relax.exp"(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  func.func @g() {
    return
  }
}
"""


@dataclass(frozen=True)
class Fail(rx.Pass):
    """Pass that fails."""

    name: ClassVar[str] = "test-fail"
    anchor: ClassVar[str] = "any"

    def run(self, op: Any) -> None:
        raise rx.RelaxError("failed")


class Log(rx.Instrument):
    """Instrument that records the reported events."""

    def __init__(self, name: str = "", shared: list[str] | None = None):
        self.name = name
        self.calls = [] if shared is None else shared

    def before_pass(self, name: str, op: Any) -> None:
        self.calls.append(f"{self.name}before {name} on {op.name}")

    def after_pass(self, name: str, op: Any) -> None:
        self.calls.append(f"{self.name}after {name} on {op.name}")

    def pass_failed(self, name: str, op: Any) -> None:
        self.calls.append(f"{self.name}failed {name} on {op.name}")


def run(passes: Any, *instruments: rx.Instrument, text: str = TEXT) -> str:
    module = rx.Module.parse(text)
    rx.Pipeline(passes, instruments=instruments).run(module)
    return str(module)


def printed(passes: Any, **options: Any) -> list[str]:
    """Return the printed headers, each with the IR below it."""
    stream = io.StringIO()
    try:
        run(passes, rx.PrintIR(stream, **options))
    except rx.RelaxError as error:
        assert error.message == "failed" or "bufferize" in error.message
    return stream.getvalue().split("// -----// ")[1:]


def test_each_pass_on_each_operation_is_reported() -> None:
    log = Log()
    run("cse,func.func(canonicalize,cse)", log)
    assert log.calls == [
        "before cse on builtin.module",
        "after cse on builtin.module",
        *["before canonicalize on func.func", "after canonicalize on func.func"],
        *["before cse on func.func", "after cse on func.func"],
        *["before canonicalize on func.func", "after canonicalize on func.func"],
        *["before cse on func.func", "after cse on func.func"],
    ]


def test_instruments_nest() -> None:
    calls: list[str] = []
    run("relax-canonicalize", Log("outer ", calls), Log("inner ", calls))
    assert [call.partition(" relax")[0] for call in calls] == [
        "outer before",
        "inner before",
        "inner after",
        "outer after",
    ]


@pytest.mark.parametrize("failing", [Fail(), "one-shot-bufferize"])
def test_a_failure_is_reported_and_ends_the_run(failing: Any) -> None:
    log = Log()
    with pytest.raises(rx.RelaxError):
        run(["cse", failing, "canonicalize"], log)
    name = failing if isinstance(failing, str) else failing.name
    assert log.calls[2:] == [f"before {name} on builtin.module", f"failed {name} on builtin.module"]


def test_watching_changes_nothing() -> None:
    passes = "relax-canonicalize,cse,func.func(canonicalize)"
    assert run(passes, Log(), rx.Timing(), rx.PrintIR(io.StringIO(), after=True)) == run(passes)


def test_callbacks() -> None:
    seen: list[tuple[str, str, int]] = []
    run(
        "cse,relax-canonicalize",
        rx.Callback(
            before=lambda name, op: seen.append(("before", name, str(op).count("relax.exp"))),
            after=lambda name, op: seen.append(("after", name, str(op).count("relax.exp"))),
        ),
        rx.Callback(),
    )
    assert seen == [
        ("before", "cse", 2),
        ("after", "cse", 1),
        ("before", "relax-canonicalize", 1),
        ("after", "relax-canonicalize", 1),
    ]


def test_printing_before_and_after() -> None:
    before, after = printed("cse", before=True, after=True)
    assert before == f"IR Dump Before cse //----- //\n{TEXT}\n"
    assert after.startswith("IR Dump After cse //----- //\nmodule {\n")
    assert (before.count("relax.exp"), after.count("relax.exp")) == (2, 1)


def test_printing_of_selected_passes() -> None:
    dumps = printed("cse,canonicalize,func.func(cse)", before=["canonicalize"], after=["cse"])
    assert [dump.partition(" //")[0] for dump in dumps] == [
        "IR Dump After cse",
        "IR Dump Before canonicalize",
        "IR Dump After cse ('func.func' operation: @f)",
        "IR Dump After cse ('func.func' operation: @g)",
    ]
    assert printed("cse") == []


def test_printing_of_changes() -> None:
    (dump,) = printed("canonicalize,cse,cse", after=True, only_changes=True)
    assert dump.startswith("IR Dump After cse")


def test_printing_of_the_module_around() -> None:
    dumps = printed("func.func(cse)", after=True, module_scope=True)
    assert len(dumps) == 2
    assert all("@f" in dump and "@g" in dump for dump in dumps)


@pytest.mark.parametrize("failing", [Fail(), "one-shot-bufferize"])
def test_printing_of_failures(failing: Any) -> None:
    (dump,) = printed(["cse", failing], after_failure=True)
    name = failing if isinstance(failing, str) else failing.name
    # Only the generic form is safe to print then.
    assert dump.startswith(f'IR Dump After {name} Failed //----- //\n"builtin.module"() ({{')
    assert len(printed(["cse", failing], after=True, only_changes=True)) == 2
    assert printed(["cse", failing]) == []


def test_printing_in_another_way() -> None:
    (dump,) = printed("cse", after=True, show=lambda op: f"<{op.name}>")
    assert dump == "IR Dump After cse //----- //\n<builtin.module>\n\n"


def test_times_add_up() -> None:
    timing = rx.Timing()
    run("cse,relax-canonicalize,cse", timing)
    timing.add("Parser", 0.25)
    assert list(timing.seconds) == ["cse", "relax-canonicalize", "Parser"]
    assert all(seconds > 0 for seconds in timing.seconds.values())
    lines = timing.report().splitlines()
    assert [line.split()[-1] for line in lines[6:]] == ["cse", "relax-canonicalize", "Parser", "Rest", "Total"]
    assert "0.2500" in lines[8]


def test_the_time_of_a_failing_pass_counts() -> None:
    timing = rx.Timing()
    with pytest.raises(rx.RelaxError):
        run([Fail()], timing)
    assert list(timing.seconds) == ["test-fail"]
