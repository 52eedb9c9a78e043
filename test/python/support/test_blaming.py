# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions in functions of users: a RelaxError names the function, the operator and the line."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy
import onnx
import pytest
from onnx import TensorProto, helper
from own_rules import without_new
from relax_mlir.frontends.onnx.registry import CONVERTERS
from relax_mlir.passes.evaluate import registry as evaluations
from relax_mlir.passes.graph import gradient_rules as gradients
from relax_mlir.passes.graph.decompose import registry as decompositions
from relax_mlir.passes.graph.layout import registry as layouts
from relax_mlir.passes.kernels.intrinsics import registry as intrinsics
from relax_mlir.passes.kernels.schedule import registry as schedules
from relax_mlir.passes.legalize import rules
from relax_mlir.support.blaming import blaming, is_ours, message_at

import relax_mlir as rx
from relax_mlir import relax, tir
from relax_mlir.patterns import is_op, wildcard

blamed = rx.Dialect("blamed", doc="Whose functions fail.")
blamed.op("bad_infer", "x", infer=lambda call: call.x.nosuch, doc="")
blamed.op("bad_verify", "x", infer=lambda call: call.x, verify=lambda op, call: op.nosuch, doc="")
blamed.op("bad_prepare", "x", infer=lambda call: call.x, prepare=lambda arguments: arguments["nosuch"], doc="")
blamed.op("same", "x", infer=lambda call: call.x, doc="")
tir.declare_intrinsic("twice", "x", dialect=blamed, doc="")
_REGISTRIES = (
    rules._RULES, intrinsics._RULES, evaluations._EVALUATIONS, gradients._RULES, decompositions._DECOMPOSITIONS,
    layouts._RULES, schedules._SCHEDULES, CONVERTERS,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    for registry in _REGISTRIES:
        registry.load()
    kept = [without_new(registry) for registry in _REGISTRIES]
    for each in kept:
        each.__enter__()
    yield
    for each in kept:
        each.__exit__(None, None, None)


def nosuch(thing: Any, *others: Any) -> Any:
    """Make a user's mistake: access a missing attribute."""
    return thing.nosuch


def module(make: Callable[..., Any] = blamed.same, shape: tuple[int, ...] = (4,)) -> rx.Module:
    made = rx.Module()
    with made.function("main", {"x": rx.tensor(shape)}) as f:
        f.returns(make(*f))
    return made


def compiled(make: Callable[..., Any] = blamed.same) -> None:
    rx.compile(module(make), jobs=1, cache=False)


def legalize() -> None:
    rx.register_legalize("blamed.same")(lambda call: call.elementwise(nosuch))
    compiled()


def legalize_body() -> None:
    rx.register_legalize("blamed.same")(lambda call: call.loops(nosuch))
    compiled()


def intrinsic() -> None:
    rx.register_lower_intrinsic("blamed.twice")(nosuch)
    rx.register_legalize("blamed.same")(lambda call: call.elementwise(blamed.twice))
    compiled()


def evaluation() -> None:
    rx.register_evaluation("blamed.same")(nosuch)
    rx.Pipeline("relax-fold-constant").run(module(lambda x: blamed.same(relax.const(numpy.ones(4, "float32")))))


def gradient() -> None:
    rx.register_gradient("blamed.same")(nosuch)
    rx.grad(module(lambda x: relax.sum(blamed.same(x))), "main", wrt=["x"])


def late_gradient() -> None:
    rx.register_gradient("blamed.same")(lambda call: lambda: nosuch(5))
    rx.grad(module(lambda x: relax.sum(blamed.same(x))), "main", wrt=["x"])


def decomposition() -> None:
    rx.register_decomposition("blamed.same")(nosuch)
    rx.Pipeline("relax-decompose-ops{ops=blamed.same}").run(module())


def layout() -> None:
    rx.register_layout("blamed.same")(nosuch)
    made = rx.Module()
    with made.function("main", {"x": rx.tensor((1, 3, 8, 8)), "w": rx.tensor((4, 3, 3, 3))}) as f:
        f.returns(blamed.same(relax.nn.conv2d(*f)))
    rx.Pipeline("relax-convert-layout{desired=relax.nn.conv2d:NHWC:OHWI}").run(made)


def schedule() -> None:
    rx.register_schedule(operator="relax.exp", target="llvm")(nosuch)
    compiled(relax.exp)


def converter() -> None:
    rx.register_onnx("blamed", "Op")(nosuch)
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    nodes = [helper.make_node("Op", ["x"], ["y"], domain="blamed")]
    graph = helper.make_graph(nodes, "g", [info], [helper.make_empty_tensor_value_info("y")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("blamed", 1)]
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    rx.from_onnx(model)


def check() -> None:
    pattern = is_op("relax.exp")(wildcard()).where(nosuch)
    rx.apply_greedy(module(relax.exp), [rx.rewrite(pattern, lambda match: match["x"])])


def replacement() -> None:
    rx.apply_greedy(module(relax.exp), [rx.rewrite(is_op("relax.exp")(wildcard()), nosuch)])


def greedy() -> None:
    rx.apply_greedy(module(relax.exp), [rx.Pattern("relax.exp", nosuch)])


def conversion() -> None:
    made = rx.Conversion("mine")
    made.add("relax.exp", nosuch)
    made.run(module(relax.exp))


@dataclass(frozen=True)
class Failing(rx.Pass):
    """Pass that fails."""

    name: ClassVar[str] = "blamed-pass"

    def run(self, op: Any) -> None:
        nosuch(op)


_LINE = r"\(at support/test_blaming.py:\d+\)"
_PLACE = r"test_blaming.py:\d+: "
CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "inference": (lambda: module(blamed.bad_infer), "the inference of 'blamed.bad_infer': "),
    "verification": (
        lambda: module(blamed.bad_verify).verify(),
        _PLACE + "(the module is not valid: )?the verification of 'blamed.bad_verify': ",
    ),
    "prepare": (lambda: module(blamed.bad_prepare), "the prepare function of 'blamed.bad_prepare': KeyError: 'nosuch'"),
    "legalize": (legalize, _PLACE + r"the rule <lambda> for default \(.*\) of 'blamed.same': "),
    "body": (legalize_body, _PLACE + r"the rule <lambda> for default \(.*\) of 'blamed.same': "),
    "intrinsic": (intrinsic, _PLACE + r"the rule nosuch, lower for default \(.*\) of 'blamed.twice': "),
    "evaluation": (evaluation, "the evaluation of 'blamed.same': "),
    "gradient": (gradient, _PLACE + "the rule for the derivative of 'blamed.same': "),
    "late gradient": (late_gradient, _PLACE + "the rule for the derivative of 'blamed.same': "),
    "decomposition": (decomposition, _PLACE + "the decomposition of 'blamed.same': "),
    "layout": (layout, _PLACE + "the layout rule of 'blamed.same': "),
    "schedule": (schedule, _PLACE + "schedule 'nosuch' of @exp: "),
    "converter": (converter, r"(?s).*blamed.Op .* the converter 'nosuch': "),
    "check": (check, _PLACE + r"pattern relax.exp\(\*\).*: nosuch: "),
    "replacement": (replacement, _PLACE + r"the replacement of pattern relax.exp\(\*\): "),
    "pattern": (greedy, _PLACE + "pattern 'nosuch' for 'relax.exp': "),
    "conversion": (conversion, _PLACE + "pattern 'nosuch' for 'relax.exp': "),
    "pass": (lambda: Failing()(module()), "pass blamed-pass: "),
    "pass in a pipeline": (lambda: rx.Pipeline([Failing()]).run(module()), "pass blamed-pass: "),
}


@pytest.mark.parametrize("case", CASES)
def test_exceptions_of_users_functions_name_their_line(case: str) -> None:
    act, message = CASES[case]
    with pytest.raises(rx.RelaxError) as caught:
        act()
    assert re.match(message, str(caught.value)), str(caught.value)
    assert re.search(_LINE, str(caught.value)), str(caught.value)
    assert isinstance(caught.value.__cause__, (AttributeError, KeyError))


def test_an_operators_error_in_a_rule_names_the_rule() -> None:
    rx.register_legalize("blamed.same")(lambda call: relax.add(call.operands[0]))
    with pytest.raises(rx.RelaxError) as caught:
        compiled()
    first, note = str(caught.value).split("\n")
    assert re.match(_PLACE + r"'relax.add' op misses operand 'x2'", first)
    assert re.match(r"note: in the rule <lambda> for default .* of 'blamed.same', at support/test_blaming.py:\d+", note)


def test_internal_errors_are_not_blamed_on_callers() -> None:
    """Report an exception in this project's function as a bug, not as the caller's error."""

    def ours() -> None:
        raise KeyError("ours")

    ours.__module__ = "relax_mlir.passes.something"
    assert is_ours(ours)
    assert not any(map(is_ours, (nosuch, functools.partial(nosuch, 5), numpy.exp)))
    with pytest.raises(KeyError, match="ours"), blaming("something", ours):
        ours()


def test_an_error_in_a_users_call_of_our_function_names_both() -> None:
    with pytest.raises(rx.RelaxError) as caught, blaming("the rule", nosuch):
        rx.find_op(object())  # type: ignore[arg-type]
    assert "is_blamed" in vars(caught.value)
    with pytest.raises(rx.RelaxError) as inside, blaming("the rule", nosuch):
        message_at(5, nosuch)  # type: ignore[arg-type]  # fails inside
    text = str(inside.value)
    assert re.search(
        r"the rule: AttributeError: .* \(at support/test_blaming.py:\d+\)\nnote: .*bug of relax-mlir", text
    )


@pytest.mark.parametrize("error", [MemoryError(), KeyboardInterrupt()])
def test_answers_and_interrupts_are_not_blamed(error: BaseException) -> None:
    with pytest.raises(type(error)), blaming("something", nosuch):
        raise error
    with pytest.raises(rx.Decline), blaming("something", nosuch, answers=(rx.Decline,)):
        raise rx.Decline("no")
    with pytest.raises(rx.RelaxError, match=r"something: SystemExit: 3"), blaming("something", nosuch):
        raise SystemExit(3)


@pytest.mark.parametrize(
    "declaring",
    [
        'd = rx.Dialect("failing")',
        'helper.op("failing", "x", infer=lambda call: call.x, doc="Of a module that fails.")',
        'rx.register_target(rx.Target("failing", parents=("llvm",), stages=lambda stages: stages))',
        '@rx.codegens.register_codegen("failing")\nclass Failing(rx.codegens.Codegen):\n    patterns = ()',
    ],
)
def test_a_module_that_fails_on_import_fails_alike_again(declaring: str, tmp_path: Path) -> None:
    """Import a module twice that declares something and then fails, and once more without the failure."""
    (tmp_path / "helper_of_failing.py").write_text('import relax_mlir as rx\nd = rx.Dialect("helping")\n')
    text = f"import relax_mlir as rx\nfrom helper_of_failing import d as helper\n{declaring}\n"
    (tmp_path / "failing.py").write_text(f"{text}int('what')\n")
    script = """
import importlib, pathlib, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
for _ in range(3):
    try:
        import failing
    except ValueError as error:
        print(error)
file = pathlib.Path(sys.argv[1], "failing.py")
file.write_text(file.read_text().replace("int('what')", ""))
importlib.invalidate_caches()
import failing
importlib.reload(failing)
"""
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, timeout=600)
    assert done.stdout.splitlines() == ["invalid literal for int() with base 10: 'what'"] * 3, done.stderr
    reloaded = done.stderr.splitlines()[-1:]  # a module that lives still declares a thing once
    assert done.returncode == 0 or "twice: at" in reloaded[0], done.stderr
