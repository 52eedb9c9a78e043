# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Form of the models that rx.to_onnx makes, and refusals."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy
import onnx
import pytest
from compiling import array, floats, module_with
from export_round_trip import run
from onnx import parser
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.frontends.core.node import Unsupported
from relax_mlir.frontends.onnx.export.export_values import Ref
from relax_mlir.frontends.onnx.export.size_tensors import SizeTensors

import relax_mlir as rx
from relax_mlir import relax

_RELU_OF_SUM = """<ir_version: 10, opset_import: ["" : 21]>
small (float[batch, 4] image, float[4] bias) => (float[batch, 4] positive, float[batch, 4] total) {
    [adds] total = Add(image, bias)
    [limits] positive = Relu(total)
}"""


def _types(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def _shape(value: onnx.ValueInfoProto) -> list[int | str]:
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


# ---- names ----


def test_names_are_those_of_the_model() -> None:
    model = rx.to_onnx(rx.from_onnx(parser.parse_model(_RELU_OF_SUM)))
    onnx.checker.check_model(model, full_check=True)
    assert [each.name for each in model.graph.input] == ["image", "bias"]
    assert [each.name for each in model.graph.output] == ["positive", "total"]
    assert [node.name for node in model.graph.node] == ["adds", "limits"]
    assert _shape(model.graph.input[0]) == ["batch", 4]
    assert [each.version for each in model.opset_import] == [21]


def test_helper_nodes_are_named_after_their_operator() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]>
    g (float[n, 8] x) => (float[n, 8] y) { [act] y = Mish(x) }"""
    names = [node.name for node in rx.to_onnx(rx.from_onnx(parser.parse_model(text))).graph.node]
    assert names[-1] == "act" and all(name.startswith("act") for name in names) and len(set(names)) == len(names)


def test_a_constant_does_not_take_the_name_of_its_operator() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]>
    g (float[n] x) => (float[300] y) { [filled] c = ConstantOfShape <value = float[1] {2.0}> (s) y = Mul(x, c) }"""
    proto = parser.parse_model(text)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(numpy.array([300]), "s"))
    model = rx.to_onnx(rx.from_onnx(proto))
    assert [node.name for node in model.graph.node] == ["filled", "y"]
    assert model.graph.node[0].output[0] == "filled"


def test_functions_without_names() -> None:
    module = module_with([rx.tensor((2,)), rx.tensor((2,))], lambda x, y: (relax.add(x, y), relax.exp(x)))
    model = rx.to_onnx(module)
    assert [each.name for each in model.graph.input] == ["arg0", "arg1"]
    assert [each.name for each in model.graph.output] == ["output_0", "output_1"]


def test_repeated_outputs_and_returned_inputs_are_copied() -> None:
    def body(x: Any) -> Any:
        y = relax.exp(x)
        return y, x, y, relax.const([1.0])

    model = rx.to_onnx(module_with({"x": rx.tensor((2,))}, body))
    data = floats(2)
    found = run(model, [data])
    numpy.testing.assert_allclose(found[0], numpy.exp(data), rtol=1e-6)
    numpy.testing.assert_array_equal(found[0], found[2])
    numpy.testing.assert_array_equal(found[1], data)
    assert found[3].tolist() == [1.0]
    assert _types(model).count("Exp") == 1


def test_unused_operators_are_not_exported() -> None:
    def body(x: Any) -> Any:
        relax.exp(x)
        relax.const(numpy.ones(4, "float32"))
        return relax.tanh(x)

    model = rx.to_onnx(module_with([rx.tensor((2,))], body))
    assert _types(model) == ["Tanh"] and not model.graph.initializer


# ---- sizes ----


def test_a_symbol_that_stands_in_an_expression_only() -> None:
    """Compute n from the size 2 * n + 1."""
    module = module_with(
        [rx.tensor(("2*n + 1", 4))], lambda x: relax.add(relax.sum(x), relax.sum(relax.ones(("n", 3), "float32")))
    )
    data = floats(7, 4)
    (found,) = run(rx.to_onnx(module), [data])
    numpy.testing.assert_allclose(found, data.sum() + 9, rtol=1e-5)


def test_expressions_are_computed() -> None:
    wanted = ("n//2 + m", "n%3 + 1", "min(n, m)", "max(n, 2*m)")
    module = module_with([rx.tensor(("n",)), rx.tensor(("m",))], lambda x, y: relax.ones(wanted, "float32"))
    for n, m in ((7, 3), (4, 9)):
        (found,) = run(rx.to_onnx(module), [floats(n), floats(m)])
        assert found.shape == (n // 2 + m, n % 3 + 1, min(n, m), max(n, 2 * m))


def test_a_size_is_read_once() -> None:
    def body(x: Any, y: Any) -> Any:
        ones = relax.ones(("n*m", "n"), "float32")
        return relax.add(relax.sum(ones), relax.sum(relax.zeros(("n", "m"), "float32")))

    model = rx.to_onnx(module_with([rx.tensor(("n",)), rx.tensor(("m",))], body))
    assert _types(model).count("Shape") == 2


def test_sizes_without_an_argument_are_refused() -> None:
    module = rx.Module.parse("""func.func @main(%x: tensor<4xf32>) -> tensor<?xf32, #relax.sym<["k"]>> {
      %s = "relax.shape_expr"() {dims = ["k"]} : () -> !relax.shape<["k"]>
      %y = "relax.ones"(%s) {dtype = f32} : (!relax.shape<["k"]>) -> tensor<?xf32, #relax.sym<["k"]>>
      return %y : tensor<?xf32, #relax.sym<["k"]>>
    }""")
    with pytest.raises(rx.RelaxError, match="the size 'k' is not the size of an argument"):
        rx.to_onnx(module)


def test_a_reshape_is_as_short_as_it_can_be() -> None:
    def shapes(*wanted: Any) -> list[int]:
        module = module_with([rx.tensor(("b", "s", 12))], lambda x: relax.reshape(x, wanted))
        model = rx.to_onnx(module)
        assert _types(model) == ["Reshape"]
        return list(onnx.numpy_helper.to_array(model.graph.initializer[0]))

    assert shapes("b", "s", 4, 3) == [0, 0, 4, 3]
    assert shapes("b*s", 12) == [-1, 12]


# ---- functions ----


def test_called_functions_are_inlined_at_the_call() -> None:
    module = rx.Module()
    with module.function("half", {"x": rx.tensor(("k",))}, private=True) as f:
        (x,) = f
        f.returns(relax.multiply(x, relax.full(("k",), relax.const(0.5))))
    with module.function("main", {"a": rx.tensor(("n", 2))}) as f:
        (a,) = f
        flat = relax.reshape(a, ("2*n",))
        f.returns(_called(module, "half", _called(module, "half", flat)))
    data = floats(3, 2)
    model = rx.to_onnx(module)
    (found,) = run(model, [data])
    numpy.testing.assert_allclose(found, data.reshape(-1) / 4, rtol=1e-6)


def _called(module: rx.Module, name: str, value: Any) -> Any:
    made = rx.ir.Operation.create(
        "func.call",
        results=[value.type],
        operands=[value],
        attributes={"callee": rx.ir.FlatSymbolRefAttr.get(name, module.context)},
    )
    return made.result


def test_recursion() -> None:
    module = rx.Module.parse("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }""")
    with pytest.raises(rx.RelaxError, match="it calls @main recursively: ONNX has no recursion"):
        rx.to_onnx(module)


def test_the_exported_function_is_chosen_by_name() -> None:
    module = rx.Module()
    for name in ("one", "two"):
        with module.function(name, [rx.tensor((2,))]) as f:
            f.returns(relax.exp(*f))
    assert rx.to_onnx(module, function="two").graph.name == "two"
    with pytest.raises(rx.RelaxError, match=r"2 public graph functions: name one \(function=\)"):
        rx.to_onnx(module)
    with pytest.raises(rx.RelaxError, match="no graph function @tow; did you mean 'two'"):
        rx.to_onnx(module, function="tow")


# ---- branches and loops ----

_LOOP = """func.func @main(%x: tensor<4xf32>, %count: tensor<i64>) -> (tensor<4xf32>, tensor<i64>) {
  %low = arith.constant LOW : i64
  %step = arith.constant STEP : i64
  %high = tensor.extract %count[] : tensor<i64>
  %zero = arith.constant 0 : i64
  %two = arith.constant dense<2.0> : tensor<f32>
  %y, %n = scf.for %i = %low to %high step %step iter_args(%held = %x, %sum = %zero) -> (tensor<4xf32>, i64) : i64 {
    %more = "relax.multiply"(%held, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %next = arith.addi %sum, %i : i64
    scf.yield %more, %next : tensor<4xf32>, i64
  }
  %total = tensor.from_elements %n : tensor<i64>
  return %y, %total : tensor<4xf32>, tensor<i64>
}"""


@pytest.mark.parametrize(("low", "step"), [(0, 1), (2, 3), (1, 1)])
@pytest.mark.parametrize("count", [0, 1, 9])
def test_counted_loops(low: int, step: int, count: int) -> None:
    model = rx.to_onnx(rx.Module.parse(_LOOP.replace("LOW", str(low)).replace("STEP", str(step))))
    data = floats(4)
    turns = range(low, count, step)
    found, total = run(model, [data, numpy.array(count)])
    numpy.testing.assert_allclose(found, data * 2.0 ** len(turns))
    assert total == sum(turns)


_WHILE = """func.func @main(%x: tensor<?xf32, #relax.sym<["n"]>>, %most: tensor<f32>)
    -> tensor<?xf32, #relax.sym<["n"]>> {
  %y = scf.while (%held = %x) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>> {
    %sum = "relax.sum"(%held) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<f32>
    %less = "relax.less"(%sum, %most) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %goes_on = tensor.extract %less[] : tensor<i1>
    scf.condition(%goes_on) %held : tensor<?xf32, #relax.sym<["n"]>>
  } do {
  ^bb0(%held: tensor<?xf32, #relax.sym<["n"]>>):
    %s = "relax.shape_expr"() {dims = ["n"]} : () -> !relax.shape<["n"]>
    %ones = "relax.ones"(%s) {dtype = f32} : (!relax.shape<["n"]>) -> tensor<?xf32, #relax.sym<["n"]>>
    %more = "relax.add"(%held, %ones) : (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n"]>>)
      -> tensor<?xf32, #relax.sym<["n"]>>
    scf.yield %more : tensor<?xf32, #relax.sym<["n"]>>
  }
  return %y : tensor<?xf32, #relax.sym<["n"]>>
}"""


@pytest.mark.parametrize("most", [-1.0, 0.5, 10.0])
def test_loops_with_a_condition(most: float) -> None:
    model = rx.to_onnx(rx.Module.parse(_WHILE))
    assert _types(model).count("Loop") == 1
    data = numpy.zeros(3, "float32")
    wanted = data
    while wanted.sum() < most:
        wanted = wanted + 1
    (found,) = run(model, [data, numpy.array(most, "float32")])
    numpy.testing.assert_array_equal(found, wanted)


def test_branches_see_what_is_around() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]>
    g (float[n] x, bool which) => (float[n] y) {
        twice = Add(x, x)
        y = If(which) <then_branch = a () => (float[n] p) { e = Exp(x) p = Mul(e, twice) },
                       else_branch = b () => (float[n] q) { q = Identity(twice) }>
    }"""
    model = rx.to_onnx(rx.from_onnx(parser.parse_model(text)))
    data = floats(5)
    for which, wanted in ((True, numpy.exp(data) * 2 * data), (False, 2 * data)):
        (found,) = run(model, [data, numpy.array(which)])
        numpy.testing.assert_allclose(found, wanted, rtol=1e-6)


# ---- refusals ----


def test_all_that_is_refused_at_once_with_places() -> None:
    module = rx.Module.parse(
        """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = "relax.atan2"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  "relax.print"(%b) : (tensor<4xf32>) -> ()
  %c = "relax.atan2"(%b, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = "relax.atan2"(%x, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %d : tensor<4xf32>
}"""
    )
    with pytest.raises(rx.RelaxError) as caught:
        rx.to_onnx(module)
    lines = str(caught.value).splitlines()
    assert lines[0] == "4 operations cannot be exported to ONNX:"
    assert lines[1].split() == ["operation", "number", "first", "attribute", "reason"]
    assert lines[2].split("  ")[0] == "relax.atan2" and ":2:8 " in lines[2] and " 3 " in lines[2]
    assert "relax.print" in lines[3] and lines[3].endswith("it has no counterpart in ONNX")


def test_an_attribute_without_a_counterpart() -> None:
    body = lambda x: relax.nn.softplus(x, threshold=2.0)  # noqa: E731
    with pytest.raises(rx.RelaxError, match=r"relax.nn.softplus .* threshold  ONNX's Softplus has no threshold"):
        rx.to_onnx(module_with([rx.tensor((4,))], body))


def test_operators_of_newer_opsets_need_the_option_opset() -> None:
    module = module_with([rx.tensor((4,))], lambda x: relax.bitcast(x, "int32"))
    with pytest.raises(rx.RelaxError, match=r"ONNX has BitCast since opset 26: ask for it \(opset=26\)"):
        rx.to_onnx(module)
    (found,) = run(rx.to_onnx(module, opset=26), [numpy.ones(4, "float32")])
    assert found.tolist() == [0x3F800000] * 4


@pytest.mark.parametrize("opset", [19, 1000, "21"])
def test_versions(opset: Any) -> None:
    with pytest.raises(rx.RelaxError, match=r"opset=.*: expected a version from 20 to \d+"):
        rx.to_onnx(module_with([rx.tensor((4,))], relax.exp), opset=opset)


def _untouched(count: int) -> Any:
    """Memory that nothing reads or copies takes none."""
    array = numpy.zeros(count, "float32")
    array.setflags(write=False)
    return array


def test_more_than_two_gigabytes() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        (x,) = f
        f.returns(x, *(relax.const(_untouched(1 << 28)) for _ in range(3)))
    with pytest.raises(rx.RelaxError, match="constants take 3,221,225,472 bytes, an ONNX model has 2 GB at most"):
        rx.to_onnx(module)


def test_a_shape_as_an_argument() -> None:
    module = rx.Module.parse("""func.func @main(%s: !relax.shape<["n"]>) -> tensor<?xf32> {
      %y = "relax.ones"(%s) {dtype = f32} : (!relax.shape<["n"]>) -> tensor<?xf32>
      return %y : tensor<?xf32>
    }""")
    with pytest.raises(rx.RelaxError, match=r"argument #0 is !relax.shape.*: expected a tensor"):
        rx.to_onnx(module)


def test_to_onnx_does_not_change_the_module() -> None:
    module = rx.from_onnx(parser.parse_model(_RELU_OF_SUM))
    before = str(module)
    rx.to_onnx(module)
    assert str(module) == before


def test_the_same_bytes_each_time() -> None:
    module = rx.from_onnx(parser.parse_model(_RELU_OF_SUM))
    assert rx.to_onnx(module).SerializeToString() == rx.to_onnx(module).SerializeToString()


# ---- element types without a kernel ----


def test_narrow_types_are_widened_where_a_kernel_lacks() -> None:
    module = module_with([rx.tensor((4, 4), "int8")], lambda x: relax.tril(x))
    model = rx.to_onnx(module)
    assert _types(model) == ["Cast", "Trilu", "Cast"]
    data = numpy.arange(-8, 8, dtype="int8").reshape(4, 4)
    (found,) = run(model, [data])
    numpy.testing.assert_array_equal(found, numpy.tril(data))


def test_types_with_a_kernel_stay() -> None:
    for dtype in ("float32", "float64", "int32", "uint8"):
        assert _types(rx.to_onnx(module_with([rx.tensor((4,), dtype)], lambda x: relax.add(x, x)))) == ["Add"]


def test_a_network_and_back_again() -> None:
    """Import an exported model, and compare the results."""
    weight, data = floats(4, 3, 3, 3), floats(2, 3, 8, 8)

    def body(x: Any) -> Any:
        y = relax.nn.relu(relax.nn.conv2d(x, relax.const(weight), padding=[1, 1]))
        y = relax.mean(y, axis=[2, 3])
        return relax.nn.softmax(y)

    module = module_with({"x": rx.tensor(("n", 3, 8, 8))}, body)
    again = rx.from_onnx(rx.to_onnx(module))
    wanted, found = (array(rx.compile(each)["main"](data)) for each in (module, again))
    numpy.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_sizes_of_a_branch_that_cannot_be_exported_are_forgotten() -> None:
    """Forget sizes of a failed branch, since the export continues in order to report all problems."""
    sizes, n = SizeTensors(), rx.sym("n")
    with contextlib.suppress(Unsupported), sizes.inside():
        sizes.define(Ref("float32"), TensorInfo((n,), "float32"))
        assert sizes.is_known(n)
        raise Unsupported("no counterpart")
    assert not sizes.is_known(n)
