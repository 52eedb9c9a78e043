# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ai.onnx.preview.training.Gradient: derivatives of parts of a graph, against differences of ONNX's results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import onnx
import pytest
import relax_mlir as rx
from model_suites import cases_of
from node_suite import Case, check
from onnx import parser
from onnx.reference import ReferenceEvaluator
from own_rules import without_new_gradients
from relax_mlir.frontends.onnx import registry as converters

rng = numpy.random.default_rng(3)
_STEP = 1e-6


def suite() -> list[Case]:
    return [case for case in cases_of("simple") if "gradient" in case.name]


@pytest.mark.parametrize("case", suite(), ids=lambda case: case.name)
def test_suite(case: Case) -> None:
    check(case)


def model(signature: str, body: str) -> onnx.ModelProto:
    header = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.preview.training" : 1, "my.own" : 1]>'
    body = body.replace("Gradient", "ai.onnx.preview.training.Gradient")
    return parser.parse_model(f"{header}\ng {signature} {{ {body} }}")


def run(made: onnx.ModelProto, *inputs: Any) -> list[Any]:
    return list(rx.OnnxBackend.prepare(made).run(list(inputs)))


def differences(function: Callable[..., Any], inputs: list[Any], index: int) -> Any:
    """Return the derivative of the sum of a function's results by one of its arguments, as differences."""
    result = numpy.empty_like(inputs[index])
    for place in numpy.ndindex(result.shape):
        near = []
        for step in (_STEP, -_STEP):
            moved = [each.copy() for each in inputs]
            moved[index][place] += step
            near.append(numpy.sum(function(*moved)))
        result[place] = (near[0] - near[1]) / (2 * _STEP)
    return result


def by_onnx(signature: str, body: str) -> Callable[..., Any]:
    """Return the first output of a graph of the same opset by ONNX's reference."""
    made = model(signature, body)
    evaluator = ReferenceEvaluator(made)
    names = [each.name for each in made.graph.input]
    return lambda *inputs: evaluator.run(None, dict(zip(names, inputs, strict=True)))[0]


MLP = """h = Gemm<transB = 1>(x, w, b)
    a = Tanh(h)
    n = Mul(a, s)
    p = MatMul(n, v)
    loss = SoftmaxCrossEntropyLoss(p, label)"""
MLP_INPUTS = "double[n, 3] x, double[4, 3] w, double[4] b, double[4] s, double[4, 5] v"


def test_a_network_and_its_loss() -> None:
    """From one compilation, for batches of any size; the gradient by x is not wanted."""
    outputs = "double[] loss, double[4, 3] dw, double[4] db, double[4] ds, double[4, 5] dv"
    attributes = '<xs = ["x", "w", "b", "s", "v"], zs = ["label"], y = "loss">'
    gradient = f"dx, dw, db, ds, dv = Gradient{attributes}(x, w, b, s, v, label)"
    made = model(f"({MLP_INPUTS}, int64[n] label) => ({outputs})", f"{MLP} {gradient}")
    made.graph.node[-1].output[0] = ""
    compiled = rx.OnnxBackend.prepare(made)
    reference = by_onnx(f"({MLP_INPUTS}, int64[n] label) => (double[] loss)", MLP)
    for batch in (2, 3):
        tensors = [rng.normal(size=shape) for shape in ((batch, 3), (4, 3), (4,), (4,), (4, 5))]
        label = rng.integers(0, 5, batch)
        loss, *made_gradients = compiled.run([*tensors, label])
        numpy.testing.assert_allclose(loss, reference(*tensors, label))
        for index, found in enumerate(made_gradients, start=1):
            expected = differences(lambda *given: reference(*given, label), tensors, index)  # noqa: B023
            numpy.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_a_convolutional_network() -> None:
    inputs = "double[n, 2, 6, 6] x, double[3, 2, 3, 3] w, double[3] b, double[5, 12] v"
    body = """c = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w, b)
        r = Sigmoid(c)
        m = MaxPool<kernel_shape = [2, 2]>(r)
        f = Flatten(m)
        y = Gemm<transB = 1>(f, v)"""
    gradient = 'dx, dw, db = Gradient<xs = ["x", "w", "b"], y = "y">(x, w, b)'
    outputs = "double[n, 5] y, double[n, 2, 6, 6] dx, double[3, 2, 3, 3] dw, double[3] db"
    tensors = [rng.normal(size=shape) for shape in ((2, 2, 6, 6), (3, 2, 3, 3), (3,), (5, 12))]
    _, *made = run(model(f"({inputs}) => ({outputs})", f"{body} {gradient}"), *tensors)
    reference = by_onnx(f"({inputs}) => (double[n, 5] y)", body)
    for index, found in enumerate(made):
        numpy.testing.assert_allclose(found, differences(reference, tensors, index), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("chosen", [True, False])
def test_one_of_two_branches(chosen: bool) -> None:
    body = """y = If(c) < then_branch = a () => (double[3] t) { t = Mul(x, w) },
        else_branch = b () => (double[3] e) { e = Sin(x) } >"""
    made = model("(double[3] x, double[3] w, bool c) => (double[3] dx, double[3] dw)",
                 f'{body} dx, dw = Gradient<xs = ["x", "w"], y = "y">(x, w)')  # fmt: skip
    x, w = rng.normal(size=(2, 3))
    dx, dw = run(made, x, w, numpy.array(chosen))
    numpy.testing.assert_allclose(dx, w if chosen else numpy.cos(x))
    numpy.testing.assert_allclose(dw, x if chosen else numpy.zeros(3))


def test_a_loop() -> None:
    """Differentiate a loop with states and a count that is used in computations."""
    body = """total = Constant<value_float = 0.0>() wide = Cast<to = 11>(total)
        y, sums = Loop(turns, , x, wide) < body = b (int64 j, bool go, double[3] s, double u) =>
            (bool go2, double[3] t, double v) {
            go2 = Identity(go) f = Cast<to = 11>(j) m = Mul(s, w) a = Add(m, f) t = Sin(a)
            r = Mul(t, t) q = ReduceSum<keepdims = 0>(r) v = Add(u, q) } >
        z = Add(y, sums)"""
    outputs = "double[3] dx, double[3] dw"
    made = model(f"(double[3] x, double[3] w, int64 turns) => ({outputs})",
                 f'{body} dx, dw = Gradient<xs = ["x", "w"], y = "z">(x, w)')  # fmt: skip

    def expected(x: Any, w: Any, turns: int) -> Any:
        total = 0.0
        for turn in range(turns):
            x = numpy.sin(x * w + turn)
            total += (x * x).sum()
        return x + total

    x, w = rng.normal(size=(2, 3))
    for turns in (0, 1, 4):
        for index, found in enumerate(run(made, x, w, numpy.array(turns))):
            by_steps = differences(lambda *given: expected(*given, turns), [x, w], index)  # noqa: B023
            numpy.testing.assert_allclose(found, by_steps, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["turns, ", ", go"], ids=["counted", "ended by its condition"])
def test_gradients_of_a_loop_that_gathers_rows(ends: str) -> None:
    """Differentiate a loop that gathers one row per iteration, a number that is known at run time only."""
    body = f"""zero = Constant<value_int = 0>() go = Less(zero, turns)
        y, rows = Loop({ends}, x) < body = b (int64 j, bool go1, double[3] s) => (bool go2, double[3] t, double[3] r) {{
            one = Constant<value_int = 1>() next = Add(j, one) go2 = Less(next, turns)
            m = Mul(s, w) t = Sin(m) r = Mul(t, s) }} >
        z = Cos(rows)"""
    made = model("(double[3] x, double[3] w, int64 turns) => (double[3] dx, double[3] dw)",
                 f'{body} dx, dw = Gradient<xs = ["x", "w"], y = "z">(x, w)')  # fmt: skip

    def expected(x: Any, w: Any, turns: int) -> Any:
        total = 0.0
        for _ in range(turns):
            x, before = numpy.sin(x * w), x
            total += numpy.cos(x * before).sum()
        return total

    x, w = rng.normal(size=(2, 3))
    for turns in (0, 1, 4):
        for index, found in enumerate(run(made, x, w, numpy.array(turns))):
            by_steps = differences(lambda *given: expected(*given, turns), [x, w], index)  # noqa: B023
            numpy.testing.assert_allclose(found, by_steps, rtol=1e-5, atol=1e-7)


def test_a_recurrent_layer() -> None:
    inputs = "(double[s, n, 2] x, double[1, 1, 2] w, double[1, 1, 1] r) => "
    body = "y = RNN<hidden_size = 1>(x, w, r)"
    gradient = 'dx, dr = Gradient<xs = ["x", "r"], zs = ["w"], y = "y">(x, r, w)'
    made = model(f"{inputs} (double[s, n, 2] dx, double[1, 1, 1] dr)", f"{body} {gradient}")
    tensors = [rng.normal(size=shape) for shape in ((3, 2, 2), (1, 1, 2), (1, 1, 1))]
    reference = by_onnx(f"{inputs} (double[s, d, n, 1] y)", body)
    for index, found in zip((0, 2), run(made, *tensors), strict=True):
        numpy.testing.assert_allclose(found, differences(reference, tensors, index), rtol=1e-5, atol=1e-7)


def test_values_that_are_not_the_graphs() -> None:
    """Replace x and w, but not h: h is an intermediate tensor of the part, and is recomputed from the replacements."""
    made = model(
        "(double[n] x, double[n] w, double[n] other) => (double[n] dx)",
        """h = Sin(x)
        y = Mul(h, w)
        dx = Gradient<xs = ["x"], zs = ["w"], y = "y">(other, x)""",
    )
    x, w, other = rng.normal(size=(3, 4))
    (dx,) = run(made, x, w, other)
    numpy.testing.assert_allclose(dx, numpy.cos(other) * x)


def test_by_an_intermediate_tensor() -> None:
    """Differentiate by an intermediate tensor: the operators before it do not count."""
    made = model(
        "(double[n] x, double[n] z) => (double[n] dh, double[n] dz)",
        """h = Exp(x)
        s = Mul(h, h)
        y = Mul(s, z)
        dh, dz = Gradient<xs = ["h", "z"], y = "y">(h, z)""",
    )
    x, z = rng.normal(size=(2, 4))
    dh, dz = run(made, x, z)
    numpy.testing.assert_allclose(dh, 2 * numpy.exp(x) * z)
    numpy.testing.assert_allclose(dz, numpy.exp(2 * x))


def test_second_derivatives() -> None:
    made = model(
        "(double[n] x, double[n] w) => (double[n] dw, double[n] dwdx, double[n] dwdw)",
        """s = Sin(x)
        p = Mul(w, w)
        o = Mul(s, p)
        dw = Gradient<xs = ["w"], zs = ["x"], y = "o">(w, x)
        dwdx, dwdw = Gradient<xs = ["x", "w"], y = "dw">(x, w)""",
    )
    x, w = rng.normal(size=(2, 4))
    dw, dwdx, dwdw = run(made, x, w)
    numpy.testing.assert_allclose(dw, 2 * w * numpy.sin(x))
    numpy.testing.assert_allclose(dwdx, 2 * w * numpy.cos(x))
    numpy.testing.assert_allclose(dwdw, 2 * numpy.sin(x))


def test_y_may_come_later_or_not_depend_on_x() -> None:
    made = model(
        "(double[n] x, double[m] z) => (double[n] y, double[n] dx, double[m] dz)",
        """dx, dz = Gradient<xs = ["x", "z"], y = "y">(x, z)
        h = Neg(x)
        y = Exp(h)""",
    )
    x = rng.normal(size=3)
    y, dx, dz = run(made, x, numpy.ones(5))
    numpy.testing.assert_allclose(dx, -y)
    assert (dz == numpy.zeros(5)).all()


def test_one_of_a_nodes_outputs_is_replaced() -> None:
    made = model(
        "(double[4] x, double[2] other) => (double[2] dp, double[4] dx)",
        """dp, dx = Gradient<xs = ["p", "x"], y = "y">(other, x)
        p, q = Split<num_outputs = 2>(x)
        y = Mul(p, q)""",
    )
    x, other = rng.normal(size=4), rng.normal(size=2)
    dp, dx = run(made, x, other)
    numpy.testing.assert_allclose(dp, x[2:])
    numpy.testing.assert_allclose(dx, [0, 0, *other])


def test_y_is_x() -> None:
    (dx,) = run(
        model("(float[2] x) => (float[2] dx)", 'dx = Gradient<xs = ["x"], y = "x">(x)'), numpy.ones(2, "float32")
    )
    assert dx.dtype == "float32" and dx.tolist() == [1, 1]


def test_by_a_weight_inside_of_a_branch() -> None:
    """Differentiate by a weight of the surrounding graph in a branch that is chosen at run time."""
    made = model(
        "(bool c, double[n] x) => (double[n] r) <double[1] w = {3.0}>",
        """h = Mul(x, w)
        y = Mul(h, h)
        r = If(c) <
            then_branch = a () => (double[n] t) { t = Gradient<xs = ["x"], zs = ["w"], y = "y">(x, w) },
            else_branch = b () => (double[n] e) { e = Identity(x) }
        >""",
    )
    x = rng.normal(size=4)
    for condition, expected in ((True, 18 * x), (False, x)):
        numpy.testing.assert_allclose(run(made, numpy.array(condition), x)[0], expected)


def refused(signature: str, body: str) -> str:
    with pytest.raises(rx.RelaxError) as caught:
        rx.from_onnx(model(signature, body))
    return str(caught.value)


XY = "(float[n] x, float[n] z, bool c, int64[n] i) => (float[n] r)"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('r = Gradient<xs = ["x"], y = "yy">(x)', "the graph has no tensor 'yy'"),
        ('y = Exp(x) r = Gradient<xs = ["k"], y = "y">(x)', "the graph has no tensor 'k'"),
        ('y = Exp(x) r = Gradient<xs = ["x"], zs = ["x"], y = "y">(x, x)', "names 'x' twice"),
        ('y = Exp(x) r = Gradient<xs = ["x"], y = "y">(x, z)', "has 2 inputs, but 'xs' and 'zs' name 1 tensor"),
        ('y = Exp(x) r, s = Gradient<xs = ["x"], y = "y">(x)', "has 2 outputs, but 'xs' names 1 tensor"),
        ('y = Exp(x) r = Gradient<xs = ["i"], y = "y">(i)', "'i' has elements of type i64: only floats have"),
        ('y = ArgMax<axis = 0>(x) r = Gradient<xs = ["x"], y = "y">(x)', "'y' has elements of type i64"),
        ('y = SplitToSequence(x) r = Gradient<xs = ["x"], y = "y">(x)', "'y' is a sequence or an optional"),
        ('y = Add(x, r) r = Gradient<xs = ["x"], y = "y">(x)', "'y' depends on the outputs of this node"),
        ('r = Gradient<xs = ["x"], y = "y">(x) y = Add(x, r)', "'y' depends on the outputs of this node"),
        ('y = my.own.Nothing(x) r = Gradient<xs = ["x"], y = "y">(x)', "1 node of the model cannot be imported"),
        (
            'r = Gradient<xs = ["x"], y = "y">(x) y = my.own.Nothing(x)',
            "the nodes that compute 'y' cannot be imported: the",
        ),
    ],
)
def test_refusals(body: str, message: str) -> None:
    assert message in refused(XY, body)


@pytest.mark.slow
def test_a_loop_that_its_condition_ends() -> None:
    body = """y = Loop(, c, x) < body = b (int64 j, bool go, double[n] s) => (bool more, double[n] t) {
        u = Mul(s, w) t = Sin(u) total = ReduceSum<keepdims = 0>(t)
        limit = Constant<value = double {1.0}>() more = Greater(total, limit) } >"""
    inputs = "(bool c, double[n] x, double[n] w) => "
    made = model(f"{inputs} (double[n] dx, double[n] dw)", f'{body} dx, dw = Gradient<xs = ["x", "w"], y = "y">(x, w)')
    forward = by_onnx(f"{inputs} (double[n] y)", body)
    x, w = numpy.array([0.9, 0.8, 0.7]), numpy.array([1.0, 0.9, 0.8])
    for begins in (numpy.array(True), numpy.array(False)):
        by_x, by_w = run(made, begins, x, w)
        for index, gradient in enumerate((by_x, by_w)):
            expected = differences(lambda *each: forward(begins, *each), [x, w], index)  # noqa: B023
            numpy.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-8)


@pytest.fixture
def own_operator() -> Iterator[None]:
    """Register a user's package: an operator of a custom dialect, its derivative and its ONNX name."""
    own = rx.Dialect("gradientnpu", doc="Of a test.")
    own.op("cube", "x", infer=lambda call: call.x, doc="x * x * x.")

    @rx.register_legalize("gradientnpu.cube")
    def cube(call: Any) -> Any:
        return call.elementwise(lambda x: (rx.number(x) * rx.number(x) * rx.number(x)).value)

    @rx.register_onnx("my.own", "Cube")
    def convert(node: Any) -> Any:
        return own.ops["cube"](node.tensor(0))

    with without_new_gradients():

        @rx.register_gradient("gradientnpu.cube")
        def by_cube(call: Any) -> Any:
            three = rx.relax.const(3.0, "float64")
            return rx.relax.multiply(call.gradient, rx.relax.multiply(three, rx.relax.square(call.x)))

        yield
    del converters.CONVERTERS.entries["my.own", "Cube"]


@pytest.mark.usefixtures("own_operator")
def test_an_operator_of_a_users_package() -> None:
    made = model(
        "(double[n] x) => (double[n] dx)",
        """s = Sin(x)
        y = my.own.Cube(s)
        dx = Gradient<xs = ["x"], y = "y">(x)""",
    )
    x = rng.normal(size=4)
    numpy.testing.assert_allclose(run(made, x)[0], 3 * numpy.sin(x) ** 2 * numpy.cos(x))
