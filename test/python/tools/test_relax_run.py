# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-run: inputs from files and at random, outputs in files, times, comparison, errors."""

from __future__ import annotations

import io
import itertools
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy
import pytest
import tvm_ffi
from noise import without_noise
from relax_mlir.runtime.noise import percentile
from relax_mlir.tools.relax_run import run
from relax_mlir.tools.run import compare, driver
from relax_mlir.tools.run.inputs import random_array
from relax_mlir.tools.run.outputs import write_folder
from relax_mlir.tools.run.timing import time_in_turns, times_against, times_text

import relax_mlir as rx

COMMAND = [sys.executable, "-m", "relax_mlir.tools.relax_run"]
ROWS, VECTOR = 'tensor<?x4xf32, #relax.sym<["n", 4]>>', 'tensor<?xf32, #relax.sym<["n"]>>'
LONGER, SUM = 'tensor<?xf32, #relax.sym<["2*n + 1"]>>', 'tensor<?xf32, #relax.sym<["3*n + 1"]>>'
INDICES, TAKEN = 'tensor<?xi64, #relax.sym<["k"]>>', 'tensor<?x2xf32, #relax.sym<["k", 2]>>'
PROGRAM = f"""
func.func @main(%x: {ROWS} {{relax.name = "x"}}, %w: tensor<4xf32> {{relax.name = "w"}}) -> ({ROWS}, {ROWS})
    attributes {{relax.result_names = ["s/um", "y"]}} {{
  %0 = "relax.add"(%x, %w) : ({ROWS}, tensor<4xf32>) -> {ROWS}
  %1 = "relax.tanh"(%0) : ({ROWS}) -> {ROWS}
  return %0, %1 : {ROWS}, {ROWS}
}}
func.func @longer(%a: {VECTOR} {{relax.name = "a"}}, %b: {LONGER} {{relax.name = "b"}}) -> {SUM} {{
  %0 = "relax.concat"(%a, %b) {{axis = 0}} : ({VECTOR}, {LONGER}) -> {SUM}
  return %0 : {SUM}
}}
func.func @rows(%t: tensor<3x2xf32> {{relax.name = "t"}}, %i: {INDICES} {{relax.name = "i"}}) -> {TAKEN} {{
  %0 = "relax.take"(%t, %i) {{axis = 0}} : (tensor<3x2xf32>, {INDICES}) -> {TAKEN}
  return %0 : {TAKEN}
}}
func.func @small(%q: tensor<5xi4> {{relax.name = "q"}}, %h: tensor<2xbf16> {{relax.name = "h"}})
    -> (tensor<5xi4>, tensor<2xbf16>) {{
  return %q, %h : tensor<5xi4>, tensor<2xbf16>
}}
func.func @nothing() {{
  return
}}
func.func @scale(%k: i64 {{relax.name = "k"}}, %x: tensor<2xi64> {{relax.name = "x"}}) -> tensor<2xi64> {{
  %0 = "relax.call_packed"(%x, %k) {{func = "test_relax_run.scale"}} : (tensor<2xi64>, i64) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}}
func.func @positions(%x: tensor<4xf32> {{relax.name = "x"}}) -> tensor<?x?xi64> {{
  %0 = "relax.nonzero"(%x) : (tensor<4xf32>) -> tensor<?x?xi64>
  return %0 : tensor<?x?xi64>
}}
"""


@tvm_ffi.register_global_func("test_relax_run.scale", override=True)
def scale(x: Any, k: int) -> Any:
    return rx.runtime.tensor(numpy.from_dlpack(x) * k)


def outcome(*arguments: str | Path) -> tuple[int, str, str]:
    """Return the exit code, standard output and standard error."""
    stdout, stderr = io.StringIO(), io.StringIO()
    code = run([str(argument) for argument in arguments], io.StringIO(), stdout, stderr)
    return code, stdout.getvalue(), without_noise(stderr.getvalue())


def shown(*arguments: str | Path) -> str:
    code, out, errors = outcome(*arguments)
    assert (code, errors) == (0, "")
    return out


def refused(*arguments: str | Path) -> str:
    """Return the single error of a run that must fail. Notes may come before it."""
    code, out, errors = outcome(*arguments)
    assert (code, out) == (1, "")
    *notes, error = errors.splitlines()
    assert all(note.startswith("relax-run: note: ") for note in notes)
    assert error.startswith("relax-run: error: ")
    assert "internal error" not in error
    return error


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("program") / "program.rxa"
    rx.compile(rx.Module.parse(PROGRAM)).save(path)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder with inputs of main: x.npy, w.npy and both in both.npz."""
    monkeypatch.chdir(tmp_path)
    x, w = numpy.linspace(-1, 1, 12, dtype="float32").reshape(3, 4), numpy.array([1, 2, 3, 4], "float32")
    numpy.save("x.npy", x)
    numpy.save("w.npy", w)
    numpy.savez("both.npz", x=x, w=w)
    return tmp_path


def test_inputs_from_files(program: Path, folder: Path) -> None:
    out = shown(program, "--input", "x=x.npy", "--input=w=w.npy", "--output", "out.npz")
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["output", "dtype", "shape", "min", "max", "mean"]
    assert rows[1] == ["s/um", "float32", "(3,", "4)", "0", "5", "2.5"]
    first = Path("out.npz").read_bytes()
    with numpy.load("out.npz") as outputs:
        assert outputs.files == ["s/um", "y"]
        expected = numpy.load("x.npy") + numpy.load("w.npy")
        assert (outputs["s/um"] == expected).all()
        numpy.testing.assert_allclose(outputs["y"], numpy.tanh(expected), rtol=1e-5)
    assert shown(program, "--input=both.npz", "--output=out.npz") == out
    assert Path("out.npz").read_bytes() == first


def test_a_file_for_each_output(program: Path, folder: Path) -> None:
    shown(program, "--input=both.npz", "--output-dir=a/b")
    assert sorted(path.name for path in Path("a/b").iterdir()) == ["s_um.npy", "y.npy"]
    assert numpy.load("a/b/y.npy").shape == (3, 4)


def test_other_memory_orders(program: Path, folder: Path) -> None:
    numpy.save("columns.npy", numpy.asfortranarray(numpy.load("x.npy")))
    numpy.save("swapped.npy", numpy.load("x.npy").astype(">f4"))
    texts = [shown(program, f"--input=x={name}.npy", "--input=w=w.npy") for name in ("x", "columns", "swapped")]
    assert texts[0] == texts[1] == texts[2]


def test_random_inputs(program: Path) -> None:
    first = shown(program, "--shape=x:5,4")
    assert shown(program, "--shape", "x:5,4", "--random=0") == first
    assert shown(program, "--shape=x:5,4", "--random=1") != first
    code, _, errors = outcome(program)
    said = "size n is taken to be 1, as no input given here has it: --shape=x:<n>,4 says another one"
    assert (code, errors) == (0, f"relax-run: note: {said}\n")


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int64", "int4", "uint2", "int2", "float16", "bfloat16", "float8_e4m3fn", "float64"]
)
def test_random_numbers_of_types(dtype: str) -> None:
    array = random_array(dtype, (1000,), [1, 0])
    assert array.dtype.name == dtype
    assert (array == random_array(dtype, (1000,), [1, 0])).all()
    numbers = array.astype("float64")
    assert len(set(numbers)) > 1
    assert numpy.abs(numbers).max() < 10
    assert numbers.min() >= 0 or "float" in dtype


def test_missing_sizes_follow_from_inputs_and_shapes(program: Path, folder: Path) -> None:
    numpy.save("a.npy", numpy.ones(4, "float32"))
    assert "(13,)" in shown(program, "--function=longer", "--input=a=a.npy")
    assert "(7,)" in shown(program, "--function=longer", "--shape=a:2")
    assert "(4,)" in outcome(program, "--function=longer")[1]
    assert "ValueError: longer: argument #1 'b'" in refused(program, "--function=longer", "--shape=a:2", "--shape=b:9")


def test_element_types_that_numpy_lacks(program: Path, folder: Path) -> None:
    q, h = numpy.array([1, -2, 3, -4, 7]).astype(ml_dtypes.int4), numpy.array([1.5, -2]).astype(ml_dtypes.bfloat16)
    numpy.save("q.npy", q)
    numpy.save("h.npy", h)
    out = shown(program, "--function=small", "--input=q=q.npy", "--input=h=h.npy", "--output=out.npz")
    assert [line.split()[:2] for line in out.splitlines()[1:]] == [["result0", "int4"], ["result1", "bfloat16"]]
    with numpy.load("out.npz") as outputs:
        assert (outputs["result0"].view(ml_dtypes.int4) == q).all()
        assert (outputs["result1"].view(ml_dtypes.bfloat16) == h).all()
    shown(program, "--function=small")


def test_scalars(program: Path, folder: Path) -> None:
    numpy.save("k.npy", numpy.array(7))
    numpy.save("x.npy", numpy.array([1, 2]))
    for k in ("7", "k.npy"):
        out = shown(program, "--function=scale", f"--input=k={k}", "--input=x=x.npy", "--print", "--output=r.npy")
        assert out.endswith("result0 =\n[ 7 14]\n")
    assert list(numpy.load("r.npy")) == [7, 14]
    shown(program, "--function=scale")


def test_sizes_that_the_data_decide(program: Path, folder: Path) -> None:
    numpy.save("x.npy", numpy.array([0, 1, 0, 2], "float32"))
    assert "result0 =\n[[1 3]]\n" in shown(program, "--function=positions", "--input=x=x.npy", "--print")
    numpy.save("x.npy", numpy.zeros(4, "float32"))
    assert "(1, 0)  -    -    -" in shown(program, "--function=positions", "--input=x=x.npy")


def test_a_function_without_results(program: Path) -> None:
    assert shown(program, "--function=nothing") == "output  dtype  shape  min  max  mean\n"


def test_benchmark(program: Path) -> None:
    out = shown(program, "--shape=x:5,4", "--benchmark", "--repeat=20", "--warmup=0")
    number = r"\d+\.\d\d"
    pattern = f"20 calls: median {number}, p90 {number}, p99 {number}, min {number} (us|ms)"
    assert re.fullmatch(pattern, out.splitlines()[-1])


def test_noise_is_reported(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "time_in_turns", lambda calls, **counts: [sorted([1e-3] * 8 + [3e-3] * 2)])
    stderr = io.StringIO()
    assert run([str(program), "--shape=x:5,4", "--benchmark"], io.StringIO(), io.StringIO(), stderr) == 0
    assert stderr.getvalue().startswith(
        "relax-run: note: the times scatter, one call in ten takes 3.0 times the median"
    )


def test_several_are_timed_in_turns() -> None:
    calls: list[str] = []
    one, other = time_in_turns([lambda: calls.append("a"), lambda: calls.append("b")], repeat=12, warmup=3)
    assert (len(one), len(other), one) == (12, 12, sorted(one))
    turns = [len(list(group)) for _, group in itertools.groupby(calls)]
    assert turns == [5, 5, 3, 3, 4, 4, 3, 3, 4, 4] and calls[:6] == [*"aaaaa", "b"]
    calls.clear()
    time_in_turns([lambda: calls.append("a")], repeat=3, warmup=2)
    assert calls == ["a"] * 5


def test_percentiles() -> None:
    seconds = [index / 1000 for index in range(1, 101)]
    assert [percentile(seconds, share) for share in (50, 90, 99)] == [0.05, 0.09, 0.099]
    assert times_text(seconds) == "100 calls: median 50.00, p90 90.00, p99 99.00, min 1.00 ms\n"
    text = times_against(seconds, [2 * each for each in seconds], "onnxruntime", 2)
    assert text.splitlines()[1].startswith("onnxruntime: 100 calls: median 100.00,")
    assert text.endswith("\n0.50 of onnxruntime's time, by medians of calls in turns, both on 2 threads\n")
    assert times_text([2e-6]) == "1 call: median 2.00, p90 2.00, p99 2.00, min 2.00 us\n"


def model(path: Path, operator: str) -> Path:
    """Write main of the program in ONNX, with another function in place of tanh."""
    onnx = pytest.importorskip("onnx")
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [helper.make_node("Add", ["x", "w"], ["s/um"]), helper.make_node(operator, ["s/um"], ["y"])]
    inputs = [helper.make_tensor_value_info("x", float32, ["n", 4]), helper.make_tensor_value_info("w", float32, [4])]
    outputs = [helper.make_tensor_value_info(name, float32, ["n", 4]) for name in ("y", "s/um")]
    graph = helper.make_graph(nodes, "graph", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def test_comparison_with_onnxruntime(program: Path, folder: Path) -> None:
    pytest.importorskip("onnxruntime")
    same, other = model(folder / "same.onnx", "Tanh"), model(folder / "other.onnx", "Sigmoid")
    out = shown(program, "--input=both.npz", "--compare", same)
    assert [line.split()[0] for line in out.splitlines()[4:]] == ["s/um", "y"]
    assert out.count("close") == 2 and "but" not in out, "inputs from files are no random ones"
    code, out, errors = outcome(program, "--input=both.npz", "--compare", other)
    assert (code, errors) == (1, "")
    assert re.search(r"differs, most at \[\d+(, \d+)*\]: \S+ instead of \S+$", out.splitlines()[-1])
    assert outcome(program, "--input=both.npz", "--compare", other, "--tolerance=2")[0] == 0
    _, _, errors = outcome(program, "--input=both.npz", "--compare", "x.npy")
    assert errors.startswith("relax-run: error: cannot tell what 'x.npy' is by its name")


def test_random_inputs_that_the_program_refuses_are_no_reason_to_fail(
    program: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse inputs of the next seed: they only serve to see whether the outputs change."""
    pytest.importorskip("onnxruntime")
    original = driver.make_inputs

    def refusing(signature: Any, given: Any, shapes: Any, seed: int) -> Any:
        if seed == 1:
            raise rx.RelaxError("none of these")
        return original(signature, given, shapes, seed)

    monkeypatch.setattr(driver, "make_inputs", refusing)
    out = shown(program, "--shape=x:5,4", "--compare", model(folder / "same.onnx", "Tanh"))
    assert out.count("close") == 2 and "but" not in out


def test_times_against_onnxruntime(program: Path, folder: Path) -> None:
    pytest.importorskip("onnxruntime")
    same = model(folder / "same.onnx", "Tanh")
    out = shown(program, "--input=both.npz", "--compare", same, "--benchmark", "--repeat=10", "--threads=1")
    ours, theirs, share = out.splitlines()[3:6]
    assert ours.startswith("this program: 10 calls: median ") and theirs.startswith("onnxruntime: 10 calls: median ")
    assert re.fullmatch(r"\d+\.\d\d of onnxruntime's time, by medians of calls in turns, both on 1 thread", share)
    assert out.count("close") == 2


def test_outputs_that_are_the_same_for_other_inputs() -> None:
    """Doubt a comparison of outputs that ignore the inputs, except for integers such as classes."""
    ours, moved = {"y": numpy.float32([1, 2])}, {"y": numpy.float32([1.1, 2])}
    found = compare.difference("y", ours["y"], ours["y"], 1e-4)
    assert compare.with_doubt(found, ours, moved, 1e-4) is found is compare.with_doubt(found, ours, {}, 1e-4)
    doubted = compare.with_doubt(found, ours, {"y": ours["y"].copy()}, 1e-4)
    assert "close, but it is the same for other random inputs" in compare.report([doubted])
    whole = {"y": numpy.int64([3])}
    found = compare.difference("y", whole["y"], whole["y"], 1e-4)
    assert compare.with_doubt(found, whole, whole, 1e-4) is found


def test_differences_are_compared_with_the_tolerance() -> None:
    ours = numpy.array([1, numpy.nan, numpy.inf, 0], "float32")
    assert compare.difference("y", ours, ours.copy(), 0) == compare.Difference(
        "y", 0.0, 0.0, True, worst="at [0]: 1 instead of 1"
    )
    for index, value in ((0, 2), (1, 3), (2, -numpy.inf), (2, 1e38), (3, numpy.nan)):
        theirs = ours.copy()
        theirs[index] = value
        assert not compare.difference("y", ours, theirs, 0.1).is_close
        assert not compare.difference("y", theirs, ours, 0.1).is_close
    far = compare.difference("y", numpy.float32([1, 2]), numpy.float32([1, numpy.nan]), 0.1)
    assert far == compare.Difference("y", numpy.inf, numpy.inf, worst="at [1]: 2 instead of nan"), (
        "NaN next to a number is as far as can be"
    )
    assert compare.difference("y", ours, ours[:3], 1).reason == "ours is float32 (4,), the model's is float32 (3,)"
    assert compare.difference("y", ours, ours.astype("float64"), 1).reason
    assert compare.difference("y", ours[:0], ours[:0], 1).is_close


def test_a_comparison_that_cannot_fail_states_the_reason() -> None:
    small = numpy.array([3e-6, -2e-7, 0], "float32")
    for ours in (small, numpy.zeros_like(small)):
        found = compare.difference("y", ours, small, 1e-4)
        assert found.is_close
        assert (
            compare.report([found])
            .rstrip()
            .endswith("close, but nothing in it is above the tolerance, zeros would be as close: --tolerance=3e-09")
        )
    assert compare.difference("y", small, small, 3e-9).doubt == ""
    assert compare.difference("y", 0 * small, 0 * small, 1e-4).doubt == "all of it is 0"
    assert compare.difference("y", small[:0], small[:0], 1e-4).doubt == "it is empty"
    assert compare.difference("y", numpy.int32([0, 1]), numpy.int32([0, 1]), 1e-4).doubt == ""
    assert "but" not in compare.report([compare.difference("y", small + 1, small + 1, 1e-4)])


def test_a_model_is_run_by_the_reference(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(PROGRAM)
    x = random_array("float32", (3, 4), [0])
    numpy.savez(tmp_path / "in.npz", x=x, w=x[0])
    out = shown(tmp_path / "m.mlir", "--reference", "--input", tmp_path / "in.npz", "--output", tmp_path / "out.npz")
    assert out.startswith("output  dtype    shape ")
    found = numpy.load(tmp_path / "out.npz")
    numpy.testing.assert_allclose(found["y"], numpy.tanh(x + x[0]), rtol=1e-6)
    assert "median" in shown(tmp_path / "m.mlir", "--reference", "--shape=x:1,4", "--benchmark", "--repeat=2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["P", "--inpt=x=x.npy"], "unknown option '--inpt=x=x.npy'; did you mean 'input'?"),
        (["P", "P"], "expected one program"),
        (["m.onnx"], "m.onnx is a model, no program: relax-compile m.onnx makes one of it, --reference runs it"),
        (["P", "--reference"], "--reference runs a model (.onnx, .pb, "),
        (["m.onnx", "--reference", "--sha256=00"], "--reference and --sha256 exclude each other"),
        (["m.onnx", "--reference"], "m.onnx: "),
        (["none.rxa"], "none.rxa: cannot be read: No such file or directory"),
        (["x.npy"], "x.npy: not an artifact"),
        (["P", "--function=mian"], "no function 'mian' in this executable; there are main, "),
        (["P", "--input=X=x.npy"], "--input: the function has no input 'X'; did you mean 'x'? (it has x, w)"),
        (["P", "--input=x.npy"], "option --input expects name=file.npy or file.npz, got 'x.npy'"),
        (["P", "--input=x=none.npy"], "cannot read 'none.npy': No such file or directory"),
        (["P", "--input=x=junk.npy"], "cannot read 'junk.npy': no .npy or .npz file"),
        (["P", "--input=junk.npz"], "cannot read 'junk.npz': no .npy or .npz file"),
        (["P", "--input=x=both.npz"], "'both.npz' holds several arrays by their names: --input both.npz"),
        (["P", "--input=x=x.npy", "--input=both.npz"], "--input: 'x' is given twice"),
        (["P", "--input=x=f64.npy"], "input 'x' expected elements of float32, but f64.npy has float64"),
        (["P", "--input=x=w.npy"], "input 'x' has 2 dimensions, (n, 4), but w.npy has 1: (4,)"),
        (["P", "--input=x=three.npy"], "input 'x' (n, 4), dimension 1: expected 4, but three.npy has 3: (2, 3)"),
        (["P", "--input=x=x.npy", "--shape=x:5,4"], "dimension 0: n is 5 by --shape, but 3 by x.npy"),
        (["P", "--shape=x:5"], "input 'x' has 2 dimensions, (n, 4), but --shape has 1: (5,)"),
        (["P", "--shape=x:n,4"], "option --shape: 'n' in 'x:n,4' is no size: expected a number"),
        (["P", "--shape=v:4"], "--shape: the function has no input 'v'"),
        (["P", "--shape=x:9999999999999999,4"], "an array of shape (9999999999999999, 4) is too large"),
        (["P", "--function=scale", "--input=k=seven"], "'k' is a scalar: expected a number or a file"),
        (["P", "--function=scale", "--input=k=x.npy"], "input 'k' is a scalar, but x.npy has shape (3, 4)"),
        (["P", "--function=scale", "--shape=k:1"], "--shape: input 'k' is a scalar"),
        (["P", "--output=x.txt"], "option --output expects a name that ends with .npz or .npy, got 'x.txt'"),
        (["P", "--output=x.npz", "--output-dir=y"], "--output and --output-dir exclude each other"),
        (["P", "--repeat=0"], "option --repeat expects at least 1"),
        (["P", "--tolerance=-1"], "option --tolerance expects a number that is not negative, got '-1'"),
        (["P", "--function=rows", "--input=i=i.npy"], "rows failed: IndexError: "),
    ],
)
def test_errors(arguments: list[str], message: str, program: Path, folder: Path) -> None:
    numpy.save("f64.npy", numpy.load("x.npy").astype("float64"))
    numpy.save("three.npy", numpy.ones((2, 3), "float32"))
    numpy.save("i.npy", numpy.array([0, 99]))
    Path("junk.npy").write_bytes(b"junk")
    Path("junk.npz").write_bytes(b"PK\x03\x04junk")
    before = sorted(os.listdir())
    assert message in refused(*(program if each == "P" else each for each in arguments))
    assert sorted(os.listdir()) == before


def test_input_files_that_are_damaged_anywhere(program: Path, folder: Path) -> None:
    """Damage input files: numpy, zipfile and zlib raise exceptions of many kinds."""
    numpy.savez_compressed("packed.npz", x=numpy.load("x.npy"))
    for name, options in (("x.npy", ["--input=x=damaged.npy"]), ("packed.npz", ["--input=damaged.npz"])):
        whole = Path(name).read_bytes()
        for place in range(0, len(whole), 3):
            changed = bytearray(whole)
            changed[place] ^= 1 << (place % 8)
            Path(f"damaged{Path(name).suffix}").write_bytes(changed)
            code, _, errors = outcome(program, *options)
            is_one_error = re.fullmatch(r"(relax-run: note: .*\n)*relax-run: error: (?!internal).*\n", errors)
            assert code == 0 or is_one_error, (place, errors)
    with zipfile.ZipFile("strange.npz", "w") as made:
        made.writestr("x", b"no array")
    assert "its 'x' is no array" in refused(program, "--input=strange.npz")


def test_outputs_of_one_file_name(tmp_path: Path) -> None:
    arrays = {name: numpy.ones(1) for name in ("a/b", "a.b", "a:b")}
    with pytest.raises(rx.RelaxError, match=r"outputs 'a/b' and 'a:b' would both be 'a_b\.npy': --output writes one"):
        write_folder(str(tmp_path / "made"), arrays)
    assert not (tmp_path / "made").exists(), "it is reported before anything is written"
    del arrays["a:b"]
    write_folder(str(tmp_path / "made"), arrays)
    assert sorted(os.listdir(tmp_path / "made")) == ["a.b.npy", "a_b.npy"]


def test_outputs_that_cannot_be_written(program: Path, folder: Path) -> None:
    for option in ("--output=none/out.npz", "--output=out.npy", "--output-dir=x.npy"):
        code, _, errors = outcome(program, "--input=both.npz", option)
        assert code == 1
        assert re.fullmatch(r"relax-run: error: .*\n", errors)


def test_information() -> None:
    assert shown("--version") == f"relax-mlir {rx.__version__}\n"
    text = shown("--help")
    for option in (
        "--function=",
        "--input=",
        "--random=",
        "--output-dir=",
        "--benchmark",
        "--compare=",
        "--tolerance=",
    ):
        assert option in text


def test_the_process_prints_the_same_as_main(program: Path, folder: Path) -> None:
    done = subprocess.run([*COMMAND, program, "--input=both.npz"], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == shown(program, "--input=both.npz")


def test_the_compiler_is_not_imported(program: Path, folder: Path) -> None:
    code = (
        "import sys; from relax_mlir.tools.relax_run import run; print('numpy' in sys.modules);"
        f"run([{str(program)!r}, '--input=both.npz', '--output=o.npz', '--benchmark']);"
        "print([name for name in sys.modules if name.endswith('mlir.ir') or 'relax_mlir.passes' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("False", "[]"), done.stderr
