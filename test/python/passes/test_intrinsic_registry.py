# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of intrinsics by target: their order, refusals of the registration, and an intrinsic of a user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import relax_mlir.targets  # noqa: F401  # makes this project's targets known
from intrinsic_jit import compiled, loop_text
from own_rules import without_new
from relax_mlir.bindings.conversion import Decline
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects import tir
from relax_mlir.dialects.context import create_context
from relax_mlir.emit.numbers import number, numbers
from relax_mlir.passes.kernels.intrinsics import registry
from relax_mlir.passes.kernels.intrinsics.registry import (
    all_intrinsic_rules,
    intrinsic_rules_by_op,
    intrinsics_table,
    register_legalize_intrinsic,
    register_lower_intrinsic,
)
from relax_mlir.passes.kernels.tir_lower_intrinsics import LowerIntrinsics
from relax_mlir.support.errors import RelaxError
from relax_mlir.targets.core.registry import Target, register_target

# ---- package for an accelerator: an intrinsic, a target, and rules for it ----
tir.declare_intrinsic("vta.coproc_dep_pop", "from_queue to_queue", doc="Waits for a token between queues.")
tir.declare_intrinsic("vta.sync", "queue", result=None, pure=False, doc="Waits for all.")
register_target(Target("vta", doc="An accelerator of this test's."))
register_target(Target("vta-cpu", parents=("llvm",), doc="Its simulator."))


@register_lower_intrinsic("tir.vta.coproc_dep_pop", target="vta")
def coproc_dep_pop(op: Any) -> Any:
    return tir.call_extern("VTADepPop", [op.from_queue, op.to_queue], "i32")


@register_lower_intrinsic("tir.vta.sync", target="vta")
def sync(op: Any) -> Any:
    return tir.call_extern("VTASync", [op.queue], ())


@register_legalize_intrinsic("tir.vta.coproc_dep_pop", target="llvm")
def simulated_dep_pop(op: Any) -> Any:
    return number(op.from_queue) * 16 + number(op.to_queue)


PROGRAM = loop_text("f", "tir.vta.coproc_dep_pop", ["i32", "i32"], ["i32"])


def lowered(text: str, target: str, **options: Any) -> str:
    with create_context():
        module = ir.Module.parse(text)
    LowerIntrinsics(target=target, **options)(module)
    return str(module)


@pytest.fixture
def rules() -> Iterator[None]:
    """Remove the rules that a test registers."""
    with without_new(registry._RULES):
        yield


def test_own_intrinsic_is_an_external_call_on_its_target() -> None:
    text = lowered(PROGRAM, "vta")
    assert '"tir.call_extern"' in text and 'func = "VTADepPop"' in text
    assert "vta.coproc_dep_pop" not in text


def test_a_function_says_whose_rules_it_gets() -> None:
    """Lower a function with another target next to one without a target, and refuse an unknown target."""
    other = PROGRAM.replace("@f(", "@g(").replace("{llvm.emit_c_interface}", '{tir.prim_func, tir.target = "vta"}')
    on_llvm, on_vta = lowered(PROGRAM + other, "llvm").split("func.func @g(")
    assert "arith.muli" in on_llvm and "tir.call_extern" not in on_llvm
    assert 'func = "VTADepPop"' in on_vta and "arith.muli" not in on_vta
    with pytest.raises(RelaxError, match="unknown target 'vtb'"):
        lowered(PROGRAM + other.replace('"vta"', '"vtb"'), "llvm")
    with pytest.raises(RelaxError, match=r"tir-lower-intrinsics for vta cannot convert 'tir\.exp'"):
        lowered(
            loop_text("f", "tir.exp", ["f32"], ["f32"]).replace(
                "{llvm.emit_c_interface}", '{tir.prim_func, tir.target = "vta"}'
            ),
            "llvm",
        )


def test_own_intrinsic_is_arithmetic_on_llvm_and_runs() -> None:
    result = np.zeros(3, np.int32)
    compiled(PROGRAM)("f", np.array([1, 2, 3], np.int32), np.array([4, 5, 6], np.int32), result)
    assert result.tolist() == [20, 37, 54]


def test_a_rule_without_results_must_create_an_operation() -> None:
    text = 'func.func @f(%q: i32) { "tir.vta.sync"(%q) : (i32) -> () return }'
    assert 'func = "VTASync"' in lowered(text, "vta")
    with pytest.raises(RelaxError, match=r"tir-lower-intrinsics for llvm cannot convert 'tir.vta.sync' op \(i32\)"):
        lowered(text, "llvm")


def rule(name: str, results: list[str], outcome: Any = None) -> Any:
    def function(op: Any) -> Any:
        results.append(name)
        return outcome if outcome is not number else numbers(op)[0]

    # All are written in one place; registration distinguishes functions by it.
    function.__code__ = function.__code__.replace(co_firstlineno=1000 + sum(map(ord, name)))
    function.__name__ = name
    return function


def test_rules_are_tried_in_order(rules: None) -> None:
    tried: list[str] = []
    register_legalize_intrinsic("tir.floor")(rule("default legalize", tried, number))
    register_legalize_intrinsic("tir.floor", "cpu")(rule("parent legalize", tried))
    register_lower_intrinsic("tir.floor", "cpu")(rule("parent lower", tried))
    register_legalize_intrinsic("tir.floor", "vta-cpu")(rule("legalize", tried, Decline("not now")))
    register_lower_intrinsic("tir.floor", "vta-cpu")(rule("lower", tried))
    register_legalize_intrinsic("tir.floor", "vta-cpu", fast_math=True)(rule("fast legalize", tried))
    register_lower_intrinsic("tir.floor", "vta-cpu", fast_math=True)(rule("fast lower", tried))
    text = 'func.func @f(%x: f64) -> f64 { %y = "tir.floor"(%x) : (f64) -> f64 return %y : f64 }'
    lowered(text, "vta-cpu", fast_math=True)
    assert tried == ["fast lower", "fast legalize", "lower", "legalize", "parent lower", "parent legalize"]
    assert [found.target for found in intrinsic_rules_by_op("vta-cpu")["tir.floor"]][-2:] == ["default", "default"]


def test_error_tells_every_rule_that_was_tried(rules: None) -> None:
    register_lower_intrinsic("tir.vta.sync", "vta-cpu")(rule("refuses", [], Decline("the queue is full")))
    text = 'func.func @f(%q: i32) { "tir.vta.sync"(%q) : (i32) -> () "tir.vta.sync"(%q) : (i32) -> () return }'
    with pytest.raises(RelaxError) as caught:
        lowered(text, "vta-cpu")
    assert "(and 1 more)" in str(caught.value)
    assert "the queue is full" in str(caught.value) and "refuses, lower for vta-cpu" in str(caught.value)
    assert len(caught.value.diagnostics) == 2


def test_intrinsics_created_by_a_rule_are_lowered(rules: None) -> None:
    @register_legalize_intrinsic("tir.vta.coproc_dep_pop", "vta-cpu")
    def by_gcd(op: Any) -> Any:
        return tir.gcd(op.from_queue, op.to_queue)

    assert "scf.while" in lowered(PROGRAM, "vta-cpu")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tir.exq",), "unknown operator 'tir.exq'; did you mean 'tir.exp'"),
        (("tir.exp", "lvm"), "unknown target 'lvm'; did you mean 'llvm'"),
        (("tir.sqrt",), "'tir.sqrt' has a lower rule for target 'default' already: direct, lower for default"),
    ],
)
def test_registration_refuses(arguments: tuple[str, ...], message: str, rules: None) -> None:
    all_intrinsic_rules()
    with pytest.raises(RelaxError, match=message.replace("(", r"\(")):
        register_lower_intrinsic(*arguments)(rule("another", []))


def test_rules_for_other_element_types_stand_side_by_side(rules: None) -> None:
    register_legalize_intrinsic("tir.vta.sync", dtypes=("f32",))(rule("one", []))
    register_legalize_intrinsic("tir.vta.sync", dtypes=("f64",))(rule("two", []))
    assert len(intrinsic_rules_by_op("vta")["tir.vta.sync"]) == 3
    with pytest.raises(RelaxError, match="already"):
        register_legalize_intrinsic("tir.vta.sync")(rule("three", []))


def test_every_intrinsic_has_a_rule_on_llvm_but_those_of_warps() -> None:
    # The targets' stages lower assertions and the results of packed functions.
    no_intrinsics = ("assertion", "results", "warp")
    # Intrinsics of the accelerator and of test_own_facts.py.
    elsewhere = ("vta", "ownfacts")
    families = [(name, op.family) for name, op in tir.dialect.ops.items() if not name.startswith(elsewhere)]
    own = [name for name, family in families if family not in no_intrinsics]
    assert {name for name in own if f"tir.{name}" not in intrinsic_rules_by_op("llvm")} == {"call_packed"}


def test_the_table_lists_rules_with_their_files() -> None:
    line = next(line for line in intrinsics_table("llvm").splitlines() if line.startswith("tir.tan "))
    assert line.split()[1:3] == ["llvm", "legalize"] and "intrinsics/trigonometric.py:" in line
