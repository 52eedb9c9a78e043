# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that parts report: accepted and ignored reports with reasons. The part continues after any report."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
from partitioning import codegen
from relax_mlir.runtime import Call, CallList, Executable, NativeFunction, Passed, step_reporter
from relax_mlir.runtime.part_steps import PartCall, notes_on_steps
from relax_mlir.runtime.profile import Profile

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op

X = numpy.arange(4, dtype="float32")
#: Report of the part in these tests after its work. The argument is the reporting function.
_told: Callable[[Any], None] = lambda report: None  # noqa: E731


def run(x: Any, out: Any) -> None:
    numpy.exp(numpy.from_dlpack(x), out=numpy.from_dlpack(out))
    report = step_reporter()
    if report is not None:
        _told(report)


def compiled(load: Callable[[str], Any], node: str = "the_exp") -> Executable:
    """Compile exp and tanh, with the former in a part."""

    def names(self: Any, data: Any) -> dict[str, Any]:
        return {name: load(name) for name in bytes(data).decode().split()}

    def compile_(self: Any, module: Any, options: Any) -> bytes:
        return " ".join(self.functions(module)).encode()

    text = f"""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
      %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("{node}"("onnx.Exp"))
      %1 = "relax.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("the_tanh"("onnx.Tanh"))
      return %1 : tensor<4xf32>
    }}"""
    with codegen([("npu.exp", is_op("relax.exp"))], compile=compile_, load=names) as name:
        program = rx.compile(rx.Module.parse(text), partition=[name], strict_partition=True)
        assert "main" in program.copying()  # it is loaded, by this codegen
        return program


@pytest.fixture(scope="module")
def program() -> Executable:
    return compiled(lambda name: run)


@pytest.fixture
def telling(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[Any], None]], None]]:
    def tell(told: Callable[[Any], None]) -> None:
        monkeypatch.setitem(globals(), "_told", told)

    yield tell


def part(profile: Profile) -> Any:
    (found,) = [each for each in profile.kernels if each.codegen]
    return found


def two_steps(report: Any) -> None:
    begin = time.perf_counter()
    time.sleep(0.002)
    middle = time.perf_counter()
    report("load", ["the_exp"], begin, middle - begin)
    for _ in range(3):
        report("compute", ("the_exp",), middle, 0.0)


def test_steps_of_a_profile(program: Executable, telling: Any) -> None:
    telling(two_steps)
    profile = program.profile("main", X, repeat=4)
    assert part(profile).engine == part(profile).codegen
    npu = part(profile)
    assert (npu.codegen, npu.nodes) == ("npu", ("the_exp",))
    assert [(each.name, each.nodes, each.calls) for each in npu.steps] == [
        ("load", ("the_exp",), 1),
        ("compute", ("the_exp",), 3),
    ]
    load = npu.steps[0]
    assert 0.002 <= load.seconds <= npu.seconds
    assert load.share == pytest.approx(load.seconds / profile.profiled_seconds)
    assert npu.between_steps == pytest.approx(npu.seconds - load.seconds)
    operators = {(each.codegen, each.operator): each for each in profile.by_operator()}
    assert set(operators) == {("npu", "onnx.Exp"), ("npu", "between steps"), ("", "relax.tanh")}
    assert sum(each.share for each in operators.values()) + profile.between_share == pytest.approx(1)
    assert sum(each.seconds for each in operators.values()) == pytest.approx(sum(k.seconds for k in profile.kernels))
    lines = [line.split() for line in str(profile).splitlines()]
    assert any(line[4:] == ["load", "the_exp"] for line in lines)
    assert any(line[-2:] == ["between", "steps"] for line in lines)
    assert any(line[-2:] == ["npu:", "onnx.Exp"] for line in lines)
    assert "left out" not in str(profile.notes)


def test_a_part_that_reports_nothing(program: Executable) -> None:
    profile = program.profile("main", X, repeat=2)
    assert part(profile).steps == ()
    assert [each.operator for each in profile.by_operator() if each.codegen] == ["whole parts"]


def test_nobody_asks(program: Executable, telling: Any) -> None:
    telling(lambda report: pytest.fail("there is nobody to report to"))
    assert step_reporter() is None
    program["main"](X)


def test_steps_of_another_threads_call_are_not_reported(program: Executable, telling: Any) -> None:
    seen: list[object] = []
    mine = threading.get_ident()

    def tell(report: Any) -> None:
        if threading.get_ident() == mine and not seen:
            thread = threading.Thread(target=lambda: seen.append(step_reporter()) or program["main"](X))
            thread.start()
            thread.join()
        report("mine", [], time.perf_counter(), 0.0)

    telling(tell)
    assert [each.calls for each in part(program.profile("main", X, repeat=1)).steps] == [1]
    assert seen == [None]


def test_steps_with_durations_alone_are_consecutive(program: Executable, telling: Any) -> None:
    def tell(report: Any) -> None:
        time.sleep(0.01)
        for name in ("a", "b"):
            report(name, [], None, 0.001)

    telling(tell)
    trace = program.trace("main", X, warmup=0)
    (npu,) = trace.of_kind("part")
    one, other = trace.of_kind("step")
    assert (one.name, other.name, other.begin) == ("a", "b", one.end)
    assert 0 <= one.begin - npu.begin < one.end - one.begin == 1_000_000
    assert trace.notes == ()


def test_a_device_s_threads_may_report(program: Executable, telling: Any) -> None:
    def tell(report: Any) -> None:
        threads = [threading.Thread(target=report, args=("t", [], time.perf_counter(), 0.0)) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    telling(tell)
    assert [(each.name, each.calls) for each in part(program.profile("main", X, repeat=1)).steps] == [("t", 4)]


class _NoText:
    def __repr__(self) -> str:
        raise KeyError("no text")


BAD = [
    (("s", [], "now", 1.0), "step 's' begins at 'now' and takes 1.0, which are no seconds"),
    (("s", [], 1.0, float("nan")), "step 's' begins at 1.0 and takes nan, which are no seconds"),
    (("s", [], float("inf"), 1.0), "step 's' begins at inf and takes 1.0, which are no seconds"),
    (("s", [], 1.0, 10**5000), "step 's' begins at 1.0 and takes an object of type int, which are no seconds"),
    (("s", [], 1.0), "step 's' begins at 1.0 and takes None, which are no seconds"),
    (("s", [], None, -0.5), "step 's' takes -0.5 s"),
    (("s", [], 0.0, 1.0), "step 's' is outside of its part, by "),
    (("s", [], None, 5.0), "step 's' is outside of its part, by 5 s"),
    ((3, [], None, 0.0), "a step is called 3: a name is text"),
    (("", [], None, 0.0), "a step is called '': a name is text"),
    ((_NoText(), [], None, 0.0), "a step is called an object of type _NoText: a name is text"),
    (("s", "conv", None, 0.0), "step 's' is of the nodes 'conv': a list of names is needed"),
    (("s", [1, 2], None, 0.0), "step 's' is of the nodes [1, 2]: a list of names is needed"),
    (("s", None, None, 0.0), "step 's' is of the nodes None: a list of names is needed"),
]


@pytest.mark.parametrize(("reported", "said"), BAD)
def test_malformed_step_reports_become_notes(
    program: Executable, telling: Any, reported: tuple[object, ...], said: str
) -> None:
    def tell(report: Any) -> None:
        report(*reported)
        report("good", ["the_exp"], None, 0.0)

    telling(tell)
    for measured in (program.profile("main", X, repeat=2, warmup=0), program.trace("main", X, repeat=2, warmup=0)):
        (note,) = [each for each in measured.notes if "left out" in each]
        label = "codegen 'npu', part 'fused_exp_npu' (the_exp): "
        assert note.startswith(label + said), note
        assert note.endswith("; it is left out, and 1 more like it"), note
    assert [each.name for each in part(program.profile("main", X, repeat=2)).steps] == ["good"]
    numpy.testing.assert_allclose(program["main"](X), numpy.tanh(numpy.exp(X)), rtol=1e-6)


def test_names_are_shown_on_one_line() -> None:
    call = PartCall("a part")
    call.report("two\nlines \ud800", ["a\tb"], None, 0.0)
    call.end = time.perf_counter_ns()
    (step,) = call.steps()
    assert (step.name, step.nodes) == ("two\\nlines \\ud800", ("a\\tb",))
    assert str(step.name).encode()


def test_a_step_a_little_outside_is_cut() -> None:
    """Cut steps slightly outside of the call, since devices' clocks are converted."""
    call = PartCall("a part")
    call.end = call.begin + 10_000
    call.report("early", [], (call.begin - 500) * 1e-9, 2e-6)
    call.report("late", [], (call.end - 1000) * 1e-9, 1.5e-6)
    early, late = call.steps()
    assert early.begin == call.begin and late.end == call.end
    assert notes_on_steps((call.label, each) for each in call.problems) == []


# ---- lists of C calls ----

C = ctypes.CDLL(None)


def listed(step: Any, nodes: Any) -> Callable[[Any], NativeFunction]:
    def make(x: Any, out: Any) -> CallList:
        copied = Call(C.memcpy, [Passed(1), Passed(0), 16], step=step, nodes=nodes)
        return CallList([Call(C.getpid), Call(C.usleep, [2000]), copied, Call(C.usleep, [2000])])

    return lambda name: NativeFunction(make, arguments=2)


def test_c_calls_are_timed() -> None:
    program = compiled(listed("copy", ("the_exp",)))
    profile = program.profile("main", X, repeat=3)
    steps = {each.name: each for each in part(profile).steps}
    assert {name: each.calls for name, each in steps.items()} == {"usleep": 2, "copy": 1, "getpid": 1}
    assert (steps["copy"].nodes, steps["usleep"].nodes) == (("the_exp",), ())
    assert 0.004 <= steps["usleep"].seconds <= part(profile).seconds
    names = [each.name for each in program.trace("main", X).of_kind("step")]
    assert names == ["getpid", "usleep", "copy", "usleep"]
    numpy.testing.assert_allclose(program["main"](X), numpy.tanh(X), rtol=1e-6)


def test_names_of_c_calls_that_are_none() -> None:
    program = compiled(listed(["copy"], ()))
    profile = program.profile("main", X, repeat=1, warmup=0)
    assert {each.name for each in part(profile).steps} == {"usleep", "getpid"}
    assert "call 2 of a list of C calls: a step is called ['copy']: a name is text; it is left out" in profile.notes


def test_a_list_of_calls_that_is_gone() -> None:
    from relax_mlir.runtime.native_calls import step_at

    assert step_at(1, 0) == ("a C call", ())


# ---- names of nodes, while compiling ----


def test_node_names() -> None:
    seen: dict[str, Any] = {}

    def compile_(self: Any, module: Any, options: Any) -> bytes:
        (function,) = self.functions(module).values()
        (graph,) = self.steps(module).values()
        seen["whole"] = [step.nodes for step in graph.steps]
        (single,) = self.steps(module, whole=False).values()
        seen["single"] = [step.nodes for step in single.steps]
        composites = [op for op in module.operation.regions[0].blocks[0] if "relax.composite" in op.attributes]
        seen["composite"] = [rx.codegens.node_names(each.operation) for each in composites]
        seen["function"] = rx.codegens.node_names(function)
        seen["none"] = rx.codegens.node_names()
        raise rx.RelaxError("enough")

    module = rx.Module.parse("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("the_exp"("onnx.Exp"))
      %1 = "relax.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("the_tanh")
      return %1 : tensor<4xf32>
    }""")
    pattern = is_op("relax.tanh")(is_op("relax.exp"))
    with codegen([("npu.both", pattern)], compile=compile_) as name:
        rx.compile(module, partition=[name])
    both = ("the_exp", "the_tanh")
    assert seen == {"whole": [both], "single": [both[:1], both[1:]], "composite": [both], "function": both, "none": ()}


def test_an_operation_without_names_has_its_place() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.exp(*f))
    (name,) = rx.codegens.node_names(module.operation)
    assert name.rpartition("/")[2].startswith("test_part_steps.py:")
