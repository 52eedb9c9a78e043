# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Intrinsic of a user: a C function of the accelerator on one target, arithmetic with a loop on another (seeds/001)."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from relax_mlir.dialects.tir import declare_intrinsic
from relax_mlir.emit import loops
from relax_mlir.emit.numbers import constant
from relax_mlir.passes.kernels.tir_lower_intrinsics import LowerIntrinsics

import relax_mlir as rx
from relax_mlir import relax, tir

dep_pop = declare_intrinsic("vta_test.dep_pop", "queue", result=None, pure=False, doc="Waits for a queue.")
magnitude = declare_intrinsic("vta_test.magnitude", "x", doc="|x|, as the unit computes it.")
doubled = declare_intrinsic("vta_test.doubled_sum", "x", doc="x + x, written as a loop.")

rx.register_target(rx.Target("vta-test", parents=("llvm",)))


@rx.register_lower_intrinsic("tir.vta_test.dep_pop", target="vta-test")
def pop(op: Any) -> Any:
    return tir.call_extern("VTADepPop", list(op.operation.operands), ())


@rx.register_lower_intrinsic("tir.vta_test.magnitude", target="vta-test")
def call_c(op: Any) -> Any:
    """Call C's library in the place of the vendor's."""
    return tir.call_pure_extern("llabs", list(op.operation.operands), "i64")


@rx.register_legalize_intrinsic("tir.vta_test.magnitude", target="llvm")
def arithmetic(op: Any) -> Any:
    x = rx.number(op.operation.operands[0])
    return rx.select(x < 0, 0 - x, x)


@rx.register_legalize_intrinsic("tir.vta_test.doubled_sum")
def loop(op: Any) -> Any:
    """Emit statements with a loop."""
    x = op.operation.operands[0]
    return loops.for_range(0, 2, lambda i, total: total + x, constant(0, x.type))[0]


def module_with(intrinsic: Any) -> rx.Module:
    """Return a module with an operator whose legalization rule is the intrinsic."""
    module = rx.Module()
    with module.function("main", [rx.tensor(("n",), "int64")]) as f:
        f.returns(relax.negative(*f))

    def rule(call: Any) -> Any:
        return call.elementwise(intrinsic)

    rx.LegalizeOps(target="llvm", customize_legalize_map={"relax.negative": rule})(module)
    return module


@pytest.mark.parametrize(("target", "calls"), [("vta-test", True), ("llvm", False)])
def test_one_target_calls_c_and_the_other_computes(target: str, calls: bool) -> None:
    module = module_with(magnitude)
    lowered = rx.lower(module, target, pipeline=rx.stages(target).until("intrinsics"))
    assert ("@llabs" in str(lowered)) == calls
    executable = rx.compile(module, target=target)
    x = numpy.array([3, -4, 0, -(2**40)], "int64")
    numpy.testing.assert_array_equal(numpy.from_dlpack(executable["main"](x)), abs(x))


def test_a_rule_of_statements_with_a_loop() -> None:
    module = module_with(doubled)
    assert "scf.for" in str(rx.lower(module, pipeline=rx.stages().until("intrinsics")))
    x = numpy.array([3, -4], "int64")
    numpy.testing.assert_array_equal(numpy.from_dlpack(rx.compile(module)["main"](x)), 2 * x)


def test_a_call_with_an_effect() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,), "int64")]) as f:
        f.returns(relax.negative(*f))

    def rule(call: Any) -> Any:
        def body(x: Any, out: Any) -> None:
            dep_pop(constant(1, "i64"))
            loops.for_range(0, 4, lambda i: loops.store(loops.load(x, i), out, i))

        return call.loops(body)

    rx.LegalizeOps(customize_legalize_map={"relax.negative": rule})(module)
    text = str(module)
    assert "tir.vta_test.dep_pop" in text
    with pytest.raises(rx.RelaxError, match=r"tir\.vta_test\.dep_pop"):
        LowerIntrinsics(target="llvm")(rx.Module.parse(text))
    LowerIntrinsics(target="vta-test")(module)
    assert "call @VTADepPop(" in str(module) and "func.func private @VTADepPop(i64)" in str(module)
