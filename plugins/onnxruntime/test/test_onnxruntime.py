# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of programs by onnxruntime: results against the default path, accepted and refused operators."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from compiling import array, built, floats, module_with
from relax_mlir import relax
from relax_mlir.frontends.onnx.export import model_writer
from relax_mlir.passes.graph.partition.codegen import find_codegen
from relax_mlir.patterns import match
from relax_mlir.support.external_bytes import unpacked
from relax_mlir_onnxruntime.runtime import SessionPart


def _both(module: rx.Module, *inputs: Any, rtol: float = 1e-5, codegen: str = "onnxruntime") -> rx.runtime.Executable:
    """Return the partitioned program after comparing its results with the whole program's."""
    whole, parted = rx.compile(module), rx.compile(module, partition=[codegen])
    _compare(whole["main"](*inputs), parted["main"](*inputs), rtol)
    return parted


def _compare(one: Any, other: Any, rtol: float = 1e-5) -> None:
    wanted, found = ([array(each) for each in _listed(given)] for given in (one, other))
    for left, right in zip(wanted, found, strict=True):
        assert left.dtype == right.dtype and left.shape == right.shape
        numpy.testing.assert_allclose(right, left, rtol=rtol, atol=rtol)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (tuple, list)) else [given]


# ---- values ----


def test_a_residual_network_of_a_symbolic_batch() -> None:
    """Run one program for every batch."""
    weights = [floats(8, 3, 3, 3, seed=1), floats(8, 8, 3, 3, seed=2), floats(8, 8, 3, 3, seed=3), floats(8, 5, seed=4)]

    def block(x: Any, first: Any, second: Any) -> Any:
        y = relax.nn.relu(_norm(relax.nn.conv2d(x, relax.const(first), padding=[1])))
        return relax.nn.relu(relax.add(x, _norm(relax.nn.conv2d(y, relax.const(second), padding=[1]))))

    def body(x: Any) -> Any:
        y = relax.nn.relu(_norm(relax.nn.conv2d(x, relax.const(weights[0]), padding=[1], strides=[2])))
        y = relax.nn.max_pool2d(y, pool_size=[3], strides=[2], padding=[1])
        y = block(y, *weights[1:3])
        return relax.matmul(relax.mean(y, axis=[2, 3]), relax.const(weights[3]))

    module = module_with({"image": rx.tensor(("n", 3, 16, 16))}, body)
    program = _both(module, floats(2, 3, 16, 16), rtol=1e-4)
    assert "1 part by onnxruntime" in repr(program)
    whole = rx.compile(module)["main"]
    for batch in (1, 5):
        data = floats(batch, 3, 16, 16)
        _compare(whole(data), program["main"](data), 1e-4)


def _norm(x: Any) -> Any:
    parameters = [relax.const(numpy.abs(floats(8, seed=seed)) + 0.5) for seed in range(4)]
    return relax.nn.batch_norm(x, *parameters, axis=1, training=False)[0]


def test_a_transformer_block_of_a_symbolic_batch_and_length() -> None:
    weights = [floats(16, 16, seed=seed) / 4 for seed in range(4)]
    wide, narrow = floats(16, 32, seed=5) / 4, floats(32, 16, seed=6) / 4
    ones, zeros = numpy.ones(16, "float32"), numpy.zeros(16, "float32")

    def normed(x: Any) -> Any:
        return relax.nn.layer_norm(x, relax.const(ones), relax.const(zeros), axes=[-1])

    def body(x: Any) -> Any:
        h = normed(x)
        heads = [relax.reshape(relax.matmul(h, relax.const(each)), ("b", "s", 2, 8)) for each in weights[:3]]
        mixed = relax.reshape(relax.nn.attention(*heads, causal_mask="TopLeft"), ("b", "s", 16))
        x = relax.add(x, relax.matmul(mixed, relax.const(weights[3])))
        return relax.add(
            x, relax.matmul(relax.nn.gelu(relax.matmul(normed(x), relax.const(wide))), relax.const(narrow))
        )

    module = module_with({"x": rx.tensor(("b", "s", 16))}, body)
    program = _both(module, floats(2, 5, 16), rtol=1e-4)
    assert "1 part by onnxruntime" in repr(program)
    data = floats(1, 9, 16)
    _compare(rx.compile(module)["main"](data), program["main"](data), 1e-4)


def test_several_results_of_a_part_and_several_parts() -> None:
    """Build two parts around an operator without a counterpart in ONNX. The first part has two results."""

    def body(x: Any, y: Any) -> Any:
        a, b = relax.exp(x), relax.tanh(relax.exp(x))
        c = relax.atan2(a, b)
        return relax.nn.softmax(c), relax.add(b, y), c

    module = module_with({"x": rx.tensor(("n", 4)), "y": rx.tensor((4,))}, body)
    program = _both(module, floats(3, 4), floats(4))
    assert "parts by onnxruntime" in repr(program)


def test_branches_and_loops_hold_parts_of_their_own() -> None:
    module = rx.Module.parse("""func.func @main(%x: tensor<4xf32>, %count: tensor<i64>) -> tensor<4xf32> {
      %low = arith.constant 0 : i64
      %step = arith.constant 1 : i64
      %high = tensor.extract %count[] : tensor<i64>
      %y = scf.for %i = %low to %high step %step iter_args(%held = %x) -> (tensor<4xf32>) : i64 {
        %a = "relax.tanh"(%held) : (tensor<4xf32>) -> tensor<4xf32>
        %b = "relax.add"(%a, %held) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        scf.yield %b : tensor<4xf32>
      }
      return %y : tensor<4xf32>
    }""")
    program = _both(module, floats(4), numpy.array(3))
    assert "part by onnxruntime" in repr(program)


_DTYPES = ["bool", "float16", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]


@pytest.mark.parametrize("dtype", _DTYPES)
def test_element_types(dtype: str) -> None:
    data = (floats(4, 3) * 9).astype(dtype)
    body = lambda x: relax.concat([x, relax.flip(x, 0)], axis=1)  # noqa: E731
    assert "part by onnxruntime" in repr(_both(module_with([rx.tensor(("n", 3), dtype)], body), data))


def test_bfloat16() -> None:
    body = lambda x: relax.astype(relax.multiply(relax.astype(x, "bfloat16"), relax.astype(x, "bfloat16")), "float32")  # noqa: E731
    _both(module_with([rx.tensor(("n",))], body), floats(9), rtol=1e-2)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2)])
def test_small_and_empty_tensors(shape: tuple[int, ...]) -> None:
    body = lambda x: (relax.exp(x), relax.sum(x))  # noqa: E731
    _both(module_with([rx.tensor(shape)], body), floats(*shape))
    named = tuple(f"n{axis}" for axis in range(len(shape)))
    _both(module_with([rx.tensor(named)], body), floats(*shape))


def test_quantized_layers() -> None:
    def body(x: Any) -> Any:
        q = relax.quantize(x, relax.const(0.05), relax.const(3, "int8"), axis=0)
        return relax.dequantize(relax.flip(q, 0), relax.const(0.05), relax.const(3, "int8"), axis=0)

    _both(module_with([rx.tensor(("n", 4))], body), floats(5, 4))


def test_shapes_that_the_model_computes() -> None:
    def body(x: Any) -> Any:
        y = relax.reshape(x, ("n*m",))
        return relax.strided_slice(relax.concat([y, y]), [0], [0], ["n*m + 1"])

    module = module_with([rx.tensor(("n", "m"))], body)
    assert "1 part by onnxruntime" in repr(_both(module, floats(3, 4)))


# ---- accepted operators ----


def _why(body: Any, *infos: Any) -> str:
    """Return the reason why the codegen refuses the last operator of a function, or an empty text."""
    module = module_with(list(infos), body)
    op = [view.operation for view in module.body.operations[0].regions[0].blocks[0].operations][-2]
    patterns = {composite.name: composite.pattern for composite in find_codegen("onnxruntime").composites()}
    pattern = patterns.get(op.name.replace("relax.", "onnxruntime.", 1))
    if pattern is None:
        return "no pattern"
    if match(pattern, op) is not None:
        return ""
    from relax_mlir.patterns import why_not

    refusal = why_not(pattern, op)
    return str(refusal.reason) if refusal else ""


def test_each_operator_that_computes_and_has_a_counterpart_has_a_pattern() -> None:
    names = {composite.name for composite in find_codegen("onnxruntime").composites()}
    assert {"onnxruntime.add", "onnxruntime.nn.conv2d", "onnxruntime.image.resize2d"} <= names
    assert not names & {
        "onnxruntime.constant",
        "onnxruntime.shape_of",
        "onnxruntime.match_cast",
        "onnxruntime.call_tir",
    }


def test_operators_that_are_not_taken_have_a_reason() -> None:
    x = rx.tensor((4, 4))
    assert _why(relax.exp, x) == ""
    assert _why(lambda x: relax.atan2(x, x), x) == "no pattern"
    assert _why(lambda x: relax.nn.softplus(x, threshold=1.0), x) == "ONNX's Softplus has no threshold"
    assert _why(lambda x: relax.astype(x, "float8_e4m3fn"), x) == "elements of f8E4M3FN cannot be passed to onnxruntime"
    assert _why(relax.nonzero, x) == "the sizes of a result are known at run time only"
    image, weight = rx.tensor((1, 2, 5, 5), "float64"), rx.tensor((3, 2, 3, 3), "float64")
    assert _why(relax.nn.conv2d, image, weight) == "onnxruntime has no Conv for elements of f64"
    assert _why(lambda x: relax.bitcast(x, "int32"), x).startswith("ONNX has BitCast since opset 26")


def test_symbolic_sizes_are_taken() -> None:
    assert _why(lambda x: relax.reshape(x, ("n*4",)), rx.tensor(("n", 4))) == ""
    assert _why(lambda x: relax.nn.softmax(x), rx.tensor(("n", "m + 1"))) == ""


def test_a_part_that_is_declined_after_all_stays_with_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decline a part at compile time, for the size of its constants. Single operators do not show this size."""
    monkeypatch.setattr(model_writer, "_MOST_BYTES", 15)
    module = module_with([rx.tensor(("n", 4))], lambda x: relax.multiply(x, relax.const(floats(4))))
    with pytest.warns(RuntimeWarning, match="codegen 'onnxruntime' declined .* constants take 16 bytes"):
        program = _both(module, floats(3, 4))
    assert "onnxruntime" not in repr(program)
    with pytest.raises(rx.RelaxError, match="constants take 16 bytes"):
        rx.compile(module, partition=["onnxruntime"], strict_partition=True)


# ---- options, artifacts ----


def _bytes_of(module: rx.Module, codegen: str) -> memoryview:
    external = rx.compile(module, partition=[codegen])._artifact.externals[0]
    assert external.data is not None
    return memoryview(external.data)


def test_threads() -> None:
    module = module_with([rx.tensor((4,))], relax.exp)
    assert unpacked("onnxruntime", _bytes_of(module, "onnxruntime"), SessionPart).threads == 1
    assert unpacked("onnxruntime", _bytes_of(module, "onnxruntime{threads=2}"), SessionPart).threads == 2
    _both(module, floats(4), codegen="onnxruntime{threads=2}")


def test_an_artifact_in_a_process_without_the_compiler(tmp_path: Path) -> None:
    program = built({"x": rx.tensor(("n", 4))}, lambda x: relax.nn.softmax(x), partition=["onnxruntime"])
    program.save(tmp_path / "program.rxa")
    script = f"""
import sys, numpy, relax_mlir.runtime as runtime
program = runtime.load({str(tmp_path / "program.rxa")!r})
found = numpy.from_dlpack(program["main"](numpy.ones((2, 4), "float32")))
assert numpy.allclose(found, 0.25), found
compiler = ("relax_mlir.dialects", "relax_mlir.frontends", "torch_mlir")
loaded = [name for name in sys.modules if name.startswith(compiler)]
assert not loaded, loaded
assert "onnx" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr


def test_the_same_bytes_each_time() -> None:
    module = module_with([rx.tensor(("n", 4))], lambda x: relax.nn.softmax(x))
    assert bytes(_bytes_of(module, "onnxruntime")) == bytes(_bytes_of(module, "onnxruntime"))


def test_calls_from_several_threads() -> None:
    program = built({"x": rx.tensor(("n", 4))}, lambda x: relax.nn.softmax(relax.exp(x)), partition=["onnxruntime"])
    inputs = [floats(size, 4, seed=size) for size in range(1, 33)]
    alone = [array(program["main"](each)) for each in inputs]
    with ThreadPoolExecutor(8) as pool:
        together = [array(each) for each in pool.map(program["main"], inputs)]
    for one, other in zip(alone, together, strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_errors_name_the_part() -> None:
    """Report indices out of bounds, which onnxruntime finds at run time."""
    program = built(
        [rx.tensor((4,)), rx.tensor(("k",), "int64")], lambda x, i: relax.take(x, i), partition=["onnxruntime"]
    )
    with pytest.raises(Exception, match=r"(?s)onnxruntime.*indices element out of data bounds"):
        program["main"](floats(4), numpy.array([9]))
