# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers against numpy with the formulas of torch's pages, training steps, trainers and refusals."""
# Apache TVM: test_training_optimizer.py, test_training_optimizer_numeric.py, test_training_setup_trainer.py,
# test_training_trainer_numeric.py, test_transform_gradient_te_register.py.

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from own_rules import without_new_gradients
from relax_mlir import relax
from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

rng = numpy.random.default_rng(11)


@I.ir_module
class Line:
    @R.function
    def loss(
        x: R.Tensor(("n", 3), "float32"),
        w: R.Tensor((3, 2), "float32"),
        y: R.Tensor(("n", 2), "float32"),
        b: R.Tensor((2,), "float32"),
    ) -> R.Tensor((), "float32"):
        error = R.matmul(x, w) + b - y
        return R.mean(error * error)


# ---- optimizers, each as a function of (number of the update, parameter, gradient, memory) ----


def sgd(lr: float, weight_decay: float = 0.0) -> Callable[..., Any]:
    return lambda count, x, g, held: x - lr * (g + weight_decay * x)


def momentum_sgd(lr: float, momentum: float, dampening: float = 0.0, weight_decay: float = 0.0,
                 nesterov: bool = False) -> Callable[..., Any]:  # fmt: skip
    def update(count: int, x: Any, g: Any, held: dict[str, Any]) -> Any:
        g = g + weight_decay * x
        held["v"] = momentum * held.get("v", 0) + (1 - dampening) * g
        return x - lr * (g + momentum * held["v"] if nesterov else held["v"])

    return update


def adam(lr: float, betas: Any, eps: float, weight_decay: float, decoupled: bool) -> Callable[..., Any]:
    def update(count: int, x: Any, g: Any, held: dict[str, Any]) -> Any:
        if decoupled:
            x = x - lr * weight_decay * x
        else:
            g = g + weight_decay * x
        held["m"] = betas[0] * held.get("m", 0) + (1 - betas[0]) * g
        held["v"] = betas[1] * held.get("v", 0) + (1 - betas[1]) * g * g
        mean, square = held["m"] / (1 - betas[0] ** count), held["v"] / (1 - betas[1] ** count)
        return x - lr * mean / (numpy.sqrt(square) + eps)

    return update


OPTIMIZERS = [
    (rx.optim.SGD(0.1), sgd(0.1)),
    (rx.optim.SGD(0.1, weight_decay=0.3), sgd(0.1, 0.3)),
    (rx.optim.MomentumSGD(0.1, 0.9), momentum_sgd(0.1, 0.9)),
    (rx.optim.MomentumSGD(0.2, 0.5, dampening=0.25, weight_decay=0.1), momentum_sgd(0.2, 0.5, 0.25, 0.1)),
    (rx.optim.MomentumSGD(0.1, 0.9, nesterov=True, weight_decay=0.2), momentum_sgd(0.1, 0.9, 0, 0.2, True)),
    (rx.optim.Adam(), adam(1e-3, (0.9, 0.999), 1e-8, 0.0, False)),
    (rx.optim.Adam(0.1, (0.7, 0.8), 1e-3, 0.4), adam(0.1, (0.7, 0.8), 1e-3, 0.4, False)),
    (rx.optim.AdamW(0.1), adam(0.1, (0.9, 0.999), 1e-8, 1e-2, True)),
    (rx.optim.AdamW(0.1, (0.8, 0.9), weight_decay=0.5), adam(0.1, (0.8, 0.9), 1e-8, 0.5, True)),
]


@pytest.mark.parametrize(("optimizer", "expected"), OPTIMIZERS, ids=[str(each) for each, _ in OPTIMIZERS])
@pytest.mark.parametrize("rate_is_given", [False, True])
def test_optimizers(optimizer: Any, expected: Callable[..., Any], rate_is_given: bool) -> None:
    """Two parameters of different element types, for some updates."""
    rate = optimizer.lr
    if rate_is_given:
        optimizer = type(optimizer)(**{**vars(optimizer), "lr": None})
    parameters = {"a": rng.normal(size=(2, 3)), "b": rng.normal(size=4).astype("float32")}
    infos = {name: rx.tensor(array.shape, str(array.dtype)) for name, array in parameters.items()}
    module = rx.Module()
    name = optimizer.add_to(module, infos)
    module.verify()
    assert name == type(optimizer).__name__.lower()
    update = rx.compile(module, opt_level=0)[name]
    states = [
        numpy.zeros(info.shape, {"i64": "int64", "f64": "float64", "f32": "float32"}[info.dtype])
        for info in optimizer.states(infos).values()
    ]
    held: dict[str, dict[str, Any]] = {"a": {}, "b": {}}
    wanted = dict(parameters)
    for count in range(1, 5):
        gradients = [rng.normal(size=array.shape).astype(array.dtype) for array in parameters.values()]
        made = update(*parameters.values(), *gradients, *states, *([rate] if rate_is_given else []))
        made = list(made) if isinstance(made, tuple) else [made]
        for each, gradient in zip(wanted, gradients, strict=True):
            wanted[each] = expected(count, wanted[each], gradient, held[each])
        parameters, states = dict(zip(parameters, made[:2], strict=True)), made[2:]
        for each, array in parameters.items():
            # A rate that is given has 32 bits.
            exact = array.dtype == "float64" and not rate_is_given
            numpy.testing.assert_allclose(array, wanted[each], rtol=1e-12 if exact else 1e-5, atol=0 if exact else 1e-6)
    if optimizer.COUNTS:
        assert states[0] == 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rx.optim.SGD(-1.0), "SGD: lr must be a finite number that is not negative, got -1.0"),
        (lambda: rx.optim.SGD(float("nan")), "SGD: lr must be a finite number"),
        (lambda: rx.optim.SGD("fast"), "SGD: lr must be a finite number"),
        (lambda: rx.optim.SGD(True), "SGD: lr must be a finite number"),
        (lambda: rx.optim.MomentumSGD(0.1, None), "MomentumSGD: momentum must be a finite number"),
        (lambda: rx.optim.MomentumSGD(0.1, 0.0, nesterov=True), "nesterov needs a momentum, and no dampening"),
        (lambda: rx.optim.MomentumSGD(0.1, 0.5, 0.5, nesterov=True), "nesterov needs a momentum, and no dampening"),
        (lambda: rx.optim.Adam(betas=(0.9, 1.0)), r"Adam: betas must be two numbers below 1, got \(0.9, 1.0\)"),
        (lambda: rx.optim.AdamW(betas=(0.9,)), "AdamW: betas must be two numbers below 1"),
        (lambda: rx.optim.SGD(0.1).add_to(rx.Module(), {}), "SGD needs a parameter to update"),
        (lambda: rx.optim.SGD(0.1).add_to(rx.Module(), {"n": rx.tensor((2,), "int32")}), "'n' is tensor<2xi32>"),
        (lambda: rx.optim.SGD(0.1).add_to(rx.Module(), {"n": 3}), "parameter 'n' is int"),
        (lambda: rx.optim.SGD(0.1).add_to(Line, {"w": rx.tensor((2,))}, "loss"), "has a function @loss already"),
    ],
)
def test_refused_optimizers(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        make()


# ---- gradients ----


def test_grad() -> None:
    module = Line.copy()
    assert rx.grad(module, "loss", wrt=["b", "w"]) is module
    made = rx.compile(module, opt_level=0)
    x, w, b = (rng.normal(size=shape).astype("float32") for shape in ((5, 3), (3, 2), (2,)))
    y = numpy.zeros((5, 2), "float32")
    loss, by_b, by_w = made["loss_adjoint"](x, w, y, b)
    error = x @ w + b
    numpy.testing.assert_allclose(loss, made["loss"](x, w, y, b))
    numpy.testing.assert_allclose(by_b, 2 * error.sum(0) / 10, rtol=1e-5)
    numpy.testing.assert_allclose(by_w, 2 * x.T @ error / 10, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("los",), "the module has no function @los; did you mean 'loss'?"),
        (("loss", ["ww"]), "@loss has no parameter 'ww'; did you mean 'w'?"),
        (("loss", ["w", "b", "w"]), "wrt names 'w' twice"),
        (("count", ["n"]), "parameter 'n' of @count is tensor<i64>: only tensors of floats have gradients"),
        (("count",), "@count has no parameter of floats"),
    ],
)
def test_refused_gradients(arguments: Any, message: str) -> None:
    module = Line.copy()
    with module.function("count", {"n": rx.tensor((), "int64")}) as f:
        f.returns(relax.astype(*f, dtype="f32"))
    before = str(module)
    with pytest.raises(rx.RelaxError) as caught:
        rx.grad(module, *arguments)
    assert message in str(caught.value)
    assert str(module) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target_index": -1}, "target-index must be 0 or more, got -1"),
        ({"target_index": 1}, "@loss has no result #1: it returns 1"),
        ({"checkpoint_every": 0}, "checkpoint-every must be 1 or more, got 0"),
    ],
)
def test_refused_options(options: Any, message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        rx.grad(Line.copy(), "loss", **options)


def test_functions_that_cannot_be_inlined_without_end() -> None:
    source = """
func.func @loss(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @loss(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}"""
    with pytest.raises(rx.RelaxError, match=r"no rule gives the derivative of 'func\.call'"):
        rx.grad(rx.Module.parse(source), "loss")


def test_the_derivative_of_ones_own_function() -> None:
    with without_new_gradients():

        @rx.register_gradient("relax.call_tir")
        def call(call: Any) -> Any:
            assert call.func == "cube"
            (x,) = call.operands
            return relax.multiply(call.gradient, relax.multiply(relax.const(3.0, "float32"), relax.square(x)))

        module = rx.Module.parse("""
func.func private @cube(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> attributes {tir.prim_func} {
  %0 = arith.mulf %x, %x : tensor<3xf32>
  %1 = arith.mulf %0, %x : tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func @main(%x: tensor<3xf32>) -> tensor<f32> {
  %0 = "relax.call_tir"(%x) {func = @cube} : (tensor<3xf32>) -> tensor<3xf32>
  %1 = "relax.sum"(%0) : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}""")
        rx.grad(module)
        assert "relax.square" in str(module)


# ---- steps and trainers ----


def test_a_step() -> None:
    """Add a training step: the loss, its gradients and the update. Parameters that are not named stay unchanged."""
    module = Line.copy()
    assert rx.add_training_step(module, "loss", rx.optim.SGD(0.5), "w") == "loss_step"
    made = rx.compile(module)
    assert sorted(made) == ["loss", "loss_step"]
    assert [each["name"] for each in made.signature("loss_step")["inputs"]] == ["x", "w", "y", "b"]
    x, w, b = (rng.normal(size=shape).astype("float32") for shape in ((4, 3), (3, 2), (2,)))
    y = numpy.zeros((4, 2), "float32")
    loss, after = made["loss_step"](x, w, y, b)
    error = x @ w + b
    numpy.testing.assert_allclose(loss, (error**2).mean(), rtol=1e-5)
    numpy.testing.assert_allclose(after, w - 0.5 * 2 * x.T @ error / 8, rtol=1e-4, atol=1e-6)


def test_the_signature_of_a_step() -> None:
    module = Line.copy()
    rx.add_training_step(module, "loss", rx.optim.AdamW(None))
    names = [each["name"] for each in rx.compile(module, opt_level=0).signature("loss_step")["inputs"]]
    kinds = [f"{name}_{kind}" for kind in ("mean", "square") for name in ("x", "w", "y", "b")]
    assert names == ["x", "w", "y", "b", "updates", *kinds, "lr"]


@pytest.mark.parametrize(
    ("prepare", "wrt", "message"),
    [
        ("loss_step", "w", "the module has a function @loss_step already"),
        ("loss_update", "w", "the module has a function @loss_update already"),
        ("loss_adjoint", "w", "the module has a function @loss_adjoint already"),
        ("other", "v", "@loss has no parameter 'v'"),
    ],
)
def test_refused_steps(prepare: str, wrt: str, message: str) -> None:
    module = Line.copy()
    with module.function(prepare) as f:
        f.returns()
    before = str(module)
    with pytest.raises(rx.RelaxError, match=message):
        rx.add_training_step(module, "loss", rx.optim.SGD(0.1), wrt)
    assert str(module) == before


def test_parameter_names_of_optimizer_states_are_refused() -> None:
    module = rx.Module()
    with module.function("loss", {"w": rx.tensor((), "float32"), "w_velocity": rx.tensor((), "float32")}) as f:
        f.returns(relax.add(*f))
    with pytest.raises(
        rx.RelaxError, match="@loss has a parameter 'w_velocity', a name that the optimizer's function needs"
    ):
        rx.add_training_step(module, "loss", rx.optim.MomentumSGD(0.1, 0.9), "w")


def test_a_trainer() -> None:
    x = rng.normal(size=(32, 3)).astype("float32")
    exact = {"w": rng.normal(size=(3, 2)).astype("float32"), "b": rng.normal(size=2).astype("float32")}
    y = x @ exact["w"] + exact["b"]
    start = {name: numpy.zeros_like(array) for name, array in exact.items()}
    before = str(Line)
    for optimizer in (rx.optim.MomentumSGD(0.1, 0.9), rx.optim.Adam(None)):
        trainer = rx.Trainer(Line, "loss", optimizer, start)
        rate = {"lr": 0.1} if optimizer.lr is None else {}
        losses = [float(trainer.step(x[part::2], y=y[part::2], **rate)) for _ in range(150) for part in (0, 1)]
        assert losses[-1] < 1e-4 < losses[0]
        for name, array in trainer.parameters.items():
            numpy.testing.assert_allclose(array, exact[name], atol=0.02)
    assert str(Line) == before and not start["w"].any()


def test_concurrent_steps_are_serialized() -> None:
    x, y = rng.standard_normal((40, 3)).astype("float32"), rng.standard_normal((40, 2)).astype("float32")
    start = {"w": numpy.zeros((3, 2), "float32"), "b": numpy.zeros(2, "float32")}
    serial, shared = (rx.Trainer(Line, "loss", rx.optim.Adam(lr=0.01), start) for _ in range(2))
    expected = sorted(float(serial.step(x, y)) for _ in range(200))
    with ThreadPoolExecutor(4) as pool:
        losses = sorted(float(each.result()) for each in [pool.submit(shared.step, x, y) for _ in range(200)])
    assert losses == expected
    for name, array in serial.parameters.items():
        numpy.testing.assert_array_equal(shared.parameters[name], array)


def test_a_trainer_of_several_results() -> None:
    module = rx.Module()
    with module.function("main", {"w": rx.tensor((2,), "float64"), "x": rx.tensor((2,), "float64")}) as f:
        w, x = f
        y = relax.multiply(w, x)
        f.returns(relax.sum(y), y)
    trainer = rx.Trainer(module, "main", rx.optim.SGD(1.0), {"w": numpy.ones(2)}, opt_level=0)
    loss, y = trainer.step(numpy.array([2.0, 3.0]))
    assert loss == 5 and y.tolist() == [2, 3]
    assert trainer.parameters["w"].tolist() == [-1, -2]


def test_refused_by_a_trainer() -> None:
    start = {"w": numpy.zeros((3, 2), "float32")}
    trainer = rx.Trainer(Line, "loss", rx.optim.SGD(0.1), start, opt_level=0)
    data = [numpy.zeros((1, 3), "float32"), numpy.zeros((1, 2), "float32"), numpy.zeros(2, "float32")]
    for call, message in (
        (lambda: trainer.step(*data, lr=0.1), "step takes lr where the optimizer has no rate of its own"),
        (lambda: trainer.step(*data, 1), "step takes x, y, b, got 4 inputs"),
        (lambda: trainer.step(*data[:2], bb=1), "step has no input 'bb'; did you mean 'b'?"),
        (lambda: trainer.step(*data[:2], w=start["w"]), "step has no input 'w'"),
    ):
        with pytest.raises(rx.RelaxError) as caught:
            call()
        assert message in str(caught.value)
    with pytest.raises(TypeError, match="missing argument b"):
        trainer.step(*data[:2])
    with pytest.raises(rx.RelaxError, match="a trainer needs a parameter to train"):
        rx.Trainer(Line, "loss", rx.optim.SGD(0.1), {})
    with pytest.raises(rx.RelaxError, match="no parameter 'v'"):
        rx.Trainer(Line, "loss", rx.optim.SGD(0.1), {"v": start["w"]})
