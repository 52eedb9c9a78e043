# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The core without plug-ins: it compiles, its tools work, and errors name the plug-in that is missing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from installing import PROJECT

POINTS = PROJECT["entry-points"]["relax_mlir.plugins"]
MODEL = """
import relax_mlir as rx, numpy
from relax_mlir import relax
module = rx.Module()
with module.function("main", {"x": rx.tensor((2, 3))}) as f:
    f.returns(relax.nn.relu(*f))
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run a program that finds no plug-in."""
    hidden = {**os.environ, "RELAX_MLIR_DISABLED_PLUGINS": "relax_mlir_*"}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=hidden, timeout=300)


def message_of(code: str) -> str:
    done = run(f"import relax_mlir as rx\ntry:\n    {code}\nexcept rx.RelaxError as error:\n    print(error)")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_compiles_and_imports_no_plug_in() -> None:
    done = run(
        MODEL + "y = rx.compile(module)['main'](numpy.full((2, 3), -1, 'float32'))\n"
        "print(numpy.from_dlpack(y).sum(), len(rx.all_passes()) > 50, [each.name for each in rx.all_targets()])\n"
        "import sys; print([each for each in sys.modules if each.startswith('relax_mlir_')])"
    )
    assert done.returncode == 0, done.stderr
    numbers, modules = done.stdout.splitlines()
    assert numbers.startswith("0.0 True [") and "'llvm'" in numbers and "'webgpu'" not in numbers
    assert modules == "[]"


#: Kind of an entry point -> a program that asks for an extension by name.
CODES = {
    "comparison": "__import__('relax_mlir.tools.run.peer').tools.run.peer.COMPARISONS.get({name!r})",
    "connection": "rx.runtime.connect('tcp://host:8786')",
    "page": "__import__('relax_mlir.tools.compile.reporting').tools.compile.reporting.PAGES.get({name!r})",
    "target": "rx.find_target({name!r})",
    "codegen": "rx.codegens.find_codegen({name!r})",
    "frontend": "__import__('relax_mlir.frontends.front_end').frontends.front_end.front_end_named({name!r})",
}


@pytest.mark.parametrize("point", [point for point in POINTS if point.partition(".")[0] in CODES])
def test_errors_name_the_missing_plug_in(point: str) -> None:
    kind, _, name = point.partition(".")
    package = POINTS[point].partition(".")[0]
    assert f"'{name}': it is in the package {package}, which is hidden by" in message_of(CODES[kind].format(name=name))


@pytest.mark.parametrize(
    "name",
    [
        *("from_tosa", "from_tvm", "from_tflite", "quantize", "Quantized", "Trainable", "tune"),
        *("Trainer", "add_training_step", "append_loss", "grad", "unbind_params", "optim.SGD"),
        *("reference", "same_bits", "testing.check", "recipes.from_aimet"),
    ],
)
def test_public_names_of_a_missing_plug_in_are_refused(name: str) -> None:
    assert f"rx.{name}: it is in the package relax_mlir_" in message_of(f"rx.{name}")
    assert run(f"import relax_mlir as rx; assert not hasattr(rx, {name!r})").returncode == 0


@pytest.mark.parametrize(("name", "package"), [("relax-requantize", "quantize"), ("relax-gradient", "training")])
def test_errors_name_the_plug_in_of_a_missing_pass(name: str, package: str) -> None:
    missing = f"pass '{name}': it is in the package relax_mlir_{package}, which is hidden by"
    assert missing in message_of(f"rx.Pipeline('{name}')")


MODEL_OF_ONNX = """
<ir_version: 10, opset_import: ["" : 21, "DOMAIN" : 1]>
main (float[3] x) => (float[3] r) {
  y = Exp(x)
  r = OPERATOR(x)
}
"""


@pytest.mark.parametrize(
    ("package", "domain", "operator"),
    [
        ("training", "ai.onnx.preview.training", 'Gradient<xs = ["x"], y = "y">'),
        ("onnx_domains", "ai.onnx.ml", "Scaler<offset = [0.0], scale = [1.0]>"),
        ("onnx_domains", "com.microsoft", "Gelu"),
    ],
)
def test_errors_name_the_plug_in_of_a_missing_onnx_operator(package: str, domain: str, operator: str) -> None:
    model = MODEL_OF_ONNX.replace("DOMAIN", domain).replace("OPERATOR", f"{domain}.{operator}")
    read = f"__import__('onnx').parser.parse_model({model!r})"
    assert f"it is in the package relax_mlir_{package}, which is hidden by" in message_of(f"rx.from_onnx({read})")


QUANTIZED = """
    bytes_of = lambda x: relax.dequantize(x, relax.const(numpy.float32(0.5)), relax.const(numpy.int8(0)), axis=0)
    x = relax.quantize(*f, relax.const(numpy.float32(0.5)), relax.const(numpy.int8(0)), axis=0, out_dtype="i8")
    f.returns(relax.matmul(bytes_of(x), bytes_of(relax.const(numpy.full((3, 4), 2, "int8")))))
cpu = "llvm{cpu=cascadelake}"
assert 'out_dtype="int32"' in rx.lower(module, cpu, pipeline=rx.stages(cpu).until("integers")).script()
assert (numpy.from_dlpack(rx.compile(module)["main"](numpy.full((2, 3), -1, "float32"))) == -3).all()
rx.Recipe(rx.recipes.Op("relax.matmul", x1="i8", x2="i8"))
"""


def test_quantized_models_and_recipes_need_no_plug_in() -> None:
    done = run(MODEL.replace("    f.returns(relax.nn.relu(*f))\n", QUANTIZED))
    assert done.returncode == 0, done.stderr


def test_the_core_registers_references() -> None:
    code = "rx.rules.register_reference('relax.add')(min); print(rx.rules.all_references()[0].op)"
    assert run(f"import relax_mlir as rx; {code}").stdout == "relax.add\n"


def test_the_core_registers_derivatives() -> None:
    code = "rx.rules.register_gradient('relax.add')(min); print([each.op for each in rx.rules.all_gradients()])"
    assert run(f"import relax_mlir as rx; {code}").stdout == "['relax.add']\n"
