# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-compile and relax-run with models that have sequences and optionals as inputs and outputs."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy
import pytest
from relax_mlir.tools import relax_compile, relax_run

import relax_mlir as rx

onnx = pytest.importorskip("onnx")

_MODEL = """<ir_version: 10, opset_import: ["" : 21]>
main (seq(float[n, 3]) xs, optional(float[m]) o, float[k, 3] y)
    => (float[a, 3] whole, seq(float[b, 3]) more, optional(float[m]) p, seq(float[3]) rows) {
    more = SequenceInsert (xs, y)
    whole = ConcatFromSequence <axis = 0> (more)
    p = Identity (o)
    rows = SplitToSequence <axis = 0, keepdims = 0> (y)
}"""


def outcome(tool: Any, *arguments: str | Path) -> tuple[int, str, str]:
    """Return the exit code, standard output and standard error."""
    stdout, stderr = io.StringIO(), io.StringIO()
    code = tool.run([str(argument) for argument in arguments], io.StringIO(), stdout, stderr)
    return code, stdout.getvalue(), stderr.getvalue()


def refused(tool: Any, *arguments: str | Path) -> str:
    code, _, errors = outcome(tool, *arguments)
    assert code == 1
    assert "internal error" not in errors
    return errors.splitlines()[-1]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.onnx"
    onnx.save(onnx.parser.parse_model(_MODEL), path)
    return path


@pytest.fixture(scope="module")
def program(model: Path) -> Path:
    path = model.parent / "program.rxa"
    code, _, errors = outcome(relax_compile, model, "-o", path, "--shape", "xs:[(?,3), (2,3)]", "--shape=o:-")
    assert (code, errors) == (0, "")
    return path


def test_lists_from_and_to_files(program: Path, model: Path, tmp_path: Path) -> None:
    arrays = {"xs.0": numpy.ones((4, 3), "float32"), "xs.1": numpy.zeros((2, 3), "float32")}
    arrays["y"] = numpy.full((2, 3), 2, "float32")
    numpy.savez(tmp_path / "in.npz", **arrays)
    out = tmp_path / "out.npz"
    code, text, errors = outcome(
        relax_run, program, "--input", tmp_path / "in.npz", "--output", out, "--compare", model
    )
    assert (code, errors) == (0, "relax-run: note: output 'p' is None\n")
    assert text.count("close") == 6
    with numpy.load(out) as found:
        assert found.files == ["whole", "more.0", "more.1", "more.2", "rows.0", "rows.1"]
        numpy.testing.assert_array_equal(found["whole"], numpy.concatenate(list(arrays.values())))
        numpy.testing.assert_array_equal(found["more.2"], arrays["y"])


def test_random_inputs(program: Path, tmp_path: Path) -> None:
    code, text, _ = outcome(
        relax_run, program, "--shape=xs.0:5,3", "--shape=y:0,3", "--output-dir", tmp_path, "--benchmark"
    )
    assert code == 0
    assert "100 calls" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["more.0.npy", "more.1.npy", "more.2.npy", "whole.npy"]
    assert numpy.load(tmp_path / "whole.npy").shape == (7, 3)


def test_empty_lists(program: Path) -> None:
    notes = outcome(relax_run, program, "--shape=y:0,3")[2].splitlines()
    assert "relax-run: note: output 'rows' is an empty list" in notes


def test_wrong_shapes_of_lists_are_refused_by_compile(model: Path, tmp_path: Path) -> None:
    for shapes, message in [
        ([], "--shape 'xs:[(2,3),(?,3)]')"),
        (["xs:[?]"], "input 'o' is an optional: state whether it is passed, by its shape or None"),
        (["xs:[(2,3)"], "expected a list of shapes as xs:[(2,3),(?,3)], got 'xs:[(2,3)'"),
        (["xs:[2,3]"], "expected a list of shapes as xs:[(2,3),(?,3)], got 'xs:[2,3]'"),
        (["xs:[(2,-3)]"], "'-3' in 'xs:[(2,-3)]' is no size"),
        (["xs:2,3"], "input 'xs' is a sequence: expected a list of shapes"),
        (["xs:-"], "input 'xs' is a sequence: expected a list of shapes"),
        (["xs:[]", "o:-", "y:-"], "input 'y' is not an optional: it cannot be left out"),
    ]:
        options = [f"--shape={shape}" for shape in shapes]
        assert message in refused(relax_compile, model, "-o", tmp_path / "x.rxa", *options), shapes
    assert not list(tmp_path.iterdir())


def test_wrong_lists_are_refused_by_run(program: Path, tmp_path: Path) -> None:
    numpy.save(tmp_path / "x.npy", numpy.ones((4, 3), "float32"))
    for arguments, message in [
        ([f"--input=xs={tmp_path}/x.npy"], "the function has no input 'xs'; did you mean"),
        ([f"--input=xs.1={tmp_path}/x.npy"], "input 'xs.1' (2, 3), dimension 0: expected 2, but"),
        ([f"--input=o={tmp_path}/x.npy"], "the function has no input 'o'"),
        (["--shape=xs:[(4,3)]"], "the tensors of a list are named x.0, x.1 and so on"),
    ]:
        assert message in refused(relax_run, program, *arguments)


def test_names_that_cannot_be_distinguished(tmp_path: Path) -> None:
    text = _MODEL.replace("float[k, 3] y)", "float[k, 3] y, float xs.0)").replace("xs.0", "xs_0")
    parsed = onnx.parser.parse_model(text)
    next(each for each in parsed.graph.input if each.name == "xs_0").name = "xs.0"
    rx.compile(rx.from_onnx(parsed, shapes={"xs": [None], "o": None})).save(tmp_path / "x.rxa")
    expected = "'xs.0' names an input and a tensor in a list: relax-run cannot tell them apart"
    assert expected in refused(relax_run, tmp_path / "x.rxa")
