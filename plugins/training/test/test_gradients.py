# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of operators against differences of their results in float64; chains of operators; refusals."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gradient_cases_images  # noqa: F401  # more of them
import numpy
import pytest
import relax_mlir as rx
from compiling import array
from example_counts import draws
from gradient_cases import USES, Use, indices, relax
from gradient_checks import differences, functions_of
from hypothesis import given
from hypothesis import strategies as st
from own_rules import without_new_decompositions, without_new_gradients
from relax_mlir.dialects.relax import const
from relax_mlir.passes.graph.gradient_rules import reason_against
from relax_mlir_training.gradient.reverse import gradients, gradients_at

_STEP = 1e-5
rng = numpy.random.default_rng(7)


@pytest.fixture
def own_rules() -> Iterator[None]:
    with without_new_gradients():
        yield


def number(result: Any) -> Any:
    """Return a number that depends differently on each element of a result."""
    first = result[0] if isinstance(result, tuple) else result
    return relax["sum"](relax["multiply"](first, relax["cos"](relax["add"](first, first))))


def with_gradients(build: Callable[..., Any], infos: Sequence[Any]) -> rx.Module:
    """Return the gradients of the number that `build` returns, as @gradients."""
    module = rx.Module()
    with module.function("gradients", infos) as f:
        f.returns(*gradients(build(*f), f.args))
    return module


def check(build: Callable[..., Any], arrays: Sequence[Any], dims: Any = None) -> None:
    """Compare the gradients of a number by the arrays with differences."""
    shapes = dims or [each.shape for each in arrays]
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, "float64") for shape in shapes]) as f:
        f.returns(build(*f))
    module = rx.grad(module)
    module.verify()
    functions = functions_of(module)
    _, *made = map(array, functions["main_adjoint"](*arrays))
    wanted = differences(functions["main"], arrays, _STEP)
    for tensor, found, expected in zip(arrays, made, wanted, strict=True):
        assert found.dtype == tensor.dtype and found.shape == tensor.shape
        numpy.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("use", USES, ids=lambda use: use.name)
def test_rule(use: Use) -> None:
    own = numpy.random.default_rng(zlib.crc32(use.name.encode()))
    arrays = [own.uniform(use.low, use.high, shape) for shape in use.shapes]

    def twice(*tensors: Any) -> Any:
        """Apply the operator a second time to other tensors of the same types, so that the cached rule is used."""
        others = [
            relax["flip"](each, axis=0) if shape else each for each, shape in zip(tensors, use.shapes, strict=True)
        ]
        return relax["add"](number(use.build(*tensors)), number(use.build(*others)))

    check(twice, arrays, use.dims)


@pytest.mark.usefixtures("own_rules")
@pytest.mark.parametrize(("by_types", "asked"), [(True, 2), (False, 4)])
def test_rules_by_types_are_called_once_per_type(by_types: bool, asked: int) -> None:
    calls = []

    @rx.register_gradient("relax.bitcast", by_types=by_types)
    def bitcast(call: Any) -> Any:
        calls.append(call)
        return [relax["multiply"](call.gradient, relax["exp"](call.operands[0]))]

    def build(x: Any, y: Any) -> Any:
        made = [relax["bitcast"](each, dtype="f64") for each in (x, relax["sin"](x), relax["cos"](x), y)]
        return relax["add"](relax["sum"](relax["add"](relax["add"](*made[:2]), made[2])), relax["sum"](made[3]))

    module = rx.Module()
    with module.function("main", [rx.tensor((3,), "float64"), rx.tensor((2,), "float64")]) as f:
        f.returns(build(*f))
    x, y = rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 2)
    _, by_x, by_y = map(array, rx.compile(rx.grad(module), opt_level=0)["main_adjoint"](x, y))
    sin, cos = numpy.sin(x), numpy.cos(x)
    numpy.testing.assert_allclose(by_x, numpy.exp(x) + numpy.exp(sin) * cos - numpy.exp(cos) * sin)
    numpy.testing.assert_allclose(by_y, numpy.exp(y))
    assert len(calls) == asked


def _names_of_rules() -> set[str]:
    """Return the Relax operators that have rules. Plug-ins in the same process register rules of other dialects."""
    operators = [rule.op for rule in (*rx.all_gradients(), *rx.all_decompositions())]
    return {name.removeprefix("relax.") for name in operators if name.startswith("relax.")}


def test_every_rule_is_tested() -> None:
    # Of few bits: test_a_sum_of_other_elements, targets/test_legalize_nbits.py;
    # of scalars: test_gradient_scalar_derivatives.py.
    names = "dequantize matmul_nbits arange hamming_window one_hot scalar_to_tensor".split()
    used = {f"relax.{name}" for name in names}
    for use in USES:
        module = rx.Module()
        with module.function("f", [rx.tensor(shape, "float64") for shape in use.shapes]) as f:
            use.build(*f)
            f.returns()
        used.update(op.operation.name for op in f.block.operations)
    assert {f"relax.{name}" for name in _names_of_rules()} <= used


_ONES = ["exp", "sin", "tanh", "sigmoid", "square", "negative", "nn.gelu", "nn.softmax", "nn.silu", "erf"]
#: Along the rows, which keep their sizes.
_ROWS: dict[str, Callable[[Any], Any]] = {
    "sort": lambda x: relax["sort"](x),
    "cumsum": lambda x: relax["cumsum"](x, axis=1, exclusive=True),
    "cumprod": lambda x: relax["cumprod"](x, axis=1),
    "flip": lambda x: relax["flip"](x, axis=1),
    "largest": lambda x: relax["subtract"](x, relax["max"](x, axis=[1], keepdims=True)),
    "rotated": lambda x: relax["concat"](relax["split"](x, [1], axis=1)[::-1], axis=1),
    "taken": lambda x: relax["take"](x, indices(2, 0, 0), axis=1, mode="clip"),
    "every second": lambda x: relax["slice_scatter"](
        x, relax["strided_slice"](x, axes=[1], begin=[-1], end=[-4], strides=[-2]), 0, 3, 2, axis=1),
}  # fmt: skip
_TWOS = ["add", "multiply", "subtract", "maximum", "matmul", "divide"]


@draws(8)
@given(st.data())
def test_chains(data: st.DataObject) -> None:
    """Draw chains that use tensors several times, in any order, with a symbolic batch."""
    steps = data.draw(
        st.lists(st.tuples(st.sampled_from([*_ONES, *_TWOS, *_ROWS]), st.integers(0, 9), st.integers(0, 9)))
    )
    seed = data.draw(st.integers(0, 2**32 - 1))

    def build(x: Any, weight: Any, bias: Any) -> Any:
        values = [x, relax["add"](x, bias)]
        for op, one, other in steps:
            first, second = values[one % len(values)], values[other % len(values)]
            if op == "matmul":
                made = relax["matmul"](first, weight)
            elif op in _ROWS:
                made = _ROWS[op](first)
            elif op == "divide":
                made = relax["divide"](first, relax["exp"](relax["sin"](second)))
            else:
                made = relax[op](first, second) if op in _TWOS else relax[op](first)
            values.append(relax["sin"](made))
        return number(values[-1])

    generator = numpy.random.default_rng(seed)
    arrays = [generator.uniform(-1, 1, shape) for shape in ((2, 3), (3, 3), (1, 3))]
    check(build, arrays, dims=[("n", 3), (3, 3), (1, 3)])


def test_one_compilation_serves_every_batch() -> None:
    infos = [rx.tensor(("n", 3), "float64"), rx.tensor((3,), "float64")]
    made = rx.compile(with_gradients(lambda x, b: relax["sum"](relax["multiply"](x, b)), infos))["gradients"]
    for count in (1, 4):
        x, b = rng.normal(size=(count, 3)), rng.normal(size=3)
        by_x, by_b = made(x, b)
        numpy.testing.assert_allclose(array(by_x), numpy.broadcast_to(b, x.shape))
        numpy.testing.assert_allclose(array(by_b), x.sum(0))


def test_a_gradient_can_be_differentiated() -> None:
    def build(x: Any) -> Any:
        (first,) = gradients(relax["sum"](relax["multiply"](relax["sin"](x), relax["exp"](x))), [x])
        return number(first)

    check(build, [rng.uniform(size=(2, 2))])


@pytest.mark.parametrize("use", USES, ids=lambda use: use.name)
def test_derivatives_have_derivatives(use: Use) -> None:
    def twice(*tensors: Any) -> Any:
        first = gradients(number(use.build(*tensors)), tensors)
        return number(first[-1])

    shapes = use.dims or use.shapes
    with_gradients(twice, [rx.tensor(shape, "float64") for shape in shapes]).verify()


def test_inputs_without_influence_have_zero_gradients() -> None:
    infos = [rx.tensor((2,), "float64"), rx.tensor(("n", 3), "float64")]
    by_x, by_other = rx.compile(with_gradients(lambda x, other: relax["sum"](x), infos))["gradients"](
        numpy.ones(2), numpy.ones((4, 3))
    )
    assert (array(by_x) == 1).all() and (array(by_other) == numpy.zeros((4, 3))).all()


def test_nothing_goes_back_through_integers() -> None:
    def build(x: Any) -> Any:
        whole = relax["astype"](relax["astype"](x, dtype="i64"), dtype="f64")
        return relax["sum"](relax["multiply"](x, whole))

    check(build, [numpy.array([1.5, 2.5])])


def test_one_value_may_stand_for_two_arguments() -> None:
    """Distinguish derivatives of x * y + z for one value in all places, without z as an argument."""
    module = rx.Module()
    with module.function("main", [rx.tensor((2,), "float64")]) as f:
        (z,) = f
        f.returns(*gradients_at([z, z], lambda x, y: relax["add"](relax["multiply"](x, relax["sin"](y)), z)))
    assert "unrealized_conversion_cast" not in str(module)
    z = numpy.array([0.5, 2.0])
    by_x, by_y = rx.compile(module)["main"](z)
    numpy.testing.assert_allclose(array(by_x), numpy.sin(z))
    numpy.testing.assert_allclose(array(by_y), z * numpy.cos(z))


def test_gradients_treat_dependent_arguments_as_independent() -> None:
    """Treat parts of one tensor as independent of it, and of each other."""
    module = rx.Module()
    with module.function("main", [rx.tensor((4,), "float64")]) as f:
        (x,) = f
        one, other = relax["split"](x, 2)
        f.returns(*gradients(relax["multiply"](one, other), [x, one]))
    x = rng.normal(size=4)
    by_x, by_one = map(array, rx.compile(module)["main"](x))
    numpy.testing.assert_allclose(by_x, [0, 0, *x[:2]])
    numpy.testing.assert_allclose(by_one, x[2:])


@pytest.mark.parametrize(("op", "chosen"), [("maximum", [0.0, 0.5, 1.0]), ("minimum", [1.0, 0.5, 0.0])])
def test_equal_elements_share(op: str, chosen: list[float]) -> None:
    infos = [rx.tensor((3,), "float64")] * 2
    made = rx.compile(with_gradients(lambda x, y: relax["sum"](relax[op](x, y)), infos))["gradients"]
    by_x, by_y = made(numpy.array([1.0, 2.0, 3.0]), numpy.full(3, 2.0))
    assert array(by_x).tolist() == chosen and array(by_y).tolist() == chosen[::-1]


def test_powers_of_zero() -> None:
    infos = [rx.tensor((3,), "float64")] * 2
    made = rx.compile(with_gradients(lambda x, y: relax["sum"](relax["power"](x, y)), infos))["gradients"]
    by_x, by_y = made(numpy.zeros(3), numpy.array([0.0, 1.0, 2.0]))
    assert array(by_x).tolist() == [0, 1, 0] and array(by_y).tolist() == [0, 0, 0]


def test_nodes_are_named_after_what_they_differentiate() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((2,), "float64")]) as f:
        with rx.ir.Location.name("layer1"):
            y = relax["sin"](*f)
        (made,) = gradients(y, f.args)
        assert 'loc("layer1")' in str(made.owner.location)
        f.returns(made)


@pytest.mark.usefixtures("own_rules")
def test_a_registered_rule() -> None:
    @rx.register_gradient("relax.bitcast")
    def bitcast(call: Any) -> Any:
        assert call.dtype == "f64"
        return call.gradient

    check(lambda x: number(relax["bitcast"](x, dtype="f64")), [rng.uniform(1, 2, (3, 2))])
    assert any(rule.op == "relax.bitcast" and "test_gradients.py" in rule.place for rule in rx.all_gradients())


def test_the_documentation_lists_the_decompositions() -> None:
    """Compare with the page on training. The page on support, which is generated, lists the operators with rules."""
    text = (Path(__file__).resolve().parents[3] / "docs" / "training.md").read_text()
    listed = text.partition("(`rx.rules.all_decompositions()`):\n")[2].partition(".\n\n")[0]
    with_rule = {rule.op for rule in rx.all_gradients() if rule.place.startswith("rules/")}
    expected = [rule.op for rule in rx.all_decompositions() if rule.op not in with_rule]
    assert [f"relax.{name}" for name in re.findall(r"`([^`]*)`", listed)] == expected


def test_every_operator_has_a_rule_or_a_reason() -> None:
    has_rule = _names_of_rules()
    has_reason = {name for name in relax if reason_against(f"relax.{name}")}
    assert has_rule | has_reason == set(relax) and not has_rule & has_reason


def test_a_sum_of_other_elements() -> None:
    """Cast the gradient of a sum in another element type, or of a quantized operand, to the operand's type."""
    module = rx.Module()
    infos = [rx.tensor((2, 2), "float32"), rx.tensor((2,), "float32"), rx.tensor((2,), "float16")]
    with module.function("main", infos) as f:
        x, scale, zero = f
        sums = relax["cumsum"](x, dtype="f64")
        data = const(numpy.array([[1, -2], [4, 5]], "int8"))
        real = relax["dequantize"](data, scale, zero, axis=0)
        f.returns(*gradients(sums, [x]), *gradients(real, [scale, zero]))
    given = numpy.ones((2, 2), "float32"), numpy.array([0.5, 0.25], "float32"), numpy.array([1, 2], "float16")
    by_x, by_scale, by_zero = map(array, rx.compile(module)["main"](*given))
    assert by_x.dtype == "float32" and by_x.tolist() == [[4, 3], [2, 1]]
    assert by_scale.tolist() == [(1 - 1) + (-2 - 1), (4 - 2) + (5 - 2)]
    assert by_zero.dtype == "float16" and by_zero.tolist() == [-1.0, -0.5]


def test_all_rules() -> None:
    operators = [rule.op for rule in rx.all_gradients()]
    assert operators == sorted(operators)
    assert any(str(rule).startswith("relax.exp (rules/elementwise.py:") for rule in rx.all_gradients())


def refused(build: Callable[..., Any], *shapes: Any) -> str:
    with pytest.raises(rx.RelaxError) as caught:
        with_gradients(build, [rx.tensor(shape, "float64") for shape in shapes])
    return str(caught.value)


def test_refusals() -> None:
    def third(x: Any) -> Any:
        with rx.ir.Location.name("third"):
            return relax["bitcast"](x, dtype="f64")

    message = refused(third, (3,))
    assert (
        "no rule gives the derivative of 'relax.bitcast' (node 'third'): it reinterprets the bits of numbers" in message
    )
    assert 'rx.rules.register_gradient("relax.bitcast") registers one' in message
    blocks = lambda x, w: relax["nn.conv2d"](x, w, data_layout="NCHW2c")  # noqa: E731
    assert "only in layouts without blocks, not NCHW2c" in refused(blocks, (1, 1, 4, 4, 2), (1, 2, 2, 2))


@pytest.mark.parametrize(
    ("op", "shapes", "attributes", "expected"),
    [
        ("nn.avg_pool2d", [(1, 2, 4, 4, 2)], {"layout": "NCHW2c"}, "only in layouts without blocks, not NCHW2c"),
        ("image.affine_grid", [(None, 2, None)], {"size": (2, 2)}, "the rank of its result is not known"),
        ("nn.prelu", [(2, None), (None,)], {}, "the sizes of a parameter and the data along axis 1 are not known"),
    ],
)  # fmt: skip
def test_refused_forms(op: str, shapes: list[Any], attributes: dict[str, Any], expected: str) -> None:
    def build(*tensors: Any) -> Any:
        if op == "einsum":
            return relax[op](list(tensors), **attributes)
        has_indices = op.startswith(("take", "gather", "scatter"))
        indices = [const(numpy.zeros((2, 1), "int64"))] if has_indices else []
        return relax[op](tensors[0], *indices, *tensors[1:], **attributes)

    message = refused(build, *shapes)
    assert expected in message and f"'relax.{op}' cannot be differentiated" in message, message


@pytest.mark.usefixtures("own_rules")
def test_refused_rules() -> None:
    with pytest.raises(rx.RelaxError, match=r"unknown operator 'relax\.sinn'.*'relax\.sin'"):
        rx.register_gradient("relax.sinn")(lambda call: None)
    with pytest.raises(rx.RelaxError, match=r"'relax\.exp' has a rule for its derivative already: rules/elementwise"):
        rx.register_gradient("relax.exp")(lambda call: None)
    made: list[Any] = []
    rx.register_gradient("relax.bitcast")(lambda call: made[0](call.gradient))
    for makes, expected in (
        (lambda gradient: relax["sum"](gradient), "gives tensor<f64> for an operand that is tensor<3xf64>"),
        (
            lambda gradient: relax["astype"](gradient, dtype="f32"),
            "gives tensor<3xf32> for an operand that is tensor<3xf64>",
        ),
        (lambda gradient: [gradient, gradient], "gives 2 gradients for 1 operands"),
        (lambda gradient: 1.0, "gives float for an operand that is tensor<3xf64>"),
    ):
        made[:] = [makes]
        assert expected in refused(lambda x: relax["bitcast"](x, dtype="f64"), (3,))


@pytest.mark.parametrize("zeros", [[], [(0, 0)], [(0, 0), (1, 0)]])
def test_products_of_what_is_written_are_not_divided_by(zeros: list[tuple[int, int]]) -> None:
    """Multiply an element of the data by two updates, of which none, one or two factors are 0."""

    def build(x: Any, y: Any) -> Any:
        return number(relax["scatter_elements"](x, indices([[0, 0, 1]]), y, axis=1, reduction="mul"))

    data, updates = rng.uniform(0.5, 1, (1, 2)), rng.uniform(0.5, 1, (1, 3))
    for which, place in zeros:
        (data, updates)[which][0, place] = 0
    check(build, [data, updates])


def test_elements_that_no_window_reaches_have_zero_gradients() -> None:
    """Differentiate for all sizes from one compilation: elements at the end that no window reaches have zeros."""
    infos = [rx.tensor((1, 1, "h", "w"), "float64"), rx.tensor((1, 1, 2, 3), "float64")]
    made = rx.compile(with_gradients(lambda x, w: relax["sum"](relax["nn.conv2d"](x, w, strides=[3, 2])), infos))
    kernel = numpy.arange(1.0, 7).reshape(1, 1, 2, 3)
    for height, width in ((2, 3), (4, 5), (6, 8), (7, 6)):
        by_x, by_kernel = map(array, made["gradients"](numpy.ones((1, 1, height, width)), kernel))
        expected, windows = numpy.zeros((height, width)), 0
        for row in range(0, height - 1, 3):
            for column in range(0, width - 2, 2):
                expected[row : row + 2, column : column + 3] += kernel[0, 0]
                windows += 1
        numpy.testing.assert_allclose(by_x[0, 0], expected)
        numpy.testing.assert_allclose(by_kernel[0, 0], numpy.full((2, 3), windows))


# ---- operators without a rule, in terms of others ----


def test_a_decomposition_is_differentiated_until_there_is_a_rule() -> None:
    with without_new_gradients(), without_new_decompositions():
        module = rx.Module()
        with module.function("main", [rx.tensor((3,), "float64")]) as f:
            (x,) = f
            f.returns(relax["sum"](relax["bitcast"](x, dtype="f64")))
        with pytest.raises(rx.RelaxError, match=r"no rule gives the derivative of 'relax\.bitcast'"):
            rx.grad(module.copy())

        @rx.register_decomposition("relax.bitcast")
        def bitcast(op: Any, x: Any) -> Any:
            if op.dtype != "f64":
                raise rx.Decline(f"it is unknown what {op.dtype} means")
            return relax["multiply"](x, relax["multiply"](x, x))

        def by_x(module: rx.Module) -> list[float]:
            return list(array(rx.compile(rx.grad(module))["main_adjoint"](numpy.array([1.0, 2, 3]))[1]))

        assert by_x(module.copy()) == [3, 12, 27]
        other = rx.Module()
        with other.function("main", [rx.tensor((3,), "float32")]) as f:
            (x,) = f
            f.returns(relax["sum"](relax["bitcast"](x, dtype="f32")))
        with pytest.raises(rx.RelaxError, match=r"'relax\.bitcast' cannot be .*: it is unknown what f32 means"):
            rx.grad(other)

        rx.register_gradient("relax.bitcast")(lambda call: call.gradient)
        assert by_x(module) == [1, 1, 1]


def test_all_results_of_a_decomposition_have_gradients() -> None:
    """Differentiate the moving mean and variance of a training norm."""

    def build(*tensors: Any) -> Any:
        made = relax["nn.batch_norm"](*tensors, axis=1, momentum=0.3)
        return relax["add"](number(made[1]), relax["add"](number(made[2]), number(made[0])))

    def moving(*tensors: Any) -> Any:
        return number(relax["nn.batch_norm"](*tensors, axis=1, momentum=0.3)[2])

    arrays = [rng.uniform(0.5, 1, shape) for shape in ((3, 2, 2), (2,), (2,), (2,), (2,))]
    check(build, arrays)
    check(moving, arrays, dims=[("n", 2, 2), (2,), (2,), (2,), (2,)])


def test_of_sixteen_bits_a_decomposition_is_differentiated_in_thirty_two() -> None:
    """Compare with the formula for rows far from 0."""
    module = rx.Module()
    with module.function("main", [rx.tensor((1, 4), "float16"), *[rx.tensor((4,), "float16")] * 2]) as f:
        normal = relax["nn.layer_norm"](*f, axes=[-1])
        weights = rx.relax.const([1.0, -2.0, 3.0, 0.5], "float16")
        f.returns(relax["sum"](relax["multiply"](normal, weights)))
    x = (1000 + numpy.arange(4)).astype("float16").reshape(1, 4)
    adjoint = rx.compile(rx.grad(module))["main_adjoint"]
    _, by_x, by_gamma, by_beta = adjoint(x, numpy.ones(4, "f2"), numpy.zeros(4, "f2"))
    distance = numpy.arange(4) - 1.5
    root = numpy.sqrt(1.25 + 1e-5)
    arriving = numpy.array([1.0, -2.0, 3.0, 0.5])
    normal = distance / root
    expected = (arriving - arriving.mean() - normal * (arriving * normal).mean()) / root
    assert array(by_x).dtype == "float16"
    numpy.testing.assert_allclose(array(by_x)[0], expected, rtol=2e-3)
    numpy.testing.assert_allclose(array(by_gamma), arriving * normal, rtol=2e-3)
    numpy.testing.assert_allclose(array(by_beta), arriving, rtol=1e-3)
