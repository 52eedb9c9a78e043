# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX model with custom operators, which become relax operators, a hand-written PrimFunc and an external call."""

from __future__ import annotations

from typing import Any

import numpy
import tvm_ffi
from onnx import helper

import relax_mlir as rx

DOMAIN = "example.meter"


def model() -> Any:
    """Return the levels of a signal's running maximum, softly limited: three custom operators."""
    nodes = [
        helper.make_node("SoftLimit", ["signal"], ["limited"], domain=DOMAIN, name="limit", bound=2.0),
        helper.make_node("RunningMax", ["limited"], ["highest"], domain=DOMAIN, name="highest"),
        helper.make_node("Levels", ["highest"], ["levels"], domain=DOMAIN, name="levels"),
    ]
    signal, levels = (helper.make_tensor_value_info(name, 1, ["channels", "time"]) for name in ("signal", "levels"))
    graph = helper.make_graph(nodes, "meter", [signal], [levels])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 1)])


# 1. With relax operators: they are fused and scheduled like all others.
def soft_limit(node: Any) -> Any:
    bound = rx.relax.const(node.float("bound", 1.0), node.value(0).dtype)
    return rx.relax.multiply(rx.relax.tanh(rx.relax.divide(node.tensor(0), bound)), bound)


# 2. With a hand-written PrimFunc: a loop that no operator has.
def running_max(x: Any, out: Any) -> None:
    def sample(i: Any, t: Any) -> None:
        value, is_first = rx.loops.load(x, i, t), t == 0
        before = rx.loops.load(out, i, rx.select(is_first, t, t - 1))
        rx.loops.store(rx.select(is_first | (value > before), value, before), out, i, t)

    rx.loops.nest(rx.loops.sizes(x), sample)


def running_max_of(node: Any) -> Any:
    return node.call_tir(running_max, [node.tensor(0)], node.value(0).info)


# 3. With an external function, in any language that tvm-ffi supports. The program finds it by name at run time.
def levels(x: Any, out: Any) -> None:
    numpy.from_dlpack(out)[...] = numpy.round(numpy.from_dlpack(x) * 10) / 10


def levels_of(node: Any) -> Any:
    return rx.relax.call_dps_packed("example.levels", [node.tensor(0)], node.value(0).info)


def teach() -> None:
    """Register the converters. Usually the call is a decorator; here the compiler first shows its error."""
    rx.register_onnx(DOMAIN, "SoftLimit")(soft_limit)
    rx.register_onnx(DOMAIN, "RunningMax")(running_max_of)
    rx.register_onnx(DOMAIN, "Levels")(levels_of)
    tvm_ffi.register_global_func("example.levels", levels, override=True)


def with_numpy(signal: Any) -> Any:
    return numpy.round(numpy.maximum.accumulate(numpy.tanh(signal / 2) * 2, axis=1) * 10) / 10


def main() -> None:
    try:
        rx.from_onnx(model())
    except rx.RelaxError as refusal:
        print(f"{refusal}\n")
    teach()
    module = rx.from_onnx(model())
    print(module)
    signal = numpy.random.default_rng(0).normal(size=(3, 12)).astype("float32")
    result = numpy.from_dlpack(rx.compile(module)["main"](signal))
    print(result)
    print(f"as with numpy: {numpy.allclose(result, with_numpy(signal), atol=1e-6)}")


if __name__ == "__main__":
    main()
