# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of users, made of relax operators, hand-written PrimFuncs and external functions; refusals."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import onnx
import pytest
import tvm_ffi
from compiling import array
from onnx import helper
from relax_mlir.frontends.onnx import registry

import relax_mlir as rx

DOMAIN = "my.domain"

TEXT = """
func.func @mirror(%x: memref<?x?xf32>, %out: memref<?x?xf32>) attributes {tir.prim_func} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %rows = memref.dim %x, %zero : memref<?x?xf32>
  %columns = memref.dim %x, %one : memref<?x?xf32>
  scf.for %i = %zero to %rows step %one {
    scf.for %j = %zero to %columns step %one {
      %behind = arith.subi %columns, %j : index
      %other = arith.subi %behind, %one : index
      %value = memref.load %x[%i, %other] : memref<?x?xf32>
      memref.store %value, %out[%i, %j] : memref<?x?xf32>
    }
  }
  return
}"""

ON_TENSORS = """
func.func @doubled(%x: tensor<?x?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32>
    attributes {tir.prim_func, tir.op_pattern = "elemwise"} {
  %result = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                            iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%out : tensor<?x?xf32>) {
  ^bb0(%value: f32, %unused: f32):
    %double = arith.addf %value, %value : f32
    linalg.yield %double : f32
  } -> tensor<?x?xf32>
  return %result : tensor<?x?xf32>
}"""


def mirror(x: Any, out: Any) -> None:
    rows, columns = rx.loops.sizes(x)

    def element(i: Any, j: Any) -> None:
        rx.loops.store(rx.loops.load(x, i, columns - 1 - j), out, i, j)

    rx.loops.nest([rows, columns], element)


@pytest.fixture(autouse=True)
def forget_what_was_taught() -> Iterator[None]:
    yield
    for name in [name for name in registry.CONVERTERS.entries if name[0] == DOMAIN]:
        del registry.CONVERTERS.entries[name]


def taught(convert: Callable[[Any], Any], op: str = "MyOp") -> None:
    rx.register_onnx(DOMAIN, op)(convert)


def model(*ops: str, shape: Any = ("rows", "columns"), inputs: int = 1, outputs: int = 1, dtype: int = 1) -> Any:
    """Return a model with operators in sequence."""
    nodes = []
    given = [f"x{each}" for each in range(inputs)]
    results = given
    for place, op in enumerate(ops):
        domain = "" if op in ("Neg", "Relu") else DOMAIN
        taken, results = results[:inputs], [f"y{place}_{each}" for each in range(outputs)]
        nodes.append(helper.make_node(op, taken, results, domain=domain, name=f"node{place}"))
    infos = [[helper.make_tensor_value_info(name, dtype, shape) for name in names] for names in (given, results)]
    graph = helper.make_graph(nodes, "g", *infos)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 1)])


def run(source: Any, *data: Any) -> Any:
    results = rx.compile(rx.from_onnx(source))["main"](*data)
    return [array(each) for each in results] if isinstance(results, (list, tuple, tvm_ffi.Array)) else array(results)


def floats(*shape: int) -> Any:
    return numpy.random.default_rng(7).normal(size=shape).astype("float32")


def message(source: Any) -> str:
    with pytest.raises(rx.RelaxError) as caught:
        rx.from_onnx(source)
    return str(caught.value)


def test_a_name_with_its_domain() -> None:
    rx.register_onnx(f"{DOMAIN}.MyOp")(lambda node: rx.relax.negative(node.tensor(0)))
    x = floats(3, 4)
    numpy.testing.assert_array_equal(run(model("MyOp"), x), -x)
    for name in ("MyOp", ".MyOp", f"{DOMAIN}."):
        with pytest.raises(rx.RelaxError, match="has no domain: expected"):
            rx.register_onnx(name)


# ---- the imported program ----


def test_relax_operators() -> None:
    taught(lambda node: rx.relax.multiply(node.tensor(0), rx.relax.const(node.float("factor", 3.0), "f32")))
    x = floats(3, 4)
    numpy.testing.assert_allclose(run(model("Relu", "MyOp"), x), 3 * numpy.maximum(x, 0))


@pytest.mark.parametrize("kernel", [TEXT, mirror], ids=["text", "python"])
def test_a_prim_func_between_operators(kernel: Any) -> None:
    taught(lambda node: node.call_tir(kernel, [node.tensor(0)], node.value(0).info))
    executable = rx.compile(rx.from_onnx(model("Neg", "MyOp", "Neg")))
    for shape in ((3, 4), (1, 9), (0, 4), (4, 0)):
        x = floats(*shape)
        assert (array(executable["main"](x)) == x[:, ::-1]).all()


def test_a_prim_func_on_tensors_that_says_how_it_can_be_fused() -> None:
    taught(lambda node: node.call_tir(ON_TENSORS, [node.tensor(0)], node.value(0).info))
    x = floats(5, 3)
    numpy.testing.assert_allclose(run(model("Neg", "MyOp", "Relu"), x), numpy.maximum(-2 * x, 0))


def test_the_module_has_a_prim_func_once() -> None:
    taught(lambda node: node.call_tir(TEXT, [node.tensor(0)], node.value(0).info), "A")
    taught(lambda node: node.call_tir(mirror, [node.tensor(0)], node.value(0).info), "B")
    source = model("A", "B", "A", "B")
    text = str(rx.from_onnx(source))
    assert text.count("tir.prim_func") == 2
    assert text.count("{func = @mirror}") == text.count("{func = @mirror_1}") == 2
    x = floats(2, 5)
    assert (run(source, x) == x).all()


def test_a_prim_func_in_python_is_made_for_each_type() -> None:
    taught(lambda node: node.call_tir(mirror, [node.tensor(0)], node.value(0).info))
    for dtype, name in ((1, "float32"), (7, "int64")):
        for shape in ((2, 3), ("rows", 3)):
            x = numpy.arange(6).reshape(2, 3).astype(name)
            assert (run(model("MyOp", shape=shape, dtype=dtype), x) == x[:, ::-1]).all()


def test_a_prim_func_may_have_the_graphs_name() -> None:
    taught(lambda node: node.call_tir(TEXT.replace("@mirror", "@main"), [node.tensor(0)], node.value(0).info))
    x = floats(2, 3)
    assert (run(model("MyOp"), x) == x[:, ::-1]).all()


def test_several_arguments_and_results() -> None:
    def both(x: Any, y: Any, total: Any, product: Any) -> None:
        def element(i: Any, j: Any) -> None:
            left, right = (rx.number(rx.loops.load(each, i, j)) for each in (x, y))
            rx.loops.store(left + right, total, i, j)
            rx.loops.store(left * right, product, i, j)

        rx.loops.nest(rx.loops.sizes(x), element)

    taught(lambda node: node.call_tir(both, [node.tensor(0), node.tensor(1)], [node.value(0).info] * 2))
    x, y = floats(2, 3), 2 * floats(2, 3)
    total, product = run(model("MyOp", inputs=2, outputs=2), x, y)
    numpy.testing.assert_allclose(total, x + y, rtol=1e-6)
    numpy.testing.assert_allclose(product, x * y, rtol=1e-6)


def test_a_prim_func_inside_of_a_branch() -> None:
    taught(lambda node: node.call_tir(mirror, [node.tensor(0)], node.value(0).info))
    info = helper.make_tensor_value_info("x", 1, (2, 3))
    branches = {
        f"{kind}_branch": helper.make_graph(
            [helper.make_node(op, ["x"], [kind], domain=domain)],
            kind,
            [],
            [helper.make_tensor_value_info(kind, 1, (2, 3))],
        )
        for kind, op, domain in (("then", "MyOp", DOMAIN), ("else", "Neg", ""))
    }
    graph = helper.make_graph(
        [helper.make_node("If", ["b"], ["y"], **branches)],
        "g",
        [helper.make_tensor_value_info("b", 9, ()), info],
        [helper.make_tensor_value_info("y", 1, (2, 3))],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(DOMAIN, 1)]
    executable = rx.compile(rx.from_onnx(helper.make_model(graph, opset_imports=opsets)))
    x = floats(2, 3)
    assert (array(executable["main"](numpy.array(True), x)) == x[:, ::-1]).all()
    assert (array(executable["main"](numpy.array(False), x)) == -x).all()


def test_external_functions() -> None:
    @tvm_ffi.register_global_func("test_custom_operators.sort", override=True)
    def sort(x: Any, out: Any) -> None:
        numpy.from_dlpack(out)[...] = numpy.sort(numpy.from_dlpack(x))

    @tvm_ffi.register_global_func("test_custom_operators.same", override=True)
    def same(x: Any) -> Any:
        return tvm_ffi.from_dlpack(numpy.from_dlpack(x).copy())

    info = lambda node: node.value(0).info  # noqa: E731
    taught(lambda node: rx.relax.call_dps_packed("test_custom_operators.sort", [node.tensor(0)], info(node)), "Sort")
    taught(lambda node: rx.relax.call_pure_packed("test_custom_operators.same", [node.tensor(0)], info(node)), "Same")
    x = floats(4, 5)
    assert (run(model("Sort", "Same"), x) == numpy.sort(x)).all()


def test_the_tool_takes_them_from_a_module(tmp_path: Path) -> None:
    onnx.save(model("Mirror"), tmp_path / "m.onnx")
    lines = ["import relax_mlir as rx", f"TEXT = {TEXT!r}", f"@rx.register_onnx({DOMAIN!r}, 'Mirror')"]
    lines += ["def mirror(node):", "    return node.call_tir(TEXT, [node.tensor(0)], node.value(0).info)"]
    (tmp_path / "my_operators.py").write_text("\n".join(lines))
    command = [sys.executable, "-m", "relax_mlir.tools.relax_compile", "m.onnx", "-o", "m.rxa"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    refused = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert refused.returncode == 1 and "--load-plugin" in refused.stderr
    subprocess.run([*command, "--load-plugin=my_operators"], cwd=tmp_path, env=environment, check=True)
    x = floats(2, 3)
    assert (array(rx.runtime.load(tmp_path / "m.rxa")["main"](x)) == x[:, ::-1]).all()


# ---- refusals ----


@pytest.mark.parametrize("inputs, outputs", [(1, 1), (2, 1), (1, 2), (5, 3)])
def test_the_refusal_has_the_lines_that_teach(inputs: int, outputs: int) -> None:
    source = model("MyOp", inputs=inputs, outputs=outputs)
    text = message(source)
    lines = text[text.index("@rx.register_onnx(") :]
    assert len(lines.splitlines()) == 5
    exec(lines, {"rx": rx})
    assert '"relax.call_dps_packed"' in str(rx.from_onnx(source))
    # The other way that they show.
    first, *rest = lines.splitlines()
    exec("\n".join(line for line in [first, *rest] if "call_dps_packed" not in line), {"rx": rx, "kernel": _nothing})
    assert "relax.call_tir" in str(rx.from_onnx(source))


def _nothing(*buffers: Any) -> None:
    """Leave the results of a kernel undefined."""


@pytest.mark.parametrize("name", ["lambda", "2D", "with space", "Ünïcode"])
def test_the_lines_for_names_that_python_does_not_take(name: str) -> None:
    text = message(model(name))
    compile(text[text.index("@rx.register_onnx(") :], "lines", "exec")


def test_unknown_operators_suggest_a_similar_name() -> None:
    taught(lambda node: node.value(0), "Quadratic")
    assert "did you mean 'Quadratic'?" in message(model("Quadratik"))


@pytest.mark.parametrize(
    "kernel, expected",
    [
        ("func.func @f(", "<PrimFunc>:1:"),
        ("", "found nothing"),
        ("module {}", "found nothing"),
        ("func.func @f() { return }", "must be one func.func with the attribute tir.prim_func, found func.func"),
        (TEXT + TEXT.replace("@mirror", "@second"), "found func.func, func.func"),
        (TEXT.replace("?x?xf32", "?x?xf64"), "does not fit parameter #0 of @mirror"),
        (3, "a PrimFunc is MLIR text, a module of one (@T.prim_func, te.create_prim_func) or a Python function"),
        (lambda x, out: x, "the body returned"),
        (lambda x: None, "takes 1 positional argument"),
    ],
)
def test_prim_funcs_that_are_none(kernel: Any, expected: str) -> None:
    taught(lambda node: node.call_tir(kernel, [node.tensor(0)], node.value(0).info))
    assert expected in message(model("MyOp"))


@pytest.mark.parametrize(
    "results, expected",
    [("tensor<", "'tensor<' is not a type"), (3, "got int"), ("tensor<?x5xf64>", "does not fit parameter #1")],
)
def test_results_that_are_none(results: Any, expected: str) -> None:
    taught(lambda node: node.call_tir(TEXT, [node.tensor(0)], results))
    assert expected in message(model("MyOp"))
