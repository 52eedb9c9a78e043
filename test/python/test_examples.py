# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Behaviour of the examples. The accelerator's package is a target of its own, with a child."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from relax_mlir.passes.legalize.rules import rules_by_op

import relax_mlir as rx
from relax_mlir import relax

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DIGITS = EXAMPLES / "digits"


@pytest.fixture(scope="module", autouse=True)
def examples_on_the_path() -> Iterator[None]:
    folders = [str(EXAMPLES), str(EXAMPLES / "mynpu")]
    sys.path[:0] = folders
    yield
    for folder in folders:
        sys.path.remove(folder)


@pytest.fixture(scope="module")
def mynpu(examples_on_the_path: None) -> Any:
    for name in ("target", "kernels"):
        importlib.import_module(f"mynpu.{name}")
    return importlib.import_module("mynpu.ops").mynpu


def test_the_mandelbrot_set_is_numpys() -> None:
    example: Any = importlib.import_module("mandelbrot")
    draw = rx.compile(rx.Module.parse(example.GRAPH))["main"]
    for size in ((40, 20), (7, 3)):
        points = example.plane(*size)
        counts = numpy.from_dlpack(draw(*points, 25))
        assert (counts == example.with_numpy(*points, 25)).mean() > 0.98
    assert "@" in example.picture(example.with_numpy(*example.plane(40, 20), example.ITERATIONS))


def test_custom_operators(capsys: pytest.CaptureFixture[str]) -> None:
    example: Any = importlib.import_module("custom_operator")
    example.main()
    shown = capsys.readouterr().out
    # First the compiler's messages about them, then their effects.
    assert shown.startswith("3 nodes of the model cannot be imported") and '@rx.register_onnx("example.meter"' in shown
    assert "as with numpy: True" in shown
    main = rx.compile(rx.from_onnx(example.model()))["main"]
    for shape in ((1, 1), (2, 30), (3, 0)):
        signal = numpy.random.default_rng(1).normal(size=shape).astype("float32")
        numpy.testing.assert_allclose(numpy.from_dlpack(main(signal)), example.with_numpy(signal), atol=1e-6)


def test_the_digits_example_agrees_with_onnxruntime() -> None:
    session = onnxruntime.InferenceSession(DIGITS / "digits.onnx")
    kept = numpy.load(DIGITS / "digits.npz")
    pictures = (kept["pictures"][:, None] / 16).astype("float32")
    main = rx.compile(rx.from_onnx(DIGITS / "digits.onnx"))["main"]
    for count in (1, 3, len(pictures)):
        probabilities = numpy.from_dlpack(main(pictures[:count]))
        (expected,) = session.run(None, {"pictures": pictures[:count]})
        numpy.testing.assert_allclose(probabilities, expected, atol=1e-5)
    assert (probabilities.argmax(axis=1) == kept["labels"]).mean() > 0.98
    assert sum(path.stat().st_size for path in DIGITS.iterdir() if path.is_file()) < 300_000


def test_the_digits_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    example: Any = importlib.import_module("digits.classify")
    assert example.main() == 0
    shown = capsys.readouterr().out
    assert "it is a 4" in shown and "@@" in shown
    pictures = (EXAMPLES.parent / "README.md").read_text().partition("```text\n")[2].partition("\n\n")[0]
    assert pictures in shown, "the README shows something else"
    assert "Where the time of one picture goes" in shown and "nn.conv2d" in shown


def test_a_network_learns_as_torch_does(capsys: pytest.CaptureFixture[str]) -> None:
    """Train the first epochs, which reach nearly the final accuracy.

    The losses agree step by step with those of torch_losses.py.
    """
    example: Any = importlib.import_module("digits.learn")
    trainer, losses = example.train(5)
    theirs = [float(line) for line in (DIGITS / "torch_losses.txt").read_text().split()]
    assert len(theirs) == example.EPOCHS * len(losses) // 5
    numpy.testing.assert_allclose(losses[:40], theirs[:40], rtol=1e-3)
    numpy.testing.assert_allclose(losses, theirs[: len(losses)], rtol=0.05, atol=0.01)
    assert example.accuracy(trainer) > 0.9


@pytest.mark.slow
def test_the_learning_example_prints_its_accuracy(capsys: pytest.CaptureFixture[str]) -> None:
    example: Any = importlib.import_module("digits.learn")
    assert example.main() == 0
    *_, accuracy, took = capsys.readouterr().out.strip().split("\n")
    assert float(accuracy.partition("%")[0]) >= 95 and took.startswith("compiled and trained in ")


def softmax(axis: int) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 8))]) as f:
        f.returns(relax.nn.softmax(*f, axis=axis))
    return module


def test_a_target_of_ones_own_runs_its_kernel_where_it_can(mynpu: Any) -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(("n", 8))]) as f:
        (x,) = f
        y = mynpu.ops["scaled_relu"](x, scale=0.5)
        f.returns(relax.nn.softmax(y), relax.nn.softmax(y, axis=0))
    executable = rx.compile(module, target="mynpu")
    x = numpy.random.default_rng(3).normal(size=(4, 8)).astype("float32")
    powers = numpy.exp(numpy.maximum(x, 0) * 0.5)
    rows, columns = (numpy.from_dlpack(each) for each in executable["main"](x))
    numpy.testing.assert_allclose(rows, powers / powers.sum(-1, keepdims=True), rtol=1e-5)
    numpy.testing.assert_allclose(columns, powers / powers.sum(0, keepdims=True), rtol=1e-5)


def test_a_rule_holds_for_its_target_and_the_targets_children_only(mynpu: Any) -> None:
    rx.register_target(rx.Target("mynpu2", parents=("mynpu",)))
    for target in ("mynpu", "mynpu2"):
        assert [rule.target for rule in rules_by_op(target)["relax.nn.softmax"]] == ["mynpu", "default"]
        module = softmax(-1)
        rx.LegalizeOps(target=target)(module)
        assert "relax.call_dps_packed" in str(module)
    for target in ("llvm", "cpu", "default"):
        assert [rule.target for rule in rules_by_op(target)["relax.nn.softmax"]] == ["default"]
        module = softmax(-1)
        rx.LegalizeOps(target=target)(module)
        assert "relax.call_dps_packed" not in str(module)


def test_a_rule_that_declines_passes_the_operator_on(mynpu: Any) -> None:
    module = softmax(0)
    rx.LegalizeOps(target="mynpu")(module)
    assert "relax.call_dps_packed" not in str(module) and "relax.call_tir" in str(module)


def test_a_map_of_the_run_goes_first(mynpu: Any) -> None:
    def mine(call: Any) -> Any:
        return relax.call_dps_packed("mine", call.operands, call.result_infos)

    module = softmax(-1)
    rx.LegalizeOps(target="mynpu", customize_legalize_map={"relax.nn.softmax": mine})(module)
    assert 'func = "mine"' in str(module)


def test_the_tests_of_the_example_package_pass() -> None:
    """Run the tests of the example package as real processes, like its users."""
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lit"), "-v", "-j1", str(EXAMPLES / "mynpu" / "test")],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "Passed: 2" in done.stdout


def test_an_operator_of_ones_own_is_40_lines() -> None:
    text = (EXAMPLES / "conv_relu.py").read_text(encoding="utf-8")
    code = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", '"""'))]
    assert len(code) <= 40


@pytest.mark.parametrize(
    ("shape", "out", "taps", "stride", "pad"),
    [((1, 3, 23, 17), 32, 3, 1, 1), ((2, 16, 15, 15), 40, 5, 2, 2), ((1, 5, 9, 30), 7, 1, 1, 0)],
)
def test_an_operator_of_ones_own_from_onnx_with_its_schedule(
    shape: tuple[int, ...], out: int, taps: int, stride: int, pad: int
) -> None:
    """Compare with onnxruntime's convolution and relu for sizes that are no multiples of the tiles."""
    importlib.import_module("conv_relu")
    random = numpy.random.default_rng(0)
    arrays = {"w": random.normal(size=(out, shape[1], taps, taps)), "b": random.normal(size=out)}
    weights = [numpy_helper.from_array(array.astype("float32"), name) for name, array in arrays.items()]
    info = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    options = {"strides": [stride] * 2, "pads": [pad] * 4}

    def model(*nodes: Any) -> Any:
        result = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
        imports = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
        graph = helper.make_graph(nodes, "conv_relu", info, result, weights)
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    theirs = model(helper.make_node("Conv", ["x", "w", "b"], ["c"], **options), helper.make_node("Relu", ["c"], ["y"]))
    module = rx.from_onnx(model(helper.make_node("ConvRelu", ["x", "w", "b"], ["y"], domain="own", **options)))
    assert str(module).count("own.conv_relu") == 1
    rx.Pipeline([rx.ConvertLayout({"own.conv_relu": ("NHWC", "HWIO", "NHWC")})]).run(module)
    assert "sch.reverse_compute_at(relu" in str(rx.lower(module.copy(), pipeline=rx.stages("llvm").until("plan")))
    x = random.normal(size=shape).astype("float32")
    (expected,) = onnxruntime.InferenceSession(theirs.SerializeToString()).run(None, {"x": x})
    numpy.testing.assert_allclose(rx.compile(module)["main"](x), expected, rtol=1e-4, atol=1e-4)
