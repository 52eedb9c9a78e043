# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run --each: values of saved programs beside the reference, other programs, and onnxruntime."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import faulty_codegen  # noqa: F401  # registers it
import numpy
import pytest
import relax_mlir as rx
from noise import without_noise
from relax_mlir.tools import relax_compile, relax_run
from relax_mlir_proof import relax_bisect

onnx = pytest.importorskip("onnx")
FLOAT = onnx.TensorProto.FLOAT

rx.Dialect("test_each", doc="Of these tests.").op(
    "cube", "x", infer=lambda call: call.x, reference=lambda call, x: x * x * x, doc="x to the third power."
)


@rx.rules.register_legalize("test_each.cube")
def legalize_cube(call: Any) -> Any:
    return call.elementwise(lambda x: x * x * x)


@rx.register_onnx("com.test_each", "Cube")
def convert_cube(node: Any) -> Any:
    return rx.find_op("test_each.cube")(node.tensor(0))


def save(path: Path, nodes: list[Any], inputs: dict[str, list[Any]] | None = None) -> Path:
    """Write a model of nodes from its inputs to y."""
    shapes = inputs or {"x": ["n", 4]}
    taken = [onnx.helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in shapes.items()]
    result = [onnx.helper.make_tensor_value_info("y", FLOAT, ["n", 4])]
    constants = [onnx.numpy_helper.from_array(numpy.float32([2, 1, 0.5, 3]), "c")]
    graph = onnx.helper.make_graph(nodes, "graph", taken, result, constants)
    opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("com.test_each", 1)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def node(op: str, given: str, made: str, name: str, domain: str = "") -> Any:
    return onnx.helper.make_node(op, given.split(), [made], name=name, domain=domain)


CHAIN = [node("Softmax", "x", "s", "first"), node("Sub", "c s", "d", "difference"), node("Softmax", "d", "y", "last")]


def outcome(tool: Any, *arguments: str | Path) -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    code = tool.run([str(each) for each in arguments], io.StringIO(), out, errors)
    return code, out.getvalue(), without_noise(errors.getvalue())


def compiled(model: Path, name: str, *options: str) -> Path:
    path = model.parent / name
    code, _, errors = outcome(relax_compile, model, "-o", path, "--no-cache", *options)
    assert code == 0, errors
    return path


def each(program: Path, other: str | Path, *options: str) -> tuple[int, str]:
    code, out, errors = outcome(relax_run, program, "--each", f"--compare={other}", *options)
    assert "error" not in errors, errors
    return code, out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with model.onnx, its right program a.rxa, and wrong.rxa, a program with a wrong part."""
    path = tmp_path_factory.mktemp("each")
    model = save(path / "model.onnx", CHAIN)
    compiled(model, "a.rxa", "--observe")
    compiled(model, "wrong.rxa", "--observe", "--partition=faulty{fault=order}")
    compiled(model, "plain.rxa", "-O0")
    return path


SHAPE = "--shape=x:3,4"


def test_right_values(folder: Path) -> None:
    code, out = each(folder / "a.rxa", "reference", SHAPE)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split() == ["node", "kernel", "or", "part", "isolated", "accumulated"]
    assert [line.split()[0] for line in lines[1:-1]] == ["first", "difference", "last"]
    assert lines[-1] == "3 values of both, 0 of this program alone, 0 of the model alone"


def test_the_wrong_part_is_named_and_its_inputs_are_written(folder: Path, tmp_path: Path) -> None:
    inputs, page = tmp_path / "culprit.npz", tmp_path / "each.html"
    code, out = each(folder / "wrong.rxa", "reference", SHAPE, f"--inputs={inputs}", f"--report={page}")
    assert code == 1
    problem = "its code gives another value than its definition, for the same inputs"
    name = "fused_subtract_faulty::fused_subtract_faulty"
    assert f"\nfirst wrong: difference: {name} (onnx.Sub): {problem}\n" in out
    last = next(line for line in out.splitlines() if line.startswith("last"))
    assert last.endswith("accumulated: its inputs are wrong already")
    with numpy.load(inputs) as found:
        assert sorted(found.files) == ["expected0", "input0"]
        numpy.testing.assert_allclose(found["expected0"], numpy.float32([2, 1, 0.5, 3]) - found["input0"], rtol=1e-6)
        assert found["input0"].shape == (3, 4)
    rows = re.findall(r"<tr class='(\w+)'><td>(\w+)</td>", page.read_text())
    assert rows == [("right", "first"), ("fault", "difference"), ("accumulated", "last")]


def test_two_programs(folder: Path) -> None:
    """Compare two programs with different options. Each has values that the other one lacks."""
    other = compiled(folder / "model.onnx", "b.rxa", "--observe", "-O0")
    code, out = each(folder / "wrong.rxa", other, SHAPE)
    assert code == 1
    assert "first wrong: difference: " in out
    assert out.endswith(f"3 values of both, 0 of this program alone, 0 of {other} alone\n")
    code, out = each(folder / "a.rxa", folder / "wrong.rxa", SHAPE)
    assert code == 1
    said = "wrong.rxa gives another value than the definition\n"
    assert "first wrong: difference: " in out and said in out
    assert each(folder / "a.rxa", other, SHAPE)[0] == 0


def test_values_of_only_one_program_are_reported(tmp_path: Path) -> None:
    nodes = [node("Neg", "x", "e", "e"), node("Relu", "e", "t", "t"), node("Softmax", "t", "y", "y")]
    model = save(tmp_path / "model.onnx", nodes)
    fused, apart = compiled(model, "a.rxa", "--observe"), tmp_path / "b.rxa"
    stages = rx.stages().drop("fuse")
    rx.compile(rx.from_onnx(model), pipeline=stages, cache=False, observe=True).save(apart)
    assert each(fused, apart)[1].endswith(f"2 values of both, 0 of this program alone, 1 of {apart} alone\n")
    assert each(apart, fused)[1].endswith(f"2 values of both, 1 of this program alone, 0 of {fused} alone\n")


def test_onnxruntime(folder: Path) -> None:
    pytest.importorskip("onnxruntime")
    model = folder / "model.onnx"
    code, out = each(folder / "a.rxa", model, SHAPE)
    assert (code, out.splitlines()[-1]) == (0, f"3 values of both, 0 of this program alone, 0 of {model} alone")
    code, out = each(folder / "wrong.rxa", model, SHAPE)
    assert code == 1 and "first wrong: difference: " in out


def test_a_wrong_kernel_of_an_operator_of_ones_own(tmp_path: Path) -> None:
    """Run an operator of a custom ONNX domain. A wrong rule is an error of the operator, not of the kernel."""
    rx.register_target(rx.Target("test-each", parents=("llvm",), doc="Of these tests."))

    @rx.rules.register_legalize("test_each.cube", target="test-each")
    def wrong(call: Any) -> Any:
        return call.elementwise(lambda x: x * x)

    nodes = [
        node("Softmax", "x", "s", "s"),
        node("Cube", "s", "c3", "own", "com.test_each"),
        node("Softmax", "c3", "y", "y"),
    ]
    model = save(tmp_path / "model.onnx", nodes)
    assert each(compiled(model, "a.rxa", "--observe"), "reference")[0] == 0
    code, out = each(compiled(model, "b.rxa", "--observe", "--target=test-each"), "reference")
    said = "a rewrite of the graph, or a rule, gives another value than the model"
    assert code == 1 and re.search(rf"\nfirst wrong: own: \w+ \(com.test_each.Cube\): {said}\n", out)


def test_observing_keeps_results_and_signature_of_main(folder: Path) -> None:
    code, one, _ = outcome(relax_run, folder / "a.rxa", "--print", SHAPE)
    assert code == 0
    plain = compiled(folder / "model.onnx", "main.rxa")
    assert outcome(relax_run, plain, "--print", SHAPE) == (0, one, "")
    alike = [rx.runtime.load(path).signature("main") for path in (folder / "a.rxa", plain)]
    assert alike[0]["inputs"] == alike[1]["inputs"] and alike[0]["outputs"] == alike[1]["outputs"]


def test_relax_bisect_has_the_same_page(folder: Path, tmp_path: Path) -> None:
    page, inputs = tmp_path / "each.html", tmp_path / "culprit.npz"
    options = ("--partition=faulty{fault=order}", "--each", SHAPE, f"--report={page}", f"--inputs={inputs}")
    code, out, _ = outcome(relax_bisect, folder / "model.onnx", *options)
    assert code == 1 and "first wrong: difference: " in out
    assert "<tr class='fault'><td>difference</td>" in page.read_text()
    assert sorted(numpy.load(inputs).files) == ["expected0", "input0"]


def without_nodes(path: Path) -> Path:
    text = """func.func @main(%x: tensor<3x4xf32> {relax.name = "x"}) -> tensor<3x4xf32> {
      %0 = "relax.nn.softmax"(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32> loc(unknown)
      return %0 : tensor<3x4xf32>
    } loc(unknown)"""
    rx.compile(rx.Module.parse(text), observe=True, cache=False).save(path)
    return path


def test_a_program_without_names_of_nodes(folder: Path, tmp_path: Path) -> None:
    program = without_nodes(tmp_path / "a.rxa")
    assert each(program, "reference")[0] == 0, "the reference needs none"
    for other in ("a.rxa", "model.onnx"):
        _, out, errors = outcome(relax_run, program, "--each", "--compare", folder / other)
        assert out == "" and "a.rxa has no names of nodes: nothing says which of its values are those of " in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.rxa", "--each"], "--each needs something to compare with: --compare=reference, b.rxa or model.onnx"),
        (["plain.rxa", "--each", "--compare=reference"], "does not show its values: compile it with --observe"),
        (["a.rxa", "--each", "--compare=plain.rxa"], "plain.rxa does not show its values: compile it with --observe"),
        (["a.rxa", "--each", "--compare=other.rxa"], "have no node in common: they are of different models"),
        (["a.rxa", "--each", "--compare=other.onnx"], "have no node in common: they are of different models"),
        (["a.rxa", "--each", "--compare=two.rxa"], "takes x (float32 (n, 4)), that of two.rxa x (float32 (n, 4)), z ("),
        (["a.rxa", "--each", "--compare=none.rxa"], "none.rxa: cannot be read: No such file"),
        (["a.rxa", "--each", "--compare=none.onnx"], "cannot read 'none.onnx': "),
        (["a.rxa", "--each", "--compare=reference", "--function=mian"], "no function 'mian' in this executable"),
        (["a.rxa", "--each", "--compare=reference", "--function=main_observed"], "of function 'main_observed', only o"),
        (["a.rxa", "--each", "--compare=reference", "--tolerance=-1"], "option --tolerance expects a number that is n"),
        (["a.rxa", "--each", "--compare=reference", "--tolerance=nan"], "option --tolerance expects a number that is "),
        (["a.rxa", "--each", "--compare=reference", "--tolerance=inf"], "option --tolerance expects a number that is "),
        (["a.rxa", "--each", "--compare=reference", "--benchmark"], "--each and --benchmark exclude each other"),
        (["a.rxa", "--compare=b.rxa"], "--compare=b.rxa compares the values of kernels and parts: it needs --each"),
        (["a.rxa", "--inputs=x.npz"], "--inputs is for the values of kernels and parts: it needs --each"),
        (["a.rxa", "--report=x.html"], "--report is for the values of kernels and parts: it needs --each"),
        (["a.rxa", "--each", "--compare=reference", "--inputs=a.rxa"], "--inputs names an input, 'a.rxa'"),
        (["model.onnx", "--each", "--compare=reference"], "relax-compile model.onnx --observe makes one of it; relax-"),
    ],
)  # fmt: skip
def test_refusals(folder: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    if not Path("two.rxa").exists():
        compiled(save(Path("other.onnx").resolve(), [node("Softmax", "x", "y", "elsewhere")]), "other.rxa", "--observe")
        both = {"x": ["n", 4], "z": ["n", 4]}
        compiled(save(Path("two.onnx").resolve(), [node("Add", "x z", "y", "first")], both), "two.rxa", "--observe")
    code, out, errors = outcome(relax_run, *arguments)
    error = errors.splitlines()[-1]
    assert (code, out) == (1, "")
    assert error.startswith("relax-run: error: ") and "internal" not in error and message in error, error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--emit=ll"], "--observe is for programs: it needs --emit=artifact, the default"),
        (["--check"], "--observe is for programs: it needs --emit=artifact, the default"),
        (
            ["--donate=x"],
            "observe and donate exclude each other: observed values have own buffers, donated arguments grow",
        ),
    ],
)
def test_observe_refuses_incompatible_options(folder: Path, options: list[str], message: str) -> None:
    code, _, errors = outcome(relax_compile, folder / "model.onnx", "--observe", *options)
    assert code == 1 and message in errors


def test_a_function_of_that_name(tmp_path: Path) -> None:
    module = rx.Module()
    for name in ("main", "main_observed"):
        with module.function(name, {"x": rx.tensor((4,))}) as f:
            f.returns(rx.relax.exp(*f))
    with pytest.raises(rx.RelaxError, match="there is a function @main_observed already: the pass needs this name"):
        rx.compile(module, observe=True)


def test_operators_that_nothing_registers(tmp_path: Path) -> None:
    """Run a program with unregistered operators. Only the computation of expected results needs their registration."""
    plugin, model = tmp_path / "own.py", tmp_path / "model.mlir"
    plugin.write_text(
        """import relax_mlir as rx
rx.Dialect("test_own", doc="Own.").op("same", "x", infer=lambda call: call.x, reference=lambda call, x: x, doc="x.")
@rx.rules.register_legalize("test_own.same")
def same(call):
    return call.elementwise(lambda x: x)
"""
    )
    model.write_text(
        """func.func @main(%x: tensor<4xf32> {relax.name = "x"}) -> tensor<4xf32> {
  %0 = "test_own.same"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
    )
    tool = [sys.executable, "-m"]
    program = tmp_path / "own.rxa"
    options = [str(model), f"--load-plugin={plugin}", "-o", str(program), "--observe", "--no-cache"]
    subprocess.run([*tool, "relax_mlir.tools.relax_compile", *options], check=True, timeout=600)
    code, out, errors = outcome(relax_run, program, "--each", "--compare=reference")
    assert (code, out) == (1, "")
    assert "own.rxa was made of cannot be read: " in errors and "--load-plugin=<module> registers operators" in errors


def test_definitions_that_are_damaged(folder: Path, tmp_path: Path) -> None:
    data = bytearray((folder / "a.rxa").read_bytes())
    data[-100] ^= 1
    (tmp_path / "a.rxa").write_bytes(data)
    _, _, errors = outcome(relax_run, tmp_path / "a.rxa", "--each", "--compare=reference")
    assert "damaged: the checksum of the definitions is wrong" in errors
