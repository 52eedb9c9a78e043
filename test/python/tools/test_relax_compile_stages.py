# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-compile's stages: those of rx.compile, --stop and --start, and edited plans."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from partitioning import codegen
from relax_mlir.tools.relax_compile import run

import relax_mlir as rx
from relax_mlir.patterns import is_op

onnx = pytest.importorskip("onnx", reason="models are made with onnx: it comes with the extra `onnx`")

TARGET = "llvm{vector-bytes=16}"
STAGES = rx.stages(TARGET).names
RNG = numpy.random.default_rng(5)
WEIGHT = RNG.standard_normal((40, 36), dtype="float32")
BIAS = RNG.standard_normal(36, dtype="float32")


def outcome(*arguments: str | Path) -> tuple[int, str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    code = run([*map(str, arguments), f"--target={TARGET}", "--no-cache"], io.StringIO(), stdout, stderr)
    return code, stdout.getvalue(), stderr.getvalue()


def made(*arguments: str | Path) -> str:
    code, out, errors = outcome(*arguments)
    assert (code, errors) == (0, "")
    return out


def refused(*arguments: str | Path) -> str:
    code, out, errors = outcome(*arguments)
    assert (code, out, errors.count("\n")) == (1, "", 1)
    return errors


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a model of softmax(relu(x @ w + b)) with external weights, where x has n rows of 40."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    weights = [onnx.numpy_helper.from_array(array, name) for array, name in ((WEIGHT, "w"), (BIAS, "b"))]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], "the product"),
        helper.make_node("Add", ["product", "b"], ["sum"], "the sum"),
        helper.make_node("Relu", ["sum"], ["positive"], "relu"),
        helper.make_node("Softmax", ["positive"], ["y"], "softmax"),
    ]
    x, y = (helper.make_tensor_value_info(name, float32, ["n", size]) for name, size in (("x", 40), ("y", 36)))
    graph = helper.make_graph(nodes, "graph", [x], [y], weights)
    path = tmp_path_factory.mktemp("models") / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@pytest.fixture(scope="module")
def planned(model: Path) -> str:
    return made(model, "--stop=plan")


@pytest.fixture(scope="module")
def whole(model: Path) -> bytes:
    path = model.with_name("whole.rxa")
    made(model, "-o", path)
    return path.read_bytes()


def program(text: str, folder: Path) -> Any:
    """Compile a module that stopped after `plan`. Return the executable and its bytes."""
    (folder / "planned.mlir").write_text(text)
    made(folder / "planned.mlir", "--start=apply", "-o", folder / "edited.rxa")
    return rx.runtime.load(folder / "edited.rxa"), (folder / "edited.rxa").read_bytes()


def check(executable: Any) -> None:
    x = RNG.standard_normal((7, 40), dtype="float32")
    powers = numpy.exp(numpy.maximum(x.astype("f8") @ WEIGHT + BIAS, 0))
    expected = powers / powers.sum(-1, keepdims=True)
    numpy.testing.assert_allclose(numpy.from_dlpack(executable["main"](x)), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["-O0"], {"opt_level": 0}),
        (["--bind=n:1..8"], {"bind": {"n": "1..8"}}),
        (["--precision=bf16"], {"precision": "bf16"}),
        (["--partition=example_npu"], {"partition": "example_npu"}),
    ],
    ids=str,
)
def test_the_program_is_that_of_rx_compile(
    arguments: list[str], options: dict[str, Any], model: Path, tmp_path: Path
) -> None:
    code, _, _ = outcome(model, *arguments, "-o", tmp_path / "main.rxa")
    rx.compile(rx.from_onnx(model), TARGET, cache=False, **options).save(tmp_path / "called.rxa")
    assert code == 0
    assert (tmp_path / "main.rxa").read_bytes() == (tmp_path / "called.rxa").read_bytes()


@pytest.mark.parametrize(("stop", "start"), list(itertools.pairwise(STAGES)))
@pytest.mark.slow
def test_two_parts_give_the_same_program(stop: str, start: str, model: Path, whole: bytes, tmp_path: Path) -> None:
    between, out = tmp_path / "between.mlir", tmp_path / "out.rxa"
    made(model, f"--stop={stop}", "-o", between)
    made(between, f"--start={start}", "-o", out)
    assert out.read_bytes() == whole


def test_partition_input_is_printed(model: Path) -> None:
    """Print the same module as rx.stages gives, without the table of a partition that has not run."""
    given = made(model, "--emit=partition-input", "--partition=example_npu")
    assert "relax.matmul" in given and "relax.call_external" not in given
    stages = rx.stages(TARGET, partition="example_npu").until("partition-input")
    assert given == rx.lower(rx.from_onnx(model), TARGET, pipeline=stages).print().rstrip("\n") + "\n"
    assert "1 part by example_npu" in repr(rx.compile(rx.Module.parse(given), TARGET, partition="example_npu"))


def test_partition_input_of_kernel_codegens_has_calls(model: Path) -> None:
    with codegen([("npu.any", is_op("relax.call_tir"))]):
        assert "relax.call_tir" in made(model, "--emit=partition-input", "--partition=npu")
        assert rx.stages(TARGET, partition="npu")["partition-kernels"]


def test_another_precision(model: Path, planned: str, tmp_path: Path) -> None:
    narrow = made(model, "--precision=bf16", "--stop=plan")
    assert "bf16" in narrow and "bf16" not in planned
    (tmp_path / "planned.mlir").write_text(narrow)
    error = refused(tmp_path / "planned.mlir", "--start=apply", "--precision=bf16")
    assert "--precision is for whole compilations: give it together with --stop" in error


def test_a_plan_that_was_edited_gives_other_code(planned: str, whole: bytes, tmp_path: Path) -> None:
    unchanged, same = program(planned, tmp_path)
    assert same == whole
    check(unchanged)
    (plan,) = [each for each in planned.split('"') if each.endswith("rule matmul")]
    assert "vector 1 x 4" in plan and "panel 1 along 2: 40" in plan
    edited = planned.replace(plan, "order 0 1 2; carried 1; vector 1 x 2; tile 1: 2, 0: 5; rule by-hand")
    executable, other = program(edited, tmp_path)
    assert other != whole
    check(executable)
    (tmp_path / "edited.mlir").write_text(edited)
    loops = made(tmp_path / "edited.mlir", "--start=apply", "--stop=apply")
    kernel = loops[loops.index("func.func private @fused_matmul") :].partition("func.func")[2]
    assert "vector<2xf32>" in kernel.partition("func.func")[0]


@given(lanes=st.sampled_from([1, 2, 4]), columns=st.integers(1, 5), rows=st.integers(1, 7), swapped=st.booleans())
@draws(10)
def test_any_plan_that_is_taken_computes_the_same(
    planned: str, lanes: int, columns: int, rows: int, swapped: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (plan,) = [each for each in planned.split('"') if each.endswith("rule matmul")]
    order = "0 1 2" if swapped else "1 0 2"
    text = f"order {order}; carried 1; vector 1 x {lanes}; tile 1: {columns}, 0: {rows}"
    check(program(planned.replace(plan, text), tmp_path_factory.mktemp("edited"))[0])


@pytest.mark.parametrize(
    ("edited", "reason"),
    [
        ("vector 1 x 8", "8 lanes of 32 bits do not fit in a vector of 16 bytes"),
        ("vector 3 x 4", "loop 3 of 'vector' is not in the order (0, 1, 2)"),
        ("vektor 1 x 4", "expected one of order, carried, vector,"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused_with_the_reason(
    edited: str, reason: str, planned: str, tmp_path: Path
) -> None:
    (plan,) = [each for each in planned.split('"') if each.endswith("rule matmul")]
    (tmp_path / "edited.mlir").write_text(planned.replace(plan, plan.replace("vector 1 x 4", edited)))
    message = refused(tmp_path / "edited.mlir", "--start=apply", "-o", tmp_path / "edited.rxa")
    assert "the product" in message and edited in message and reason in message
    assert not (tmp_path / "edited.rxa").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["M", "--start=apply"], "--start is for modules that --stop has written: "),
        (["m.mlir", "--start=apply", "--emit=relax"], "--emit=relax is the module before all stages"),
        (["M", "--stop=plan", "--emit=llvm"], "--stop writes the module after a stage, --emit=llvm something else"),
        (["M", "--stop=plan", "--report=r.html"], "--report shows a whole compilation, and --stop ends before"),
        (["m.mlir", "--start=plan", "--report=r.html"], "--report shows a whole compilation, and --start begins"),
        (["M", "--emit=partition-input"], "--emit=partition-input is what codegens get: --partition=<codegens> names"),
        (["M", "--stop=plan", "--sign=key.pem"], "--sign is for programs"),
    ],
)
def test_conflicting_options_are_refused(arguments: list[str], message: str, model: Path) -> None:
    assert message in refused(*(str(model) if each == "M" else each for each in arguments))
