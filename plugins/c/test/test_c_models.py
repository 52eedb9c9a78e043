# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in C: values, memory, sizes that have ranges, main.c and the Makefile, and no undefined behaviour."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from blocks import Weights, resnet, transformer_block
from c_programs import CProgram, needs_compiler, run, write
from relax_mlir import relax

pytestmark = needs_compiler
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]


def built(infos: Any, body: Callable[..., Any]) -> rx.Module:
    module = rx.Module()
    with module.function("main", infos) as f:
        made = body(*f)
        f.returns(*(made if isinstance(made, tuple) else (made,)))
    return module


def mobile_net(x: Any) -> Any:
    """Return depthwise separable convolutions, a residual, the mean and a classifier."""
    weights = Weights(7)
    x = relax.nn.conv2d(x, weights(8, 3, 3, 3), strides=(2, 2), padding=(1, 1))
    x = relax.clip(weights.batch_norm(x, 8), min=0.0, max=6.0)
    y = relax.nn.conv2d(x, weights(8, 1, 3, 3), padding=(1, 1), groups=8)
    y = relax.clip(weights.batch_norm(y, 8), min=0.0, max=6.0)
    y = relax.nn.conv2d(y, weights(8, 8, 1, 1))
    x = relax.add(x, weights.batch_norm(y, 8))
    x = relax.mean(x, axis=[2, 3])
    return relax.nn.softmax(relax.add(relax.matmul(x, weights(8, 10)), weights(10)), axis=-1)


def transformer(x: Any, mask: Any) -> Any:
    return transformer_block(x, mask, Weights(3), 6, 16)


MODELS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "mobile_net": ({"image": rx.tensor((1, 3, 16, 16))}, mobile_net),
    "transformer": ({"x": rx.tensor((1, 6, 16)), "mask": rx.tensor((1, 1, 6, 6))}, transformer),
}


def arrays_for(infos: dict[str, Any]) -> list[Any]:
    random = numpy.random.default_rng(11)
    return [random.normal(size=info.shape).astype("float32") for info in infos.values()]


@pytest.mark.parametrize("name", MODELS)
def test_models_agree_and_show_no_undefined_behaviour(name: str, tmp_path: Path) -> None:
    infos, body = MODELS[name]
    program, arrays = CProgram(built(infos, body)), arrays_for(infos)
    (expected,) = program.expected(*arrays)
    (given,) = program(*arrays)
    numpy.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-6)
    for position, array in enumerate(arrays):
        array.tofile(tmp_path / f"{position}.bin")
    text = run(program.files, tmp_path, *(f"{position}.bin" for position in range(len(arrays))), flags=SANITIZED)
    saved = numpy.load(tmp_path / "result.npy")
    assert (saved.dtype, saved.shape) == (expected.dtype, expected.shape)
    numpy.testing.assert_allclose(saved, expected, rtol=1e-4, atol=1e-6)
    assert text.startswith("result: ")
    called = set(re.findall(r"\b(malloc|calloc|free|memcpy|memset|printf)\b", program.files["model.c"]))
    assert not called, "a microcontroller has none of these"


def test_quantized_layers_equal_the_recipe_in_each_bit() -> None:
    def pictures(seed: int) -> list[Any]:
        return list(numpy.random.default_rng(seed).standard_normal((8, 1, 8, 8, 8)).astype("float32"))

    quantized = rx.quantize(resnet(2), pictures(0), for_="c").module
    program = CProgram(quantized.copy())
    integers = quantized.copy()
    rx.Pipeline("builtin.module(relax-requantize{recipe=c},relax-propagate-quantization)").run(integers)
    assert str(integers).count('"relax.requantize"') == 8
    for x in pictures(1):
        (given,) = program(x)
        numpy.testing.assert_array_equal(given, numpy.asarray(rx.reference(integers)["main"](x)))


@pytest.mark.slow
def test_integers_and_indices_show_no_undefined_behaviour(tmp_path: Path) -> None:
    def body(x: Any, i: Any) -> tuple[Any, ...]:
        wide = relax.astype(x, dtype="int64")
        high = relax.add(relax.multiply(x, relax.const(2**30, "int32")), relax.const(2**31 - 1, "int32"))
        shifted = relax.right_shift(relax.left_shift(x, relax.const(40, "int32")), relax.const(3, "int32"))
        return high, shifted, relax.take(wide, i, axis=0), relax.astype(relax.divide(x, x), dtype="float32")

    module = built({"x": rx.tensor((3, 4), "int32"), "i": rx.tensor((2,), "int64")}, body)
    program = CProgram(module)
    x, i = numpy.arange(1, 13, dtype="int32").reshape(3, 4) * 12345, numpy.array([2, -1], "int64")
    for given, expected in zip(program(x, i), program.expected(x, i), strict=True):
        numpy.testing.assert_array_equal(given, expected)
    x.tofile(tmp_path / "x.bin")
    i.tofile(tmp_path / "i.bin")
    run(program.files, tmp_path, "x.bin", "i.bin", flags=SANITIZED)


def attend(x: Any, y: Any) -> Any:
    return relax.nn.softmax(relax.matmul(x, relax.permute_dims(y)), axis=-1)


SIZED = {"x": rx.tensor(("n", 4)), "y": rx.tensor(("m", 4))}


def test_memory_is_planned_for_the_largest_sizes() -> None:
    module = built(SIZED, attend)
    program = CProgram(module, bind={"n": "1..6", "m": "1..5"})
    for n, m in ((1, 1), (6, 5), (3, 2)):
        x, y = (numpy.random.default_rng(n).normal(size=(each, 4)).astype("float32") for each in (n, m))
        numpy.testing.assert_allclose(program(x, y)[0], program.expected(x, y)[0], rtol=1e-5)
    x, y = numpy.zeros((7, 4), "float32"), numpy.zeros((2, 4), "float32")
    with pytest.raises(RuntimeError, match=r"ValueError: .*argument #0 'x' dimension 0: n is 7, expected 1 to 6"):
        program(x, y)
    small, large = (
        int(re.findall(r"ARENA_BYTES (\d+)", rx.sources(module, bind={"n": f"1..{n}", "m": "1..5"})["model.h"])[0])
        for n in (6, 600)
    )
    assert 64 <= small < large <= 601 * 64


def test_sizes_without_a_bound_need_the_heap() -> None:
    module = built(SIZED, attend)
    with pytest.raises(rx.RelaxError, match=r"has no bound, so it cannot be in static memory") as caught:
        rx.sources(module)
    assert 'bind={"n": "1..64"}' in str(caught.value) and "memory=heap" in str(caught.value)
    program = CProgram(module, "c{memory=heap}")
    for n, m in ((1, 1), (16, 9)):
        x, y = (numpy.random.default_rng(n).normal(size=(each, 4)).astype("float32") for each in (n, m))
        numpy.testing.assert_allclose(program(x, y)[0], program.expected(x, y)[0], rtol=1e-5)


@pytest.mark.slow
def test_the_heap_is_given_back(tmp_path: Path) -> None:
    """Release the heap, also after a failing call: the leak checker would end the program with an error."""

    def body(x: Any, i: Any) -> Any:
        y = relax.nn.softmax(relax.matmul(x, relax.permute_dims(x)), axis=-1)
        return relax.take(relax.exp(y), i, axis=0)

    module = built({"x": rx.tensor(("n", 4)), "i": rx.tensor(("k",), "int64")}, body)
    program = CProgram(module, "c{memory=heap}")
    x, i = numpy.ones((3, 4), "float32"), numpy.array([2, 0], "int64")
    numpy.testing.assert_allclose(program(x, i)[0], program.expected(x, i)[0], rtol=1e-5)
    with pytest.raises(RuntimeError, match=r"IndexError: relax.take .*index 5 is out of range for axis 0 of size 3"):
        program(x, i + 3)
    run(program.files, tmp_path, "n=3", "k=2", flags=SANITIZED)
    x.tofile(tmp_path / "x.bin")
    (i + 3).tofile(tmp_path / "i.bin")
    words = ["./program", "x.bin", "i.bin", "n=3", "k=2"]
    failed = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert re.fullmatch(r"IndexError: relax.take .*index 5 is out of range for axis 0 of size 3\n", failed.stderr)
    assert failed.returncode == 1


def test_the_makefile_builds_the_program(tmp_path: Path) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("this machine has no make")
    module = built({"x": rx.tensor((2, 3))}, lambda x: relax.add(x, relax.const(1.5)))
    write(rx.sources(module, "c{name=net}"), tmp_path)
    done = subprocess.run([make, "-s", "-C", str(tmp_path)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and not done.stderr, done.stderr
    shown = subprocess.run([str(tmp_path / "net")], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert shown.stdout == "result: 1.5 1.5 1.5 1.5 1.5 1.5\n"
    for count in (5, 7):
        numpy.ones(count, "float32").tofile(tmp_path / "x.bin")
        failed = subprocess.run(["./net", "x.bin"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (failed.returncode, failed.stderr) == (1, "x.bin: expected a file of 24 bytes\n")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_compilers_have_nothing_to_say_at_o3(compiler: str, tmp_path: Path) -> None:
    """Compile without warnings by each compiler on the path: tiles with remainders, weights from a file, plain
    loops."""
    if shutil.which(compiler) is None:
        pytest.skip(f"this machine has no {compiler}")

    def body(x: Any) -> Any:
        y = relax.nn.relu(relax.matmul(x, relax.const(WEIGHT)))
        return relax.nn.softmax(relax.matmul(y, relax.const(numpy.ascontiguousarray(WEIGHT[:, :41]))), axis=-1)

    module = built({"x": rx.tensor(("n", 64))}, body)
    x = numpy.random.default_rng(8).normal(size=(11, 64)).astype("float32")
    x.tofile(tmp_path / "x.bin")
    files = rx.sources(module, "c{constants=incbin}", bind={"n": "1..64"})
    run(files, tmp_path, "x.bin", "n=11", flags=["-O3"], compiler=compiler)
    product = numpy.maximum(x @ WEIGHT, 0) @ WEIGHT[:, :41]
    powers = numpy.exp(product - product.max(-1, keepdims=True))
    given = numpy.load(tmp_path / "result.npy")
    numpy.testing.assert_allclose(given, powers / powers.sum(-1, keepdims=True), rtol=1e-4, atol=1e-6)


WEIGHT = numpy.random.default_rng(5).normal(size=(64, 64)).astype("float32")


def with_constants(x: Any) -> Any:
    """Use constants of a file, one with an odd size and one with all special values, and a small constant."""
    odd = relax.multiply(relax.max(x), relax.const(WEIGHT.ravel()[:1043]))
    special = numpy.resize(numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-45], "float32"), (16, 64))
    halves = relax.astype(relax.const(WEIGHT.astype("float16")), dtype="float32")
    product = relax.matmul(x, relax.const(WEIGHT))
    return (
        odd,
        relax.add(product, relax.const(WEIGHT[0])),
        relax.add(x, relax.const(special)),
        relax.add(relax.const(WEIGHT), halves),
    )


def test_large_constants_in_a_file_of_their_own(tmp_path: Path) -> None:
    module = built({"x": rx.tensor((16, 64))}, with_constants)
    apart, text = (CProgram(module, f"c{{constants={way}}}") for way in ("incbin", "text"))
    assert set(apart.files) - set(text.files) == {"model_weights.bin", "model_weights.S"}
    assert set(text.files) == set(rx.sources(module)), "a few of them are text, which any compiler of C takes"
    assert len(apart.files["model_data.c"]) < len(text.files["model_data.c"]) / 20
    x = numpy.random.default_rng(6).normal(size=(16, 64)).astype("float32")
    for one, other, expected in zip(apart(x), text(x), apart.expected(x), strict=True):
        numpy.testing.assert_array_equal(one, other)
        numpy.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-5)


def test_the_makefile_takes_the_weights_in(tmp_path: Path) -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("this machine has no make")
    module = built({"x": rx.tensor((1, 64))}, lambda x: relax.matmul(x, relax.const(WEIGHT)))
    write(rx.sources(module, "c{constants=incbin}"), tmp_path)
    numpy.eye(1, 64, dtype="float32").tofile(tmp_path / "x.bin")
    done = subprocess.run([make, "-s", "-C", str(tmp_path)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and not done.stderr, done.stderr
    subprocess.run([str(tmp_path / "model"), "x.bin"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    numpy.testing.assert_array_equal(numpy.load(tmp_path / "result.npy"), WEIGHT[:1])
    (tmp_path / "model_weights.bin").unlink()
    failed = subprocess.run([make, "-s", "-B", "-C", str(tmp_path)], capture_output=True, text=True, timeout=600)
    assert failed.returncode and "model_weights.bin" in failed.stderr


BRANCH = """
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %b = tensor.extract %c[] : tensor<i1>
  %r = scf.if %b -> (tensor<4xf32>) {
    %y = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  } else {
    %y = "relax.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
"""
LOOP = """
func.func @main(%x: tensor<4xf32>, %n: i64) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %count = arith.index_cast %n : i64 to index
  %r = scf.for %i = %zero to %count step %one iter_args(%a = %x) -> (tensor<4xf32>) {
    %y = "relax.add"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
"""
X = numpy.array([1.0, -2.0, 0.25, 3.0], "float32")


@pytest.mark.parametrize("target", ["c", "c{memory=heap}"])
def test_branches_of_graphs(target: str) -> None:
    program = CProgram(rx.Module.parse(BRANCH), target)
    for flag, function in ((True, numpy.exp), (False, numpy.tanh)):
        numpy.testing.assert_allclose(program(X, numpy.array(flag))[0], function(X), rtol=1e-6)


#: The same with a condition, which sees the memory of the body.
UNCOUNTED = """
func.func @main(%x: tensor<4xf32>, %n: i64) -> tensor<4xf32> {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %r:2 = scf.while (%a = %x, %i = %zero) : (tensor<4xf32>, i64) -> (tensor<4xf32>, i64) {
    %goes = arith.cmpi slt, %i, %n : i64
    scf.condition(%goes) %a, %i : tensor<4xf32>, i64
  } do {
  ^bb0(%a: tensor<4xf32>, %i: i64):
    %y = "relax.add"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %next = arith.addi %i, %one : i64
    scf.yield %y, %next : tensor<4xf32>, i64
  }
  return %r#0 : tensor<4xf32>
}
"""


#: The same, but the condition passes on a value of its own, which is copied for the body.
COPIED = UNCOUNTED.replace("scf.condition(%goes) %a,", "scf.condition(%goes) %b,").replace(
    "%goes =", '%b = "relax.add"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n    %goes ='
)


@pytest.mark.parametrize("target", ["c", "c{memory=heap}"])
@pytest.mark.parametrize("loop", [LOOP, UNCOUNTED])
def test_loops_of_graphs(loop: str, target: str) -> None:
    program = CProgram(rx.Module.parse(loop), target)
    for count in (0, 1, 5):
        numpy.testing.assert_array_equal(program(X, count)[0], X * 2**count)


def test_loops_that_copy_what_they_carry_need_the_heap() -> None:
    with pytest.raises(rx.RelaxError, match="a loop allocates it in each step and passes it on, so it cannot be"):
        rx.sources(rx.Module.parse(COPIED))
