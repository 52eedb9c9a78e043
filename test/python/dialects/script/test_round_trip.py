# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Round trip of scripts: the modules of the lit tests and each stage of lowering are printed and read back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy
import pytest
from lit_schedules import script_of
from relax_mlir.dialects.script.print_script import print_script
from relax_mlir.support.errors import RelaxError
from relax_mlir.targets.core.code import stages_of
from round_trip import check, parse, read

import relax_mlir as rx

_TESTS = Path(__file__).resolve().parents[3]
_SCRIPTS = [path for folder in ("passes", "targets", "frontends", "tools") for path in (_TESTS / folder).rglob("*.py")]
_FILES = sorted([*_TESTS.rglob("*.mlir"), *_SCRIPTS])
_MODELS = _TESTS.parent / "build" / "models"
_SHARES = 5


@pytest.mark.slow
@pytest.mark.parametrize("share", range(_SHARES))
def test_the_modules_of_the_lit_tests(share: int) -> None:
    """Print and read each part of each file, except tests of invalid text."""
    count = 0
    for path in _FILES[share::_SHARES]:
        for text in re.split(r"^(?://|#) -----.*$", script_of(path), flags=re.MULTILINE):
            try:
                module = read(text) if path.suffix == ".py" else parse(text)
            except RelaxError:
                continue
            check(module, fragments=print_script(module.operation).count("I.mlir("), fresh=True)
            count += 1
    assert count >= 25, count


# ---- stages ----


HEAD = "from relax_mlir.script import ir as I, relax as R, tir as T\n"
# ruff: noqa: E501  # each line is one of a program
PROGRAMS = {
    "windows": """@R.function
def main(x: R.Tensor((1, 3, 9, 9), "float32"), w: R.Tensor((8, 3, 3, 3), "float32"), b: R.Tensor((8, 1, 1), "float32")):
    y = R.nn.relu(R.nn.conv2d(x, w, padding=(1, 1)) + b)
    p = R.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2), padding=(1, 1))
    return R.mean(R.nn.avg_pool2d(p, pool_size=(3, 3)), axis=[2, 3])
""",
    "norms": """@R.function
def main(x: R.Tensor(("n", 24), "float32"), g: R.Tensor((24,), "float32"), b: R.Tensor((24,), "float32")):
    y = R.nn.layer_norm(x, g, b, axes=[-1])
    return R.nn.softmax(R.nn.gelu(y), axis=-1), R.cumsum(y, axis=1), R.std(y, axis=[1])
""",
    "attention": """@R.function
def main(q: R.Tensor((1, 4, 2, 8), "float32"), k: R.Tensor((1, 6, 2, 8), "float32"), v: R.Tensor((1, 6, 2, 8), "float32"), w: R.Tensor((16, 10), "float16")):
    y = R.nn.attention(q, k, v)
    return R.matmul(R.astype(R.reshape(y, (1, 4, 16)), "float16"), w)
""",
    "indexing": """@R.function
def main(x: R.Tensor((6, 10), "float32"), i: R.Tensor((6, 10), "int64"), j: R.Tensor(("m",), "int32")):
    values, where = R.topk(x, k=3, axis=1)
    y = R.scatter_elements(x, i, R.sort(x, axis=1), axis=1)
    return values, where, R.take(y, j, axis=0), R.concat((x, R.flip(x, axis=1)), axis=0), R.strided_slice(x, axes=[0], begin=[1], end=[5], strides=[2])
""",
    "narrow": """@R.function
def main(x: R.Tensor((4, 16), "float32"), w: R.Tensor((16, 16), "int8"), h: R.Tensor((4, 16), "bfloat16")):
    q = R.quantize(x, R.const(0.1, "float32"), R.const(3, "int8"), out_dtype="int8")
    y = R.matmul(q, w, out_dtype="int32")
    return R.astype(y, "uint8"), R.nn.silu(h) * h, R.isnan(h), R.maximum(q, w[0]) if False else q
""".replace(", R.maximum(q, w[0]) if False else q", ""),
    "control": """@T.prim_func
def scan(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in T.serial(8):
        with T.block("scan"):
            v = T.axis.opaque(8, i)
            Y[v] = T.if_then_else(v == 0, X[v], T.max(Y[v - 1], X[v]) + T.exp(X[v]))
@R.function
def main(x: R.Tensor((8,), "float32"), c: R.Tensor((), "bool")):
    if c:
        y = R.call_tir(scan, (x,), out_sinfo=R.Tensor((8,), "float32"))
    else:
        y = R.tanh(x)
    return R.add(y, R.const([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "float32"))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_stage_before_memory(name: str) -> None:
    _check_stages(rx.Module.from_script(HEAD + PROGRAMS[name]))


@pytest.mark.parametrize("name", ["resnet18", "resnet18_dynamic", "bert"])
def test_each_stage_of_a_model(name: str) -> None:
    """Round-trip each stage of a model with its weights."""
    path = _MODELS / f"{name}.onnx"
    if not path.exists():
        pytest.skip("`make models` exports the models, which takes torch and 4 GB")
    _check_stages(rx.from_onnx(path))


def test_an_element_keeps_its_name() -> None:
    """Name an element of a tensor, although it is no call."""
    script = check(parse(_NAMED_ELEMENT), fresh=True)
    assert "length = sizes[0]" in script, script


_NAMED_ELEMENT = """
func.func @main(%sizes: tensor<1xi64> loc("sizes")) -> tensor<2xi64> {
  %0 = arith.constant 0 : index
  %length = tensor.extract %sizes[%0] : tensor<1xi64> loc("length")
  %again = tensor.from_elements %length, %length : tensor<2xi64> loc("again")
  return %again : tensor<2xi64>
}
"""


def _check_stages(module: rx.Module) -> None:
    check(module, fresh=True)
    stages = 0
    for stage in stages_of("llvm", 3).between(stop="apply"):
        stage.run(module, "llvm")
        check(module, fresh=True)
        stages += 1
    assert stages >= 9


@pytest.mark.parametrize(
    ("name", "stop"), [("windows", ""), ("norms", "legalize"), ("indexing", "fuse"), ("control", "apply")]
)
def test_printed_modules_compute_the_same(name: str, stop: str) -> None:
    """Check that the module, printed and read back at some stage, computes the same as before."""
    module = rx.Module.from_script(HEAD + PROGRAMS[name])
    random = numpy.random.default_rng(0)
    expected = _outputs(rx.compile(module, opt_level=0), name, random)
    if stop:
        for stage in stages_of("llvm", 0).between(stop=stop):
            stage.run(module, "llvm")
    back = rx.Module(read(print_script(module.operation), fresh=True))
    got = _outputs(rx.compile(back, opt_level=0), name, numpy.random.default_rng(0))
    for one, other in zip(expected, got, strict=True):
        numpy.testing.assert_array_equal(one, other)


def _outputs(executable: Any, name: str, random: Any) -> list[Any]:
    inputs = {
        "windows": lambda: [_floats(random, 1, 3, 9, 9), _floats(random, 8, 3, 3, 3), _floats(random, 8, 1, 1)],
        "norms": lambda: [_floats(random, 5, 24), _floats(random, 24), _floats(random, 24)],
        "indexing": lambda: [_floats(random, 6, 10), random.integers(0, 6, (6, 10)), numpy.array([5, 0, 3], "int32")],
        "control": lambda: [_floats(random, 8), numpy.array(True)],
    }[name]()
    given = executable["main"](*inputs)
    return [numpy.from_dlpack(each) for each in (given if isinstance(given, (tuple, list)) else [given])]


def _floats(random: Any, *shape: int) -> Any:
    return random.normal(size=shape).astype("float32")
