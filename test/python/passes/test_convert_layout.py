# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-convert-layout: results stay the same, with as few conversions as possible; decisions by Python functions.

Situations: Apache TVM's tests/python/relax/test_transform_convert_layout.py.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest
from before_after import changed, keeps_results, op_names, results_of
from blocks import images, resnet, transformer
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from layout_arrays import in_layout
from onnx_oracle import run_onnx
from own_rules import without_new_layouts
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.bindings.rewriting import is_used
from relax_mlir.dialects.relax.infer.layouts import Layout, parse_layout
from relax_mlir.passes.graph.layout.conversion import converted_elements, layout_before, layout_behind, map_between
from relax_mlir.passes.graph.layout.relations import as_it_is, behind, between, keeps_order, shape_in
from relax_mlir.passes.graph.relax_convert_layout import ConvertLayout

import relax_mlir as rx
from relax_mlir import relax

NHWC = ConvertLayout({"relax.nn.conv2d": ("NHWC", "OHWI")})
DESIRED = [
    {"relax.nn.conv2d": "NHWC:OHWI"},
    {"relax.nn.conv2d": "NCHW2c:OIHW2i2o"},
    {"relax.nn.conv2d": "NHWC4c:OHWI4o:NCHW"},
    {"relax.nn.conv2d": "HWCN"},
    {"relax.nn.conv2d": "NCHW:HWIO:NHWC", "relax.nn.max_pool2d": "NHWC", "relax.nn.avg_pool2d": "CNHW2n:NHWC"},
]
MOVES = ("relax.permute_dims", "relax.layout_transform")


def moves(module: rx.Module) -> list[str]:
    return [name for name in op_names(module) if name in MOVES]


def convolved(case: Any, desired: Any = NHWC, **shapes: Any) -> rx.Module:
    """Return a function after the pass, with compared results. `case` receives its parameters."""
    module = rx.Module()
    with module.function("main", {name: rx.tensor(shape) for name, shape in shapes.items()}) as f:
        f.returns(case(*f))
    return keeps_results(module, desired)


@draws(60)
@given(images(), st.sampled_from(DESIRED))
def test_random_graphs(module: rx.Module, desired: dict[str, str]) -> None:
    keeps_results(module, ConvertLayout(desired), tolerance=1e-3)


@pytest.mark.parametrize("blocks", [1, 3])
def test_a_residual_network_is_converted_at_its_ends(blocks: int) -> None:
    after = keeps_results(resnet(blocks), NHWC)
    assert moves(after) == ["relax.permute_dims"] * 2
    constants = [op for op in operations_in(after.operation) if op.name == "arith.constant"]
    assert all(map(is_used, constants)) and len(constants) == 10 * blocks


@pytest.mark.parametrize("desired", DESIRED, ids=str)
def test_against_onnxruntime(desired: dict[str, str]) -> None:
    random = numpy.random.default_rng(3)
    x, first, second, *norm = (
        random.uniform(0.5, 1.5, shape).astype("float32")
        for shape in ((2, 4, 8, 8), (8, 4, 3, 3), (4, 4, 3, 3), (8,), (8,), (8,), (8,))
    )
    (y,) = run_onnx("Conv", x, first, pads=[1, 0, 1, 2])
    (y,) = run_onnx("BatchNormalization", y, *norm, opset=15)
    (y,) = run_onnx("MaxPool", y, kernel_shape=[2, 3], strides=[2, 1])
    second /= 100  # softmax does not amplify how sums are rounded
    (y,) = run_onnx("Conv", y, second, group=2, strides=[1, 2])
    (y,) = run_onnx("Softmax", y, axis=1)
    (expected,) = run_onnx("GlobalAveragePool", y)

    module = rx.Module()
    with module.function("main", {"x": rx.tensor(x.shape)}) as f:
        (value,) = f
        value = relax.nn.conv2d(value, relax.const(first), padding=(1, 0, 1, 2))
        value = relax.nn.batch_norm(value, *map(relax.const, norm), axis=1, training=False)[0]
        value = relax.nn.max_pool2d(value, (2, 3), strides=(2, 1))
        value = relax.nn.conv2d(value, relax.const(second), groups=2, strides=(1, 2))
        f.returns(relax.mean(relax.nn.softmax(value, axis=1), axis=[2, 3], keepdims=True))
    (actual,) = results_of(changed(module, ConvertLayout(desired)), [x])
    numpy.testing.assert_allclose(actual, expected, rtol=1e-4)


def test_a_network_without_layouts_is_unchanged() -> None:
    module = transformer()
    assert changed(module, NHWC).script() == module.script()


def test_twice_is_once() -> None:
    once = changed(resnet(2), NHWC)
    assert changed(once, NHWC).script() == once.script()


def test_a_second_conversion_restores_the_layout() -> None:
    """Recognize everything that the first pass has converted, including blocks."""
    for there in ("NHWC:OHWI", "NCHW4c:OIHW4i4o"):
        module = resnet(2)
        converted = changed(module, ConvertLayout({"relax.nn.conv2d": there}))
        if "c" not in there:
            back = keeps_results(converted, ConvertLayout({"relax.nn.conv2d": "NCHW:OIHW"}))
            assert not moves(back) and op_names(back) == op_names(module)


def test_the_layout_is_restored_after_fused_operators() -> None:
    """Convert back after the operators that are fused with the convolution, for one user or two."""

    def two_ways(x: Any, w: Any) -> Any:
        y = relax.nn.conv2d(x, w)
        return relax.exp(relax.add(relax.nn.relu(y), relax.tanh(y)))

    after = convolved(two_ways, x=(1, 2, 4, 4), w=(2, 2, 3, 3))
    assert op_names(after)[-2:] == ["relax.exp", "relax.permute_dims"]


def test_the_cheaper_of_two() -> None:
    """Three small operands and a large one."""

    def summed(x: Any, w: Any, large: Any) -> Any:
        y = relax.nn.conv2d(x, w)
        return relax.add(relax.concat([y, relax.exp(y)], axis=2), large)

    after = convolved(summed, x=(1, 2, 4, 4), w=(2, 2, 3, 3), large=(1, 2, 4, 2))
    assert moves(after).count("relax.permute_dims") == 3  # x, w, and y or an operand made of it


def test_control_flow() -> None:
    module = rx.Module.from_script(
        """
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module(ssa=True)
class Module:
    @R.function
    def main(
        x: R.Tensor((1, 2, 4, 4), "float32"), w: R.Tensor((2, 2, 1, 1), "float32")
    ) -> R.Tensor((1, 2, 4, 4), "float32"):
        y = R.nn.conv2d(x, w)
        z = R.nn.relu(y)
        for i in range(0, 3):
            even = arith.remsi(i, T.index(2))
            c = even == 0
            if c:
                a = R.nn.conv2d(z, w)
                x = R.add(a, y)
            else:
                b = R.nn.conv2d(x, w)
                x = R.subtract(b, z)
        d = R.nn.conv2d(x, w)
        return d
"""
    )
    after = keeps_results(module, NHWC)
    assert [op.opview.data_layout for op in convolutions(after)] == ["NHWC"] * 4


def test_blocks_that_jump() -> None:
    """Convert a value at its definition if its first converted use is in another block."""
    module = rx.Module.parse(
        """
func.func @main(%c: tensor<i1>, %x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %y = "relax.nn.conv2d"(%x, %w) : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %t = tensor.extract %c[] : tensor<i1>
  cf.cond_br %t, ^then, ^last(%y : tensor<1x2x4x4xf32>)
^last(%r: tensor<1x2x4x4xf32>):
  %z = "relax.add"(%r, %y) : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %z : tensor<1x2x4x4xf32>
^then:
  %a = "relax.nn.conv2d"(%y, %w) : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %b = "relax.nn.conv2d"(%a, %w) : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %s = "relax.add"(%b, %y) : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  cf.br ^last(%s : tensor<1x2x4x4xf32>)
^never:
  %d = "relax.nn.relu"(%e) : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %d : tensor<1x2x4x4xf32>
^neither:
  %e = "relax.nn.conv2d"(%y, %w) : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  cf.br ^never
}
"""
    )
    after = changed(module, NHWC)
    # Tensors without a conversion next to them stay unchanged.
    assert [op.opview.data_layout for op in convolutions(after)] == ["NHWC"] * 3 + ["NCHW"]


def test_functions_keep_their_boundaries() -> None:
    module = rx.Module.from_script(
        """
from relax_mlir.script import ir as I, relax as R, tir as T

@I.ir_module(ssa=True)
class Module:
    @R.function(private=True)
    def inner(
        x: R.Tensor((1, 2, 4, 4), "float32"), w: R.Tensor((2, 2, 3, 3), "float32")
    ) -> R.Tensor((1, 2, 2, 2), "float32"):
        y = R.nn.conv2d(x, w)
        return y

    @R.function
    def main(
        x: R.Tensor((1, 2, 6, 6), "float32"), w: R.Tensor((2, 2, 3, 3), "float32")
    ) -> R.Tensor((1, 2, 1, 1), "float32"):
        y = R.nn.conv2d(x, w)
        z = cls.inner(y, w)
        v = R.nn.conv2d(z, w, padding=[0, 0, 1, 1])
        return v
"""
    )
    after = keeps_results(module, NHWC)
    assert moves(after) == ["relax.permute_dims"] * 7


# ---- Python decides ----


def kernel_of(op: Any) -> int:
    return int(op.operation.operands[1].type.shape[-1])


def test_a_callback_decides_for_each_operation() -> None:
    def decide(op: Any) -> Any:
        return {1: None, 3: (), 5: ("NCHW2c", "OIHW2o")}[kernel_of(op)]

    def several(x: Any, *kernels: Any) -> Any:
        for kernel in kernels:
            x = relax.nn.conv2d(x, kernel, padding=kernel.type.shape[-1] // 2)
        return x

    kernels = {f"w{size}": (2, 2, size, size) for size in (1, 3, 5)}
    after = convolved(several, ConvertLayout({"relax.nn.conv2d": "NHWC"}, callback=decide), x=(1, 2, 6, 6), **kernels)
    assert [op.opview.data_layout for op in convolutions(after)] == ["NHWC", "NCHW", "NCHW2c"]


def convolutions(module: rx.Module) -> list[Any]:
    return [op for op in operations_in(module.operation) if op.name == "relax.nn.conv2d"]


def test_a_callback_is_asked_for_operators_that_have_a_layout() -> None:
    asked = []
    module = resnet(1)
    ConvertLayout(callback=lambda op: asked.append(op.operation.name))(module)
    assert asked == ["relax.nn.conv2d"] * 2 and module.script() == resnet(1).script()


def test_wrong_answers_of_a_callback_are_refused() -> None:
    module = resnet(1)
    before = module.script()
    answers = iter(["NHWC:OHWI", "NHWC:OHWI:NCHW:NCHW"])
    with pytest.raises(rx.RelaxError, match=r"the callback's answer: relax.nn.conv2d takes 1 to 3 layouts") as error:
        ConvertLayout(callback=lambda op: next(answers))(module)
    assert "test_convert_layout" in error.value.location or "blocks.py" in error.value.location
    assert module.script() == before
    with pytest.raises(rx.RelaxError, match="the callback's answer: 5 names no layouts"):
        ConvertLayout(callback=lambda op: 5)(module)


def test_options() -> None:
    text = "relax-convert-layout{desired=relax.nn.conv2d:NHWC:OHWI,relax.nn.max_pool2d:NHWC}"
    desired = {"relax.nn.conv2d": ("NHWC", "OHWI"), "relax.nn.max_pool2d": "NHWC"}
    assert ConvertLayout(desired).text() == text
    assert str(rx.Pipeline(text)) == f"builtin.module({text})"
    with pytest.raises(rx.RelaxError, match=r"needs option 'desired', such as relax.nn.conv2d:NHWC:OHWI"):
        ConvertLayout()
    with pytest.raises(rx.RelaxError, match=r"unknown operator 'relax.nn.conv9d'"):
        ConvertLayout({"relax.nn.conv9d": "NHWC"})
    with pytest.raises(
        rx.RelaxError, match="desired: None names no layouts: expected 'NHWC:OHWI', or a tuple of texts"
    ):
        ConvertLayout({"relax.nn.conv2d": None})


# ---- operators of other packages ----


def test_an_operator_of_another_package() -> None:
    dialect = rx.Dialect("laid", doc="Of this test.")
    of_row = {"infer": lambda call: call.x, "doc": "Of this test."}
    scale = dialect.op("scaled", "x", pattern="elemwise", **of_row)
    mirror = dialect.op("mirrored", "x", attrs={"axis": rx.attrs.Int(0)}, pattern="elemwise", **of_row)
    hide = dialect.op("opaque", "x", **of_row)

    def module() -> rx.Module:
        made = rx.Module()
        with made.function("main", {"x": rx.tensor((1, 2, 4, 4)), "w": rx.tensor((2, 2, 1, 1))}) as f:
            x, w = f
            f.returns(hide(mirror(scale(relax.nn.conv2d(x, w)), axis=3)))
        return made

    def axis_and_shape(after: rx.Module) -> Any:
        (mirrored,) = [op for op in operations_in(after.operation) if op.name == "laid.mirrored"]
        return mirrored.attributes["axis"].value, mirrored.operands[0].type.shape

    assert op_names(changed(module(), NHWC), "laid.") == ["laid.scaled", "laid.mirrored", "laid.opaque"]
    # An integer may be an axis: how it changes is not stated.
    assert axis_and_shape(changed(module(), NHWC)) == (3, [1, 2, 4, 4])
    with without_new_layouts():

        @rx.register_layout("laid.mirrored")
        def mirrored(call: Any, layout: Layout) -> Any:
            axis = layout.place(call.axis)
            return None if axis is None else call.follow(layout, axis=axis)

        assert axis_and_shape(changed(module(), NHWC)) == (2, [1, 4, 4, 2])
        with pytest.raises(rx.RelaxError, match=r"'laid.mirrored' has a layout rule already: passes/test_convert"):
            rx.register_layout("laid.mirrored")(lambda call, layout: None)
    with pytest.raises(rx.RelaxError, match=r"unknown operator 'laid.mirror'"):
        rx.register_layout("laid.mirror")(lambda call, layout: None)


_WRONGLY = rx.Dialect("laid_wrongly", doc="Of this test.")
_TURN = _WRONGLY.op("turned", "x", attrs={"axis": rx.attrs.Int(0)}, infer=lambda call: call.x, doc="Of this test.")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda call, layout: layout, "returned Layout.*: expected a Placement or None"),
        (
            lambda call, layout: call.placed({"x": layout}, [layout, layout]),
            "for another number of operands or results",
        ),
        (lambda call, layout: call.follow(layout, axis="last"), "wrong attributes: expects an integer, got 'last'"),
        (lambda call, layout: call.follow(layout, axes=[1]), "wrong attributes: 'axes'"),
    ],
)
def test_wrong_answers_of_a_layout_rule_are_refused(answer: Any, problem: str) -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((1, 2, 4, 4)), "w": rx.tensor((2, 2, 1, 1))}) as f:
        f.returns(_TURN(relax.nn.conv2d(*f)))
    before = module.script()
    with without_new_layouts():
        rx.register_layout("laid_wrongly.turned")(answer)
        with pytest.raises(
            rx.RelaxError, match=rf"the layout rule of 'laid_wrongly.turned' \(.*\) .*{problem}"
        ) as error:
            NHWC(module)
    assert "test_convert_layout.py" in error.value.location and module.script() == before


def test_transforms_into_the_same_blocks_elsewhere() -> None:
    """Transform NCHW4c to NHWC4c and back, which takes transposes of five axes."""

    def split(x: Any) -> Any:
        return relax.layout_transform(x, index_map=lambda n, c, h, w: (n, c // 4, h, w, c % 4))

    def joined(x: Any) -> Any:
        return relax.layout_transform(x, index_map=lambda n, c, h, w, block: (n, c * 4 + block, h, w))

    def around(x: Any) -> Any:
        kernel = relax.const(numpy.random.default_rng(1).uniform(size=(8, 8, 3, 3)).astype("float32"))
        return relax.exp(split(relax.nn.relu(relax.nn.conv2d(joined(x), kernel, out_dtype="float32"))))

    after = convolved(around, ConvertLayout({"relax.nn.conv2d": "NHWC4c:OIHW4i4o"}), x=(1, 2, 4, 5, 4))
    assert moves(after) == ["relax.permute_dims"] * 2


def test_transposes_with_named_sizes_are_conversions() -> None:
    sizes = '#relax.sym<["n + n", 4, 4, 2]>'
    module = rx.Module.parse(
        f"""
func.func @main(%x: tensor<?x4x4x2xf32, {sizes}>, %w: tensor<2x2x1x1xf32>) -> tensor<?x4x4x2xf32, {sizes}> {{
  %t = "relax.permute_dims"(%x) {{axes = array<i64: 0, 3, 1, 2>}}
    : (tensor<?x4x4x2xf32, {sizes}>) -> tensor<?x2x4x4xf32, #relax.sym<["2 * n", 2, 4, 4]>>
  %y = "relax.nn.conv2d"(%t, %w) : (tensor<?x2x4x4xf32, #relax.sym<["2 * n", 2, 4, 4]>>, tensor<2x2x1x1xf32>)
    -> tensor<?x2x4x4xf32, #relax.sym<["2*n", 2, 4, 4]>>
  %r = "relax.permute_dims"(%y) {{axes = array<i64: 0, 2, 3, 1>}}
    : (tensor<?x2x4x4xf32, #relax.sym<["2*n", 2, 4, 4]>>) -> tensor<?x4x4x2xf32, {sizes}>
  return %r : tensor<?x4x4x2xf32, {sizes}>
}}
"""
    )
    assert not moves(changed(module, NHWC))


# ---- layouts of layouts ----

TEXTS = "ABC BCA CAB ACB2c AB4b2bC A2aB4bC 2aABC BCA2a4b CA4b2bB AC2bB".split()
OF_THREE = [as_it_is(3).with_axes(parse_layout(text, "ABC").axes) for text in TEXTS]
SHAPES = list(itertools.product([1, 2, 8], repeat=3))


@pytest.mark.parametrize("layout", OF_THREE, ids=TEXTS)
def test_elements_in_layouts(layout: Layout) -> None:
    """Compare with an independent layout of arrays. A reshape replaces a transpose where possible."""
    plain = as_it_is(3)
    for wanted, shape in itertools.product(OF_THREE, SHAPES):
        if shape_in(layout, shape) is None or shape_in(wanted, shape) is None:
            continue
        array = numpy.arange(numpy.prod(shape)).reshape(shape)
        given, expected = (in_layout(array, each.text, "ABC") for each in (layout, wanted))
        assert expected.shape == shape_in(wanted, shape)
        assert numpy.array_equal(converted_elements(array, plain, wanted), expected)
        assert numpy.array_equal(converted_elements(given, layout, wanted), expected)
        if keeps_order(layout, wanted, shape):
            assert numpy.array_equal(given.ravel(), expected.ravel())


def test_a_reshape_is_enough() -> None:
    plain, last, blocked = (as_it_is(3).with_axes(parse_layout(text, "ABC").axes) for text in ("ABC", "BCA", "ABC2a"))
    assert keeps_order(plain, last, (1, 5, 7)) and keeps_order(plain, last, (4, 1, 1))
    assert keeps_order(plain, blocked, (4, 1, 1)) and keeps_order(blocked, plain, (2, 5, 7)) is False
    assert not keeps_order(plain, last, (4, 1, 7)) and not keeps_order(plain, last, (None, 5, 1))


def test_between_and_behind_are_inverse() -> None:
    found = 0
    for current, wanted in itertools.product(OF_THREE, repeat=2):
        change = between(current, wanted)
        if change is not None:
            found += 1
            assert behind(current, change) == wanted
    # From the three layouts without blocks to all, and from others to layouts of the same blocks: two pairs, and three
    # alone.
    assert found == 3 * len(OF_THREE) + 4 + 4 + 3


def test_maps_of_layouts_are_read() -> None:
    with rx.Module().context:
        for layout in OF_THREE:
            plain = layout.plain
            assert layout_behind(map_between(plain, layout), "ABC") == layout
            assert layout_before(map_between(layout, plain), "ABC") == layout
        flat = ir.Attribute.parse("affine_map<(a, b, c, d, e) -> (a, c * 2 + d + b * 8, e)>").value
        assert layout_before(flat, "ABC") == OF_THREE[TEXTS.index("AB4b2bC")]
        for other in ("(b, a + b)", "(a, b * 2)", "(a, a)", "(a, b mod 2)", "(a + 1, b)", "(a, b floordiv 2)"):
            index_map = ir.Attribute.parse(f"affine_map<(a, b) -> {other}>").value
            assert layout_before(index_map, "AB") is None and layout_behind(index_map, "AB") is None


def test_pools_between_blocks_of_another_order() -> None:
    """Distinguish NCHW4c2c from NCHW2c4c, which have the same axes in another order."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((1, 2, 4, 4, 4, 2))}) as f:
        (x,) = f
        f.returns(relax.nn.max_pool2d(x, (1, 1), layout="NCHW4c2c", out_layout="NCHW2c4c"))
    plain = numpy.arange(16 * 16, dtype="float32").reshape(1, 16, 4, 4)
    (pooled,) = results_of(module, [in_layout(plain, "NCHW4c2c")])
    assert numpy.array_equal(pooled, in_layout(plain, "NCHW2c4c"))
