# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Definitions of targets: rules, schedules, host and code generation; refusals."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from relax_mlir.passes.kernels.schedule.registry import schedules_for
from relax_mlir.passes.legalize.rules import rules_by_op
from relax_mlir.targets.core.registry import (
    host_chain,
    legal_operators,
    options_of,
    parse_target,
    rules_chain,
    schedules_chain,
)

import relax_mlir as rx
from relax_mlir import relax


class Marking(rx.Backend):
    """Backend with llvm's code and an additional mark."""

    def machine(self, target: Any) -> Any:
        return rx.find_backend("llvm").machine(target)

    def stages(self, target: Any) -> Any:
        return rx.find_backend("llvm").stages(target)

    def build(self, module: Any, target: Any, options: Any) -> Any:
        made = rx.find_backend("llvm").build(module, target, options)
        return replace(made, features=(), entries=tuple({**entry, "made_by": str(target)} for entry in made.entries))


rx.register_target(rx.Target("apart-rules", parents=("llvm",), legal=frozenset({"relax.tan"})))
rx.register_target(rx.Target("apart-schedules", parents=("llvm",)))
rx.register_target(
    rx.Target("apart-host", backend=Marking, options=(rx.TargetOption("unit", "which one"),), host="llvm")
)
rx.register_target(
    rx.Target(
        "apart", rules=("apart-rules",), schedules=("apart-schedules", "default"), host="apart-host", doc="Three."
    )
)


@rx.register_legalize("relax.exp", target="apart-rules")
def exp_by_rules(call: Any) -> Any:
    return call.elementwise(lambda x: x)


@rx.register_schedule("elemwise", target="apart-schedules")
def schedule_apart(function: Any, context: Any) -> Any:
    return context.decline("only reported")


def names(chain: Any) -> list[str]:
    return [target.name for target in chain]


def with_exp() -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.exp(*f))
    return module


def test_rules_schedules_and_host_are_apart() -> None:
    assert names(rules_chain("apart")) == ["apart", "apart-rules", "llvm", "cpu", "default"]
    assert names(schedules_chain("apart")) == ["apart", "apart-schedules", "llvm", "cpu", "default"]
    assert names(host_chain("apart")) == ["apart", "apart-host", "llvm", "cpu"]
    assert [rule.target for rule in rules_by_op("apart")["relax.exp"]] == ["apart-rules", "default"]
    assert schedules_for(rx.OpPattern.parse("elemwise"), "apart")[0].function is schedule_apart
    assert repr(rx.find_target("apart")) == (
        "<target apart, rules after apart-rules, schedules after apart-schedules, default, host apart-host: Three.>"
    )


def test_without_a_word_nothing_comes_after_but_the_default() -> None:
    rx.register_target(rx.Target("apart-alone", parents=("llvm",), rules=(), schedules=()))
    assert names(rules_chain("apart-alone")) == names(schedules_chain("apart-alone")) == ["apart-alone", "default"]
    assert names(host_chain("apart-alone")) == ["apart-alone", "llvm", "cpu"]


def test_options_stages_and_what_is_legal_are_the_hosts() -> None:
    assert {option.name for option in options_of("apart")} >= {"unit", "cpu"}
    assert rx.stages("apart").names == rx.stages("llvm").names
    assert "relax.tan" not in legal_operators("apart") and "relax.reshape" in legal_operators("apart")


def test_stages_of_c_and_cuda_do_not_follow_llvms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that stages depend neither on llvm's nor on the compiling processor."""
    before = {target: list(rx.stages(target, opt_level=3)) for target in ("c", "cuda")}
    monkeypatch.setattr(type(rx.find_backend("llvm")), "stages", lambda *_: ())
    assert {target: list(rx.stages(target, opt_level=3)) for target in before} == before


def test_code_is_made_by_the_hosts_backend() -> None:
    executable = rx.compile(with_exp(), "apart{unit=two}", cache=False)
    assert executable.signature("main")["made_by"] == "apart{unit=two}"
    assert rx.find_backend("apart") is rx.find_backend("apart-host")
    # The rule says that nothing happens.
    assert executable["main"]([1, 2, 3, 4]).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"rules": ("llvn",)}, "target 'apart-bad', rules: unknown target 'llvn'; did you mean 'llvm'"),
        ({"schedules": ("llvn",)}, "target 'apart-bad', schedules: unknown target 'llvn'"),
        ({"host": "llvn"}, "target 'apart-bad', host: unknown target 'llvn'"),
        ({"rules": "llvm"}, r"target 'apart-bad': rules='llvm': expected names, like \('llvm',\)"),
        ({"legal": "relax.exp"}, "legal='relax.exp': expected names"),
        ({"rule_modules": "mynpu.rules"}, "rule_modules='mynpu.rules': expected names"),
        ({"host": ("llvm",)}, r"host=\('llvm',\): expected one name"),
        ({"rules": ("apart-bad",)}, "apart-bad', rules: targets name each other in a circle: apart-bad -> apart-bad"),
    ],
)
def test_wrong_names_are_refused(field: dict[str, Any], message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        rx.register_target(rx.Target("apart-bad", **field))


def test_a_circle_of_packages_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "circle_two.py").write_text(
        "import relax_mlir as rx\nrx.register_target(rx.Target('circle-two', host='circle-one'))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    points = [("target", "circle-one", "circle_one"), ("target", "circle-two", "circle_two")]
    monkeypatch.setattr("relax_mlir.support.plugins._announced", points)
    (tmp_path / "circle_one.py").write_text(
        "import relax_mlir as rx\nrx.register_target(rx.Target('circle-one', rules=('circle-two',)))\n"
    )
    with pytest.raises(rx.RelaxError, match="in a circle: circle-one -> circle-two -> circle-one"):
        rx.find_target("circle-one")
    assert not {"circle_one", "circle_two"} & set(sys.modules)


class Lacking(rx.Backend):
    def machine(self, target: Any) -> Any:
        return None

    def stages(self, target: Any) -> Any:
        return ()


class Lacking2(rx.Backend):
    pass


class Asking(Marking):
    def __init__(self, unit: str) -> None:
        self.unit = unit


class Narrow(Marking):
    def build(self, module: Any, target: Any) -> Any:  # type: ignore[override]
        return None


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        (Lacking, r"target 'apart-bad': backend Lacking lacks build\(\)$"),
        (Lacking2, r"target 'apart-bad': backend Lacking2 lacks build\(\), machine\(\), stages\(\)$"),
        (Asking, "backend Asking is made without arguments: missing a required argument: 'unit'"),
        (Narrow, r"backend Narrow is given module, target, options in build\(\): too many positional arguments"),
        ("mynpu.backend", "backend='mynpu.backend': expected a class derived from rx.Backend"),
        (Marking(), "expected a class derived from rx.Backend"),
    ],
)
def test_objects_that_are_no_backends_are_refused(backend: Any, message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        rx.register_target(rx.Target("apart-bad", parents=("llvm",), backend=backend))


class Wrong(Marking):
    def build(self, module: Any, target: Any, options: Any) -> Any:
        return b"code"


class WrongStages(Marking):
    def stages(self, target: Any) -> Any:
        return ["schedule"]


def test_results_of_a_backend_are_checked() -> None:
    rx.register_target(rx.Target("apart-wrong", parents=("llvm",), backend=Wrong))
    with pytest.raises(rx.RelaxError, match=r"Wrong.build\(\) must return an rx.runtime.Artifact, got bytes"):
        rx.compile(with_exp(), "apart-wrong")
    rx.register_target(rx.Target("apart-wrong-stages", parents=("llvm",), backend=WrongStages))
    with pytest.raises(rx.RelaxError, match=r"WrongStages.stages\(\) must return rx.Stage objects, got str"):
        rx.stages("apart-wrong-stages")


def test_optional_methods_of_a_backend_have_defaults() -> None:
    backend, target = rx.find_backend("apart"), parse_target("apart")
    backend.prepare(target, rx.CodeOptions())
    backend.complete(with_exp().operation, target)
    with pytest.raises(rx.RelaxError, match="target 'apart' makes no assembly: --emit=obj or --emit=artifact may do"):
        backend.assembly(with_exp().operation, target, rx.CodeOptions())
