# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fine-tuning of models with constant weights: a loss is appended, and the weights become trained parameters."""
# Apache TVM: test_training_append_loss.py, test_frontend_common.py (detach_params), test_training_setup_trainer.py.

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
import relax_mlir as rx
from onnx import TensorProto, helper, numpy_helper
from relax_mlir import relax
from relax_mlir.passes.graph.relax_bind_params import BindParams

import onnxruntime

LABELS = {"labels": rx.tensor(("n",), "int64")}


def cross_entropy(scores: Any, labels: Any) -> Any:
    return relax.nn.nll_loss(relax.nn.log_softmax(scores, axis=1), labels)


def weights(seed: int = 0) -> dict[str, Any]:
    """Return the weights of a convolution, a norm and a dense layer."""
    generator = numpy.random.default_rng(seed)
    shapes = {"conv.weight": (4, 1, 3, 3), "conv.bias": (4,), "norm.scale": (4,), "norm.shift": (4,)}
    shapes |= {"fc.weight": (5, 36), "fc.bias": (5,)}
    made = {name: generator.normal(0, 0.3, shape) for name, shape in shapes.items()}
    made |= {"norm.mean": numpy.full(4, 0.1), "norm.var": numpy.full(4, 0.8)}
    return {name: array.astype("float32") for name, array in made.items()}


def network(arrays: dict[str, Any]) -> onnx.ModelProto:
    """Return a small CNN. A Constant node has the scale, a weight, next to a number that is no weight."""
    nodes = [
        helper.make_node("Constant", [], ["norm.scale"], value=numpy_helper.from_array(arrays["norm.scale"])),
        helper.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["a"], "conv", kernel_shape=[3, 3]),
        helper.make_node("BatchNormalization", ["a", "norm.scale", "norm.shift", "norm.mean", "norm.var"], ["b"], "bn"),
        helper.make_node("Relu", ["b"], ["c"]),
        helper.make_node("MaxPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["d"], ["e"]),
        helper.make_node("Mul", ["e", "half"], ["f"]),
        helper.make_node("Gemm", ["f", "fc.weight", "fc.bias"], ["scores"], "fc", transB=1),
    ]
    held = {**arrays, "half": numpy.array(0.5, "float32")}
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 8, 8])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 5])],
        [numpy_helper.from_array(array, name) for name, array in held.items() if name != "norm.scale"],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def scores_of(arrays: dict[str, Any], pictures: Any) -> Any:
    """Return onnxruntime's scores."""
    session = onnxruntime.InferenceSession(network(arrays).SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": pictures})[0]


def probabilities(scores: Any) -> Any:
    powers = numpy.exp(scores.astype("float64") - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def loss_of(arrays: dict[str, Any], pictures: Any, labels: Any) -> float:
    return float(-numpy.log(probabilities(scores_of(arrays, pictures))[numpy.arange(len(labels)), labels]).mean())


@pytest.fixture
def batch() -> tuple[Any, Any]:
    generator = numpy.random.default_rng(3)
    return generator.normal(size=(24, 1, 8, 8)).astype("float32"), generator.integers(0, 5, 24)


@pytest.mark.slow
def test_an_onnx_model_is_fine_tuned(batch: Any, tmp_path: Path) -> None:
    pictures, labels = batch
    arrays, rate = weights(), 0.2
    path = tmp_path / "network.onnx"
    onnx.save(network(arrays), path)
    model = rx.from_onnx(path)
    training = model.copy()
    assert rx.append_loss(training, cross_entropy, LABELS) == "main_loss"
    found = rx.unbind_params(training, "main_loss")
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        numpy.testing.assert_array_equal(found[name], array)
    trained = {name: array for name, array in found.items() if name not in ("norm.mean", "norm.var")}
    fixed = {name: array for name, array in found.items() if name not in trained}
    trainer = rx.Trainer(training, "main_loss", rx.optim.SGD(rate), trained)

    first = trainer.step(pictures, labels, **fixed)
    assert first == pytest.approx(loss_of(arrays, pictures, labels), rel=1e-5)
    # The gradient of the last bias: the probabilities minus the label's one-hot vector.
    error = probabilities(scores_of(arrays, pictures)) - numpy.eye(5)[labels]
    numpy.testing.assert_allclose(trainer.parameters["fc.bias"], arrays["fc.bias"] - rate * error.mean(0), atol=1e-6)
    # The loss as onnxruntime sees the first weights moved a little each.
    for name, place in (("conv.weight", (2, 0, 1, 1)), ("norm.scale", (1,)), ("fc.weight", (3, 7))):
        moved = [{**arrays, name: arrays[name].copy()} for _ in range(2)]
        moved[0][name][place] += 1e-2
        moved[1][name][place] -= 1e-2
        slope = (loss_of(moved[0], pictures, labels) - loss_of(moved[1], pictures, labels)) / 2e-2
        changed = (arrays[name] - trainer.parameters[name])[place] / rate
        assert changed == pytest.approx(slope, rel=0.05, abs=1e-3)
    now = {**arrays, **trainer.parameters}
    assert trainer.step(pictures, labels, **fixed) == pytest.approx(loss_of(now, pictures, labels), rel=1e-5)
    for _ in range(60):
        last = trainer.step(pictures, labels, **fixed)
    assert last < 0.6 * first

    # The trained weights are constants again, of the model without a loss.
    rx.unbind_params(model)
    BindParams(arrays={**fixed, **trainer.parameters})(model)
    expected = scores_of({**fixed, **trainer.parameters}, pictures)
    numpy.testing.assert_allclose(rx.compile(model)["main"](pictures), expected, rtol=1e-4, atol=1e-4)


def test_some_weights_are_chosen_by_name(batch: Any) -> None:
    pictures, labels = batch
    model = rx.from_onnx(network(weights()))
    rx.append_loss(model, cross_entropy, LABELS)
    head = rx.unbind_params(model, "main_loss", ["fc.*"])
    assert list(head) == ["fc.weight", "fc.bias"]
    trainer = rx.Trainer(model, "main_loss", rx.optim.Adam(lr=0.01), head)
    losses = [float(trainer.step(pictures, labels)) for _ in range(10)]
    assert losses == sorted(losses, reverse=True)
    with pytest.raises(rx.RelaxError, match=r"no constant of @main is called 'fc.wieght'.*did you mean 'fc.weight'"):
        rx.unbind_params(model, weights="fc.wieght")
    half = rx.unbind_params(model, weights="half")
    assert half["half"].shape == ()
    half["half"][...] = 7  # the caller's own
    assert rx.unbind_params(rx.from_onnx(network(weights())), weights="half")["half"] == 0.5


def test_a_weight_of_two_branches_is_one_parameter() -> None:
    """Train an If with branches that share one of the model's weights, a small one."""
    scale = numpy.array([2.0, 3.0], "float32")
    branches = [
        helper.make_graph(
            [helper.make_node(op, ["x", "scale"], [op])],
            op,
            [],
            [helper.make_tensor_value_info(op, TensorProto.FLOAT, ["n", 2])],
        )
        for op in ("Mul", "Add")
    ]
    node = helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])
    inputs = [helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    inputs.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2]))
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])]
    graph = helper.make_graph([node], "g", inputs, outputs, [numpy_helper.from_array(scale, "scale")])
    model = rx.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    assert list(rx.unbind_params(model)) == ["scale"]
    main = rx.compile(model)["main"]
    x, other = numpy.ones((1, 2), "float32"), numpy.array([5.0, 7.0], "float32")
    assert main(True, x, other).tolist() == [[5, 7]]
    assert main(False, x, other).tolist() == [[6, 8]]


def test_losses_that_are_refused_leave_the_module_as_it_was() -> None:
    model = rx.from_onnx(network(weights()))
    text = str(model)
    with pytest.raises(rx.RelaxError, match=r"no function @mian; did you mean 'main'"):
        rx.append_loss(model, cross_entropy, LABELS, "mian")
    with pytest.raises(rx.RelaxError, match="@main has a parameter 'x': targets need names of their own"):
        rx.append_loss(model, cross_entropy, {"x": rx.tensor(("n",), "int64")})
    with pytest.raises(rx.RelaxError, match="has a function @main already"):
        rx.append_loss(model, cross_entropy, LABELS, name="main")
    with pytest.raises(rx.RelaxError, match="log_softmax"):
        rx.append_loss(model, lambda scores, labels: relax.nn.log_softmax(scores, axis=9), LABELS)
    assert str(model) == text
    assert rx.append_loss(model, cross_entropy, LABELS, name="loss") == "loss"


def test_of_several_results_the_loss_gets_all() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n",))}) as f:
        (x,) = f
        f.returns(relax.exp(x), relax.negative(x))
    rx.append_loss(module, lambda a, b, y: relax.sum(relax.add(relax.multiply(a, y), b)), {"y": rx.tensor(("n",))})
    x, y = numpy.array([0.0, 1.0], "float32"), numpy.array([2.0, 3.0], "float32")
    made = rx.compile(rx.grad(module, "main_loss", wrt=["x"]))
    loss, by_x = made["main_loss_adjoint"](x, y)
    numpy.testing.assert_allclose(loss, (numpy.exp(x) * y - x).sum(), rtol=1e-6)
    numpy.testing.assert_allclose(by_x, numpy.exp(x) * y - 1, rtol=1e-6)
