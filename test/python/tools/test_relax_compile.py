# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-compile: outputs, refusals, and no partial files."""

from __future__ import annotations

import io
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from relax_mlir.tools.compile.progress import KernelProgress, Progress
from relax_mlir.tools.relax_compile import run

import relax_mlir as rx

onnx = pytest.importorskip("onnx")

COMMAND = [sys.executable, "-m", "relax_mlir.tools.relax_compile"]
MODULE = """
func.func @main(%x: tensor<?x4xf32, #relax.sym<["n", 4]>> {relax.name = "x"}) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
  %0 = "relax.tanh"(%x) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return %0 : tensor<?x4xf32, #relax.sym<["n", 4]>>
}
"""


def model(path: Path, *operators: str, domain: str = "") -> Path:
    """Write a model of y = operators(x + w), z = y * y, where x has n rows of 4."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    values = ["h0", *(f"h{index + 1}" for index in range(len(operators)))]
    nodes = [helper.make_node("Add", ["x", "w"], ["h0"], "plus")]
    nodes += [
        helper.make_node(operator, [before], [after], f"node {after}", domain=domain)
        for operator, before, after in zip(operators, values, values[1:], strict=False)
    ]
    nodes += [helper.make_node("Mul", [values[-1], values[-1]], ["z"], "square")]
    inputs = [helper.make_tensor_value_info("x", float32, ["n", 4]), helper.make_tensor_value_info("w", float32, [4])]
    outputs = [helper.make_tensor_value_info(name, float32, ["n", 4]) for name in ("z", values[-1])]
    graph = helper.make_graph(nodes, "graph", inputs, outputs)
    opsets = [helper.make_opsetid("", 18), *([helper.make_opsetid(domain, 1)] if domain else [])]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def outcome(*arguments: str | Path, text: str = "") -> tuple[int, str, str]:
    """Return the exit code, standard output and standard error."""
    stdin, stdout, stderr = io.StringIO(text), io.StringIO(), io.StringIO()
    code = run([str(argument) for argument in arguments], stdin, stdout, stderr)
    return code, stdout.getvalue(), stderr.getvalue()


def made(*arguments: str | Path, text: str = "") -> str:
    code, out, errors = outcome(*arguments, text=text)
    assert (code, errors) == (0, "")
    return out


def refused(*arguments: str | Path, text: str = "") -> str:
    """Return the single error of a run that must fail."""
    code, out, errors = outcome(*arguments, text=text)
    assert (code, out) == (1, "")
    assert errors.startswith("relax-compile: error: ")
    assert errors.count("error:") == 1
    assert "Traceback" not in errors
    assert "internal error" not in errors
    return errors


@pytest.fixture
def tanh(tmp_path: Path) -> Path:
    return model(tmp_path / "model.onnx", "Tanh")


def test_a_start_imports_no_target() -> None:
    code = "import sys, relax_mlir.tools.compile.start; assert 'relax_mlir.targets' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_artifact_of_a_model(tanh: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.rxa"
    assert made(tanh, "-o", out) == ""
    executable = rx.runtime.load(out)
    assert [each["name"] for each in executable.signature("main")["outputs"]] == ["z", "h1"]
    x, w = numpy.linspace(-1, 1, 12, dtype="float32").reshape(3, 4), numpy.ones(4, "float32")
    z, h1 = map(numpy.from_dlpack, executable["main"](x, w))
    numpy.testing.assert_allclose(h1, numpy.tanh(x + w), rtol=1e-5)
    numpy.testing.assert_allclose(z, h1 * h1, rtol=1e-6)
    first = out.read_bytes()
    made(tanh, "-o", out, "--no-cache")
    assert out.read_bytes() == first


@pytest.mark.parametrize("level", ["-O0", "-O3", "-O=1", "--target=llvm{cpu=x86-64-v3 cores=4}"])
def test_options_of_code(level: str, tanh: Path, tmp_path: Path) -> None:
    made(tanh, "-o", tmp_path / "out.rxa", level)
    assert (tmp_path / "out.rxa").stat().st_size > 1000


def test_modules_from_files_and_from_standard_input(tmp_path: Path) -> None:
    path, out = tmp_path / "module.mlir", tmp_path / "out.rxa"
    path.write_text(MODULE)
    path.with_suffix(".mlirbc").write_bytes(rx.Module.parse(MODULE).bytecode())
    x = numpy.linspace(-2, 2, 12, dtype="float32").reshape(3, 4)
    # The code is not the same, because errors and profiles name locations in a file.
    for source, text in ((path, ""), ("-", MODULE), (path.with_suffix(".mlirbc"), "")):
        made(source, "-o", out, text=text)
        numpy.testing.assert_allclose(rx.runtime.load(out)["main"](x), numpy.tanh(x), rtol=1e-6)
        out.unlink()


@pytest.mark.parametrize(
    ("emit", "expected"),
    [("relax", '"relax.tanh"'), ("tir", '"relax.call_tir"'), ("llvm", "llvm.func @__tvm_ffi_main")],
)
def test_text_can_be_read_again(emit: str, expected: str, tanh: Path, tmp_path: Path) -> None:
    text = made(tanh, f"--emit={emit}")
    assert expected in text
    rx.Module.parse(text)
    made(tanh, f"--emit={emit}", "-o", tmp_path / "out.mlir")
    assert (tmp_path / "out.mlir").read_text() == text


def test_a_size_that_can_only_be_one_number_is_a_warning(tmp_path: Path) -> None:
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    shape = onnx.numpy_helper.from_array(numpy.array([1, 4]), "shape")
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"], "to_one_row")]
    x, y = (helper.make_tensor_value_info(*each) for each in (("x", float32, ["n", 4]), ("y", float32, [1, 4])))
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y], [shape])), path)
    for _ in range(2):  # the second time, too: such a program is not taken from the cache
        code, _, errors = outcome(path, "-o", tmp_path / "out.rxa", "--cache-dir", tmp_path / "cache")
        assert code == 0 and errors.count("\n") == 1
        assert errors.startswith("relax-compile: warning: \"to_one_row\": 'relax.reshape' op needs 4*n = 4: ")
    assert made(path, "--emit=relax", "--bind=n:1")


def test_libraries_print_nothing(tmp_path: Path) -> None:
    """Check that libraries print nothing in any process: neither numpy about infinite or NaN constants, nor its
    libraries."""
    helper, number = onnx.helper, onnx.numpy_helper.from_array
    numbers = {"zero": 0.0, "one": 1.0, "big": 1e38, "minus": -2.0, "half": 0.5}
    made_of = [
        ("Div", "one", "zero"),
        ("Mul", "big", "big"),
        ("Pow", "minus", "half"),
        ("Log", "minus"),
        ("Exp", "big"),
    ]
    nodes = [helper.make_node(op, inputs, [f"{op}_of"]) for op, *inputs in made_of]
    nodes += [helper.make_node("Cast", ["Div_of"], ["whole"], to=onnx.TensorProto.INT32)]
    nodes += [helper.make_node("Cast", ["whole"], ["whole_of"], to=onnx.TensorProto.FLOAT)]
    summed = ["x", "whole_of", *(f"{op}_of" for op, *_ in made_of)]
    nodes += [helper.make_node("Sum", summed, ["sum"]), helper.make_node("Softmax", ["sum"], ["y"])]
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 4]) for name in ("x", "y"))
    constants = [number(numpy.array(value, "float32"), name) for name, value in numbers.items()]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y], constants)), tmp_path / "model.onnx")
    command = [*COMMAND, "model.onnx", "-o", "out.rxa", "--no-cache"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_assembly(tanh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    assert "__tvm_ffi_main:" in made(tanh, "--emit=asm")
    assert "\tret\n" in made(tanh, "--emit=asm", "--target=llvm{triple=aarch64-linux-gnu cores=4}")
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    assert "assembly needs llvmlite: pip install relax-mlir[cross]" in refused(tanh, "--emit=asm")


def test_an_object_file(tanh: Path, tmp_path: Path) -> None:
    made(tanh, "--emit=obj", "-o", tmp_path / "out.o")
    assert (tmp_path / "out.o").read_bytes().startswith(b"\x7fELF")


def test_kernels_of_a_device_are_shown_and_not_left_behind(tanh: Path, tmp_path: Path) -> None:
    assert ".visible .entry" in made(tanh, "--target=cuda", "--emit=asm")
    path = tmp_path / "m.o"
    problem = refused(tanh, "--target=cuda", "--emit=obj", "-o", path)
    assert "target 'cuda': an object file has no place for kernels" in problem
    assert not path.exists()


DECLINING = """
import relax_mlir as rx

rx.register_target(rx.Target("explained", parents=("llvm",), doc="Of a test."))


@rx.schedules.register_schedule(["elemwise", "broadcast", "injective"], target="explained")
def never(function, context):
    return context.decline("it never does")


@rx.schedules.register_schedule(operator="relax.matmul", target="explained")
def products(function, context):
    return context.decline("it is not asked")
"""


def test_schedules_are_explained(tanh: Path, tmp_path: Path) -> None:
    """Explain schedules, also for a cached program."""
    (tmp_path / "explained.py").write_text(DECLINING)
    options = ("-o", tmp_path / "out.rxa", "--target=explained", f"--load-plugin={tmp_path / 'explained.py'}")
    for _ in range(2):
        code, _, errors = outcome(tanh, *options, "--explain-schedules")
        assert code == 0
        assert "kernel" in errors and "relax.tanh" in errors and "vectorize_each (llvm/schedule.py:" in errors
        assert "never for explained (" in errors and "declined: it never does" in errors
        assert "products for explained (" in errors and "is for operator 'relax.matmul'" in errors
    code, _, errors = outcome(tanh, *options)
    assert (code, errors) == (0, "")


def test_shapes_of_inputs(tanh: Path) -> None:
    assert "%arg0: tensor<5x4xf32>" in made(tanh, "--emit=relax", "--shape", "x:5,4")
    text = made(tanh, "--emit=relax", "--shape=x:rows,4", "--shape=w:?")
    assert '#relax.sym<["rows", 4]>' in text
    assert "%arg1: tensor<?xf32" in text


def test_ir_after_each_stage(tanh: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "ir"
    made(tanh, "-o", tmp_path / "out.rxa", f"--save-ir-dir={folder}")
    names = sorted(path.name for path in folder.iterdir())
    assert names == [f"{index:02}-{name}.mlir" for index, name in enumerate(["import", *rx.stages().names])]
    rx.Module.from_file(folder / names[2])


def test_each_stage_is_reported_when_it_ends(tanh: Path, tmp_path: Path) -> None:
    code, out, errors = outcome(tanh, "-o", tmp_path / "out.rxa", "-v", "--no-cache")
    assert (code, out) == (0, "")
    rows = [line.split()[0] for line in errors.splitlines()]
    assert rows == ["import", "check", *rx.stages().names, "code", "write", "machine", "total"]
    stream = io.StringIO()
    progress = Progress(stream, verbose=True)
    with progress.step("first"):
        assert stream.getvalue() == ""
    with pytest.raises(RuntimeError), progress.step("second"):
        assert re.fullmatch(r"first +\d+\.\d{3} s\n", stream.getvalue())
        raise RuntimeError
    assert re.search(r"^second +\d+\.\d{3} failed$", stream.getvalue(), re.MULTILINE)


@pytest.mark.parametrize(("options", "cores"), [("", 4), (" cores=1", 1)])
def test_verbose_output_states_the_assumed_machine(options: str, cores: int, tanh: Path, tmp_path: Path) -> None:
    target = f"--target=llvm{{cpu=x86-64-v3{options}}}"
    code, _, errors = outcome(tanh, "-o", tmp_path / "out.mlir", "-v", "--no-cache", "--emit=llvm", target)
    assert code == 0
    assert re.search(rf"^machine +x86_64, vectors of 32 bytes, caches 32K,512K, cores {cores}$", errors, re.MULTILINE)


@pytest.mark.parametrize(("options", "count"), [([], 0), (["-v"], 1)])
def test_stages_that_take_long_are_reported_with_v(
    options: list[str], count: int, tanh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr("relax_mlir.tools.compile.driver.tell_long_stages", lambda: asked.append(1))
    assert outcome(tanh, "-o", tmp_path / "out.rxa", "--no-cache", *options)[0] == 0
    assert len(asked) == count


def test_the_kernels_under_way_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    announced: list[str] = []
    monkeypatch.setattr("relax_mlir.tools.compile.progress.announce", announced.append)
    kernels = KernelProgress(Progress(io.StringIO()))
    kernels.code_made("found", 1, 4)
    kernels.code_begun("first")
    kernels.code_begun("")
    kernels.code_made("also found", 2, 4)
    kernels.code_made("first", 2, 4)
    kernels.code_made("", 3, 4)
    assert announced == [
        "compiling first",
        "compiling first, the graph's functions",
        "compiling the graph's functions",
        "in stage code",
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_terminals_only() -> None:
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        progress = Progress(stream)
        progress.count = 2
        for name in ("first", "second"):
            with progress.step(name):
                pass
        assert re.findall(r"\d/2 \w+", stream.getvalue()) == (["1/2 first", "2/2 second"] if shown else [])
        assert stream.getvalue().endswith("\r\x1b[K" if shown else "")


def test_nodes_that_cannot_be_imported_are_listed(tanh: Path, tmp_path: Path) -> None:
    bad = model(tmp_path / "bad.onnx", "Foo", "Foo", domain="my.domain")
    assert made(tanh, "--check") == f"{tanh}: all nodes can be imported\n"
    code, out, errors = outcome(bad, "--check")
    assert (code, errors) == (1, "")
    assert len(out.splitlines()) == 2
    assert out.splitlines()[1].startswith("my.domain.Foo  1")
    assert "cannot be imported" in refused(bad, "-o", tmp_path / "out.rxa")
    assert not (tmp_path / "out.rxa").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected one input file, model.onnx, model.pt2 or module.mlir, got none"),
        (["a.onnx", "b.onnx"], "got a.onnx, b.onnx"),
        (["M", "-o", "x", "--opt-levl=2"], "unknown option '--opt-levl=2'; did you mean '-O2'?"),
        (["M", "-o", "x", "--opt_level", "3"], "unknown option '--opt_level'; did you mean '-O'?"),
        (["M", "-o", "x", "--emitt=obj"], "unknown option '--emitt=obj'; did you mean 'emit'?"),
        (
            ["M", "--emit=object"],
            "expects one of relax, partition-input, tir, schedules, llvm, ll, asm, obj, artifact, source, got 'object'",
        ),
        (["-"], "--emit=artifact needs a file to write: -o <file>"),
        (["M", "-o", "-"], "--emit=artifact needs a file to write: -o <file>"),
        (["M", "--emit=obj", "-o", "-"], "--emit=obj needs a file to write"),
        (["M", "-o"], "option -o needs a value: -o <file>"),
        (["M", "-o", "x", "-O4"], "option -O expects 0 to 3, got 4"),
        (["M", "-o", "x", "-Of"], "option -O expects a number from 0 to 2147483647, got 'f'"),
        (["M", "-o", "x", "-v=2"], "option -v expects true or false, got '2'"),
        (["M", "-o", "x", "--target=lvm"], "'lvm'"),
        (["M", "-o", "x", "--target=llvm{cpu=hazwell}"], "hazwell"),
        (["M", "-o", "x", "--shape=x"], "option --shape expects input:size,size,..., got 'x'"),
        (["M", "-o", "x", "--shape=x:1,-4"], "option --shape: '-4' in 'x:1,-4' is no size"),
        (["M", "-o", "x", "--shape=x:1", "--shape=x:2"], "option --shape: input 'x' is given twice"),
        (["M", "-o", "x", "--shape=y:1,4"], "the model has no input 'y' (it has x, w)"),
        (["M", "-o", "x", "--shape=x:1"], "input 'x' has 2 dimensions"),
        (["M", "-o", "x", "--shape=x:n,5"], "cannot be imported"),
        (["M", "-o", "none/x"], "cannot write output file 'none/x': there is no folder"),
        (["M", "-o", "."], "cannot write output file '.': it is a folder"),
        (["M", "-o", "x", "--save-ir-dir=M"], "--save-ir-dir: cannot make folder"),
        (["none.onnx", "-o", "x"], "cannot read none.onnx: No such file or directory"),
        (["none.mlir", "-o", "x"], "cannot read none.mlir: No such file or directory"),
        (["none.txt", "-o", "x"], "cannot tell what 'none.txt' is by its name"),
        (["junk.onnx", "-o", "x"], "not an ONNX model: its protobuf is malformed or truncated"),
        (["model.rxa"], "model.rxa is a compiled program: relax-run runs it"),
        (["-", "-o", "x", "--shape=x:1"], "--shape is for ONNX models"),
        (["-", "--check"], "--check is for models: what a module holds needs no import"),
        (["-", "-o", "x"], "<stdin>:2:1: "),
        (["M", "-o", "x", "--load-plugin=no_such_module"], "no_such_module"),
    ],
)
def test_errors(
    arguments: list[str], message: str, tanh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("junk.onnx").write_bytes(b"\xff\xfe\x00 junk")
    before = sorted(os.listdir())
    errors = refused(
        *("model.onnx" if each == "M" else each.replace("=M", "=model.onnx") for each in arguments), text="\nfunk"
    )
    assert message in errors
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(("options", "name"), [([], "model.rxa"), (["--emit=obj"], "model.o")])
def test_without_a_name_the_output_is_named_after_the_input(
    options: list[str], name: str, tanh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for _ in range(2):  # the second time it comes from the cache
        assert outcome(tanh, *options, "--cache-dir", tmp_path / "cache") == (
            0,
            "",
            f"relax-compile: note: written to {name}; -o names another file\n",
        )
        assert os.listdir() == [name]
    assert made(tanh, *options, "-o", "other") == ""


@pytest.mark.parametrize("first", ["", "\n"])
def test_errors_of_stages_name_the_file(first: str, tmp_path: Path) -> None:
    text = f"{first}func.func @main(%x: index) -> index {{\n  return %x : index\n}}\n"
    path = tmp_path / "module.mlir"
    path.write_text(text)
    line = 1 + len(first)
    assert refused(path, "-o", tmp_path / "x").startswith(f"relax-compile: error: {path}:{line}:1: @main ")
    assert refused("-", "-o", tmp_path / "x", text=text).startswith(f"relax-compile: error: <stdin>:{line}:1: @main ")


def test_a_traceback_where_it_is_wanted() -> None:
    code, _, errors = outcome("none.onnx", "-o", "x", "--traceback")
    assert code == 1
    assert "Traceback (most recent call last)" in errors


def test_information() -> None:
    assert made("--version").startswith(f"relax-mlir {rx.__version__} (MLIR bindings: ")
    text = made("--help")
    for option in ("-o <file>", "-O<0..3>", "--emit=", "--shape=", "--save-ir-dir=", "--check", "--load-plugin="):
        assert option in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_process_writes_the_program_silently(tanh: Path, tmp_path: Path) -> None:
    done = subprocess.run([*COMMAND, tanh, "-o", tmp_path / "out.rxa"], capture_output=True, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    done = subprocess.run([*COMMAND, tanh, "-o", "/dev/null"], capture_output=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, b"")
    assert not os.path.isfile("/dev/null")


@pytest.mark.slow
def test_progress_on_a_real_terminal(tanh: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        done = subprocess.run([*COMMAND, tanh, "-o", tmp_path / "out.rxa", "--no-cache"], stderr=theirs, timeout=600)
        os.close(theirs)
        text = terminal.read(100_000).decode()
    assert done.returncode == 0
    assert f"1/{len(rx.stages().names) + 4} import" in text


WAITS = '''
"""A target whose only stage takes its time."""
import sys, time
from dataclasses import dataclass
import relax_mlir as rx

@rx.register_pass
@dataclass(frozen=True)
class Wait(rx.Pass):
    """Waits."""
    name = "wait"

    def run(self, op):
        print("waiting", file=sys.stderr, flush=True)
        time.sleep(9**9)

class Waiting(rx.Backend):
    def machine(self, target):
        return rx.find_backend("llvm").machine(target)

    def stages(self, target):
        return (rx.Stage("wait", (Wait(),)),)

    def build(self, module, target, options):
        raise AssertionError("the wait is too long")

rx.register_target(rx.Target("slow", parents=("llvm",), backend=Waiting, doc="Takes its time."))
'''


def test_interruption_leaves_nothing(tanh: Path, tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(WAITS)
    out = tmp_path / "out.rxa"
    out.write_text("old")
    process = subprocess.Popen(
        [*COMMAND, tanh, "-o", out, "--load-plugin=waits", "--target=slow"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == b"waiting\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert (process.returncode, errors) == (130, b"relax-compile: error: interrupted\n")
    assert out.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == {"waits.py", "out.rxa", "model.onnx"}


def test_the_operators_that_are_known() -> None:
    lines = made("--list-onnx-operators").splitlines()
    rows = [line.split() for line in lines]
    assert ["Softmax", "13"] in [row[:2] for row in rows]
    assert any(row[0] == "com.microsoft.MatMulNBits" for row in rows)
    names = {row[0] for row in rows}
    schemas = {each.name for each in onnx.defs.get_all_schemas() if each.domain == "" and not each.has_function}
    # Strings, images, and attributes of operators of other domains.
    assert len(schemas - names) < 0.1 * len(schemas), sorted(schemas - names)


def test_limits_of_what_a_model_may_become(tmp_path: Path) -> None:
    path = model(tmp_path / "model.onnx", "Exp", "Neg")
    code, _, errors = outcome(path, "--emit", "relax", "--most-nodes", "3")
    assert code == 1 and "the model has 4 nodes" in errors and "--most-nodes raise the limit" in errors
    code, _, errors = outcome(path, "--check", "--most-nodes", "3")
    assert code == 1 and "the model has 4 nodes" in errors
    assert "relax.exp" in made(path, "--emit", "relax", "--most-nodes", "4", "--most-growth", "1")
    code, _, errors = outcome(path, "--emit", "relax", "--most-growth", "0")
    assert code == 1 and "most_growth must be an integer of at least 1, got 0" in errors
