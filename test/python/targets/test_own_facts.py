# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All passes respect an external operator's row: views, writes, shapes, effects."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import tvm_ffi
from relax_mlir.dialects import relax, tir
from relax_mlir.emit import linalg

import relax_mlir as rx

own = rx.Dialect("ownfacts", doc="Operators of this test.")


def as_pairs(call: Any) -> Any:
    return rx.TensorInfo((call.x.shape[0] * 2, 2), call.x.dtype)


own.op("pairs", "x", infer=as_pairs, view="x", doc="Rows of two.")
own.op(
    "rest", "x", infer=lambda call: rx.TensorInfo((None, 2), call.x.dtype), view="x", doc="Rows of two, some number."
)
own.op("bump", "state", infer=lambda call: [], results="", pure=False, writes="state", role="call", doc="state += 1.")
own.op("bumped", "state", infer=lambda call: call.state, writes="state", view="state", role="call", doc="state += 1.")
own.op(
    "filled", "shape:shape", infer=lambda call: rx.TensorInfo(call.shape.dims, "f32"), shaped_by="shape", doc="Ones."
)
own.op("twice", "x", infer=lambda call: call.x, doc="Its rules have intrinsics with an effect and without.")
own.op("negated", "x", infer=lambda call: call.x, pattern="elemwise", doc="-x, which its row says how to fuse.")
own.op("negated_apart", "x", infer=lambda call: call.x, doc="-x; its row says nothing of it.")
tir.declare_intrinsic("ownfacts_tick", "x", pure=False, doc="Counts calls, say.")
tir.declare_intrinsic("tick", "x", dialect=own, pure=False, doc="Counts calls, say.")
tir.declare_intrinsic("plain", "x", dialect=own, short=True, doc="Computes something.")


@tvm_ffi.register_global_func("ownfacts.bump", override=True)
def bump(state: Any) -> None:
    view = numpy.from_dlpack(state)
    view += 1


def call_bump(op: Any, rewriter: Any) -> Any:
    relax.call_packed("ownfacts.bump", [op.state], [])
    return ()


class CallBump(rx.Pass):
    """Pass after fusion, where the writing operator is still the package's own."""

    name = "ownfacts-call-bump"
    dependent_dialects = ()

    def run(self, op: Any) -> None:
        rx.apply_walk(
            op,
            [
                rx.Pattern("ownfacts.bump", call_bump),
                rx.Pattern(
                    "ownfacts.bumped",
                    lambda op, rewriter: relax.call_inplace_packed(
                        "ownfacts.bump", [op.state], [0], op.operation.results[0].type
                    ),
                ),
            ],
        )


rx.register_target(
    rx.Target("ownfacts", parents=("llvm",), stages=lambda stages: stages.insert_after("fuse", "bump", CallBump()))
)


def module_of(build: Any, sizes: tuple[Any, ...] = ("n", 4)) -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(sizes)}) as f:
        f.returns(build(*f))
    return module


def run(build: Any, *, target: str = "ownfacts") -> Any:
    x = numpy.linspace(-2, 2, 24, dtype="float32").reshape(6, 4)
    executable = rx.compile(module_of(build), target, cache=False)
    return x, numpy.from_dlpack(executable["main"](x))


def kernels(module: rx.Module, rules: dict[str, Any] | None = None) -> list[str]:
    """Return the PrimFuncs after legalization and fusion."""
    rx.LegalizeOps(target="ownfacts", customize_legalize_map=rules or {})(module)
    rx.Pipeline("relax-fuse-ops,tir-fuse").run(module)
    return sorted(op.attributes["sym_name"].value for op in module.body.operations if "tir.prim_func" in op.attributes)


def test_a_view_takes_no_kernel_and_no_memory():
    def build(x: Any) -> Any:
        return relax.exp(own.pairs(relax.matmul(x, relax.const(numpy.eye(4, dtype="float32")))))

    assert kernels(module_of(build)) == ["exp", "matmul"]
    x, y = run(build)
    numpy.testing.assert_allclose(y, numpy.exp(x).reshape(12, 2), rtol=1e-6)


def test_an_open_size_of_a_view_follows_from_its_elements():
    x, y = run(lambda x: own.rest(relax.exp(x)))
    numpy.testing.assert_allclose(y, numpy.exp(x).reshape(12, 2), rtol=1e-6)


def test_the_source_of_a_view_lives_as_long_as_the_view():
    """Extend the product's lifetime to that of its view."""
    matrix = numpy.arange(16, dtype="float32").reshape(4, 4)

    def build(x: Any) -> Any:
        weights = relax.const(matrix)
        first = own.pairs(relax.matmul(x, weights))
        other = relax.matmul(relax.matmul(relax.matmul(x, weights), weights), weights)
        return relax.add(relax.reshape(other, ("2*n", 2)), first)

    x, y = run(build)
    expected = (x @ matrix @ matrix @ matrix + x @ matrix).reshape(12, 2)
    numpy.testing.assert_allclose(y, expected, rtol=1e-4)


def test_nothing_that_reads_is_moved_behind_what_writes():
    """Read the sum before the effect. Fused with a later user it would read the new values."""

    def build(x: Any) -> Any:
        memory = relax.exp(x)
        shown = own.pairs(memory)
        before = relax.add(shown, shown)
        own.bump(shown)
        return relax.subtract(relax.multiply(shown, shown), before)

    x, y = run(build)
    power = numpy.exp(x).reshape(12, 2)
    numpy.testing.assert_allclose(y, (power + 1) ** 2 - 2 * power, rtol=1e-5)


def test_a_result_in_the_place_of_an_operand():
    def build(x: Any) -> Any:
        memory = relax.exp(x)
        before = relax.negative(memory)
        return relax.add(own.bumped(memory), before)

    x, y = run(build)
    numpy.testing.assert_allclose(y, numpy.ones_like(x), rtol=1e-6)


def test_an_input_that_is_written_through_a_view_is_marked():
    def build(x: Any) -> Any:
        own.bump(own.pairs(x))
        return relax.exp(x)

    module = module_of(build)
    CallBump()(module)
    rx.LegalizeOps(target="ownfacts")(module)
    rx.Pipeline("tir-bufferize,relax-lower-calls").run(module)
    assert "relax.written = array<i64: 0>" in str(module)


def test_shapes_and_chains_of_views_are_canonicalized():
    def build(x: Any) -> Any:
        shape = relax.shape_of(own.filled(relax.tensor_to_shape(relax.const([2, 3], "int64"))))
        flat = relax.flatten(own.pairs(x))
        return flat, relax.shape_to_tensor(shape)

    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 4))}) as f:
        f.returns(*build(*f))
    rx.Pipeline("relax-canonicalize").run(module)
    text = str(module)
    assert "ownfacts.pairs" not in text, "a flattened view is the flattened tensor"
    assert "ownfacts.filled" not in text and "relax.shape_of" not in text


def test_transposes_meet_around_an_own_elementwise_operator():
    def build(x: Any, negated: Any) -> Any:
        return relax.permute_dims(negated(relax.permute_dims(x, axes=[1, 0])), axes=[1, 0])

    for negated, left in ((own.negated, 0), (own.negated_apart, 2)):
        module = rx.Module()
        with module.function("main", {"x": rx.tensor(("n", 4))}) as f:
            f.returns(build(*f, negated))
        rx.Pipeline("relax-canonicalize").run(module)
        assert str(module).count("relax.permute_dims") == left, negated


@pytest.mark.parametrize(
    ("dialect", "intrinsic", "count"), [("tir", "ownfacts_tick", 3), ("ownfacts", "tick", 3), ("ownfacts", "plain", 1)]
)
def test_only_intrinsics_without_an_effect_are_fused(dialect: str, intrinsic: str, count: int):
    ask = rx.find_op(f"{dialect}.{intrinsic}")
    module = module_of(lambda x: relax.negative(own.twice(relax.abs(x))))
    rules = {"ownfacts.twice": lambda call: call.elementwise(lambda x: ask(x))}
    assert len(kernels(module, rules)) == count


@pytest.mark.parametrize(
    ("name", "said", "count"),
    [("negated", None, 1), ("negated_apart", None, 3), ("negated", "opaque", 3), ("negated_apart", "elemwise", 1)],
)
def test_an_operator_fuses_as_its_row_says_unless_its_rule_does(name: str, said: str | None, count: int):
    def rule(call: Any) -> Any:
        return call.prim(lambda x, out: linalg.parallel([x], out, lambda number: 0.0 - number), pattern=said)

    module = module_of(lambda x: relax.exp(own.ops[name](relax.abs(x))))
    assert len(kernels(module, {f"ownfacts.{name}": rule})) == count


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"view": "y"}, r"view= names 'y', which is no single operand"),
        ({"writes": "x z"}, r"writes= names 'z', which is no operand"),
        ({"writes": "x"}, r"writes= needs pure=False, or view= of what is written"),
        ({"inplace": "axis"}, r"inplace= names 'axis', which is no attribute"),
        ({"shaped_by": "shape"}, r"shaped_by= names 'shape', which is no single operand"),
        ({"view": "x", "results": "a b"}, r"view= is for operators of one result"),
        ({"veiw": "x"}, r"a row has no 'veiw='.*'view'"),
        ({"pattern": "inject"}, r"ownfacts.wrong: unknown operator pattern 'inject'; did you mean 'injective'"),
        ({"layouts": {"y": ("layout", "NC")}}, r"layouts= names 'y', which is no tensor"),
        ({"layouts": {"x": ("layout", "NC")}}, r"layouts= names 'layout', which is no attribute"),
        ({"windows": ("W", "x")}, r"windows= names 'x', which is no attribute or layout"),
        (
            {"windows": ("HW", "x"), "layouts": {"x": ("order", "NCW")}, "attrs": {"order": rx.attrs.Str("NCW")}},
            r"windows= of 'x' \(NCW\) cannot be over HW",
        ),
        ({"flops": (2, "y")}, r"flops= names 'y', which is no single operand"),
        ({"flops": -1}, r"flops= is a function, or how many operations: 0 or more"),
        ({"role": "calls"}, r"role= is one of call, literal, shape, effect, not 'calls'"),
    ],
)
def test_a_row_that_cannot_be_is_refused(row: dict[str, Any], message: str):
    with pytest.raises(rx.RelaxError, match=message):
        own.op("wrong", "x", infer=lambda call: call.x, doc="Is refused.", **row)
