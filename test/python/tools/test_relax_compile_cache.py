# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Caches of relax-compile: equal programs come from them, changed ones do not, and no partial files are left."""

from __future__ import annotations

import io
import itertools
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from installing import PACKAGE_DIR, REPOSITORY
from relax_mlir.bindings.package_files import PARTS
from relax_mlir.compilation import fingerprint
from relax_mlir.support import registry
from relax_mlir.support.disk_cache import DiskCache
from relax_mlir.tools.compile import file_hash
from relax_mlir.tools.relax_compile import run

import relax_mlir as rx

pytestmark = pytest.mark.slow

onnx = pytest.importorskip("onnx")

COMMAND = [sys.executable, "-m", "relax_mlir.tools.relax_compile"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DiskCache]:
    """Yield an empty cache in the place of the user's.

    Rules of earlier tests in this process must not count: programs with rules that have no digest are not cached.
    """
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(registry, "_FOREIGN", [])
    yield DiskCache()


def model(path: Path, operator: str = "Tanh", factor: float = 2.0, *, outside: bool = False) -> Path:
    """Write a model of y = operator(x) * weights, with weights in another file if `outside`."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    weights = onnx.numpy_helper.from_array(numpy.full((64, 64), factor, "float32"), "w")
    nodes = [helper.make_node(operator, ["x"], ["h"], "first"), helper.make_node("MatMul", ["h", "w"], ["y"], "second")]
    inputs = [helper.make_tensor_value_info("x", float32, ["n", 64])]
    outputs = [helper.make_tensor_value_info("y", float32, ["n", 64])]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, [weights])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(
        proto, path, save_as_external_data=outside, location="weights.bin", size_threshold=0, convert_attribute=False
    )
    return path


def made(*arguments: str | Path) -> str:
    """Compile with -v and return the messages."""
    stdout, stderr = io.StringIO(), io.StringIO()
    code = run([*map(str, arguments), "-v"], io.StringIO(), stdout, stderr)
    shown = stderr.getvalue()
    assert (code, stdout.getvalue()) == (0, ""), shown
    print(shown, end="")  # pytest shows it where a test fails: why something did not come from the cache
    return shown


def is_hit(*arguments: str | Path) -> bool:
    shown = made(*arguments)
    assert ("from the cache" in shown) != ("legalize" in shown)
    return "from the cache" in shown


def programs(cache: DiskCache) -> int:
    return cache.sizes().get("programs", (0, 0))[0]


def test_the_second_run_uses_the_cache(tmp_path: Path, cache: DiskCache) -> None:
    source, out, again = model(tmp_path / "model.onnx"), tmp_path / "out.rxa", tmp_path / "again.rxa"
    assert not is_hit(source, "-o", out)
    again.write_text("old")
    shown = made(source, "-o", again)
    assert re.fullmatch(rf"{re.escape(str(again))}: from the cache, \d+\.\d+ seconds\n", shown)
    assert again.read_bytes() == out.read_bytes()
    assert again.stat().st_mode == out.stat().st_mode
    assert is_hit(source, "-o", again, "--jobs=3")  # an option without an effect on the program
    copied = tmp_path / "elsewhere" / "copied.onnx"
    copied.parent.mkdir()
    copied.write_bytes(source.read_bytes())
    assert is_hit(copied, "-o", again)
    assert programs(cache) == 1
    x = numpy.ones((2, 64), "float32")
    numpy.testing.assert_allclose(
        numpy.from_dlpack(rx.runtime.load(again)["main"](x)), numpy.full((2, 64), numpy.tanh(1) * 128), rtol=1e-5
    )


@pytest.mark.parametrize(
    "options", [["-O3"], ["--shape=x:3,64"], ["--target=llvm{vector-bytes=16}"], ["--target=llvm{cpu=x86-64-v3}"]]
)
def test_other_options_make_another_program(options: list[str], tmp_path: Path, cache: DiskCache) -> None:
    source, out = model(tmp_path / "model.onnx"), tmp_path / "out.rxa"
    made(source, "-o", out)
    assert not is_hit(source, "-o", out, *options)
    assert is_hit(source, "-o", out, *options)
    assert is_hit(source, "-o", out)
    assert programs(cache) == 2


def test_a_changed_model(tmp_path: Path, cache: DiskCache) -> None:
    out = tmp_path / "out.rxa"
    made(model(tmp_path / "model.onnx"), "-o", out)
    before = out.read_bytes()
    source = model(tmp_path / "model.onnx", factor=3.0)  # of the same size
    assert not is_hit(source, "-o", out)
    assert out.read_bytes() != before
    assert is_hit(model(tmp_path / "model.onnx"), "-o", out)
    assert out.read_bytes() == before


def test_the_times_of_a_file_are_remembered_only_when_it_rests(
    tmp_path: Path, cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = model(tmp_path / "model.onnx"), tmp_path / "out.rxa"
    monkeypatch.setattr(file_hash, "_RESTLESS_NS", 10**18)  # no file has rested for so long
    made(source, "-o", out)
    assert "files" not in cache.sizes()
    monkeypatch.setattr(file_hash, "_RESTLESS_NS", -(10**18))
    assert is_hit(source, "-o", out)
    assert cache.sizes()["files"][0] == 1
    status = source.stat()
    model(source, factor=3.0)
    os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert source.stat().st_size == status.st_size
    assert not is_hit(source, "-o", out)


def test_data_in_other_files(tmp_path: Path, cache: DiskCache) -> None:
    source, out = model(tmp_path / "model.onnx", outside=True), tmp_path / "out.rxa"
    time.sleep(0.2)  # a file that changes while it is read would be no good witness
    assert not is_hit(source, "-o", out)
    before = out.read_bytes()
    assert is_hit(source, "-o", out)
    assert out.read_bytes() == before
    model(source, factor=3.0, outside=True)
    time.sleep(0.2)
    assert not is_hit(source, "-o", out)
    assert out.read_bytes() != before
    (tmp_path / "weights.bin").unlink()
    stderr = io.StringIO()
    assert run([str(source), "-o", str(out)], io.StringIO(), io.StringIO(), stderr) == 1
    assert "weights.bin" in stderr.getvalue()


def test_a_model_that_changes_while_it_is_compiled_is_not_kept(
    tmp_path: Path, cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = model(tmp_path / "model.onnx"), tmp_path / "out.rxa"
    lower = rx.Module.verify

    def change(module: Any) -> None:
        model(source, factor=3.0)
        lower(module)

    with monkeypatch.context() as patched:
        patched.setattr(rx.Module, "verify", change)
        made(source, "-o", out)
    assert programs(cache) == 0


@pytest.mark.parametrize("damage", ["flipped", "shorter", "empty", "gone"])
def test_damage_is_repaired(damage: str, tmp_path: Path, cache: DiskCache) -> None:
    source, out = model(tmp_path / "model.onnx"), tmp_path / "out.rxa"
    made(source, "-o", out)
    before = out.read_bytes()
    for path in (tmp_path / "cache").rglob("*"):
        if path.is_file() and damage == "gone":
            path.unlink()
        elif path.is_file():
            whole = path.read_bytes()
            flipped = bytes([whole[0] ^ 1]) + whole[1:]
            path.write_bytes({"flipped": flipped, "shorter": whole[:-9], "empty": b""}[damage])
    out.unlink()
    assert not is_hit(source, "-o", out)
    assert out.read_bytes() == before
    assert is_hit(source, "-o", out)
    assert out.read_bytes() == before


def test_an_output_that_is_there_is_not_written_again(tmp_path: Path, cache: DiskCache) -> None:
    source, out = model(tmp_path / "model.onnx"), tmp_path / "out.rxa"
    made(source, "-o", out)
    program, before = out.read_bytes(), out.stat()
    time.sleep(0.02)
    assert is_hit(source, "-o", out)
    assert out.stat().st_ino == before.st_ino
    assert out.stat().st_mtime_ns > before.st_mtime_ns  # for make: newer than the model, even if that was touched
    out.write_bytes(program[:-1] + bytes([program[-1] ^ 1]))  # of the same size
    assert is_hit(source, "-o", out)
    assert out.read_bytes() == program
    out.unlink()
    assert is_hit(source, "-o", out)
    assert out.read_bytes() == program
    made(source, "-o", out, "-O0")
    assert out.read_bytes() != program
    assert is_hit(source, "-o", out)
    assert out.read_bytes() == program


def test_without_a_cache(tmp_path: Path, cache: DiskCache) -> None:
    source, out = model(tmp_path / "model.onnx"), tmp_path / "out.rxa"
    made(source, "-o", out, "--no-cache")
    assert not Path(cache.folder).exists()
    made(source, "-o", out)
    assert not is_hit(source, "-o", out, "--no-cache")


def test_another_folder(tmp_path: Path, cache: DiskCache) -> None:
    source, out, folder = model(tmp_path / "model.onnx"), tmp_path / "out.rxa", f"--cache-dir={tmp_path / 'other'}"
    assert not is_hit(source, "-o", out, folder)
    assert is_hit(source, "-o", out, folder)
    assert not Path(cache.folder).exists()


def test_a_folder_that_cannot_be_written(tmp_path: Path, cache: DiskCache) -> None:
    (tmp_path / "file").write_text("")
    shown = made(model(tmp_path / "model.onnx"), "-o", tmp_path / "out.rxa", f"--cache-dir={tmp_path / 'file'}")
    note = f"nothing is kept in '{tmp_path / 'file'}': Not a directory: each start compiles anew"
    assert shown.endswith(f"relax-compile: note: {note}\n")
    assert (tmp_path / "out.rxa").exists()


def test_a_cache_that_cannot_be_written_is_told_without_being_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    command = [sys.executable, "-m", "relax_mlir.tools.relax_compile", model(tmp_path / "model.onnx"), "-o", "x.rxa"]
    found = []
    for changed in ({"RELAX_MLIR_CACHE": str(tmp_path / "file" / "inner")}, {"RELAX_MLIR_CACHE": str(tmp_path / "c")}):
        environment = {**os.environ, **changed}
        done = subprocess.run(command, cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=600)
        assert done.returncode == 0, done.stderr
        found.append(done.stderr.count("each start compiles anew"))
    assert found == [1, 0]


def test_rx_compile_warns_once_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    module = rx.Module()
    with module.function("main", [rx.tensor((3, 5))]) as f:
        f.returns(rx.relax.exp(*f))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            rx.compile(module, cache=tmp_path / "file" / "inner")
        rx.compile(module, cache=tmp_path / "other")
    assert [(each.filename, str(each.message)) for each in caught] == [
        (__file__, f"nothing is kept in '{tmp_path}/file/inner': Not a directory: each start compiles anew")
    ]


def test_write_errors_do_not_depend_on_the_cache(tmp_path: Path, cache: DiskCache) -> None:
    source = model(tmp_path / "model.onnx")
    made(source, "-o", tmp_path / "out.rxa")
    for out in (tmp_path / "none" / "out.rxa", tmp_path):
        errors = []
        for option in ("-v", "--no-cache"):
            stderr = io.StringIO()
            assert run([str(source), "-o", str(out), option], io.StringIO(), io.StringIO(), stderr) == 1
            errors.append(stderr.getvalue())
        assert errors[0] == errors[1] and "cannot write output file" in errors[0]


def test_other_things_than_programs_are_made(tmp_path: Path, cache: DiskCache) -> None:
    source, out = model(tmp_path / "model.onnx"), tmp_path / "out.rxa"
    made(source, "-o", out)
    assert not is_hit(source, "-o", tmp_path / "out.o", "--emit=obj")
    assert (tmp_path / "out.o").read_bytes().startswith(b"\x7fELF")
    assert not is_hit(source, "-o", out, f"--save-ir-dir={tmp_path / 'ir'}")
    assert len(list((tmp_path / "ir").iterdir())) == len(rx.stages().names) + 1
    assert not is_hit(source, "-o", "/dev/null")


PLUGIN = """
import helper_of_plugin
import relax_mlir as rx
"""


def test_plugins_count_by_their_files(tmp_path: Path, cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out, folder = model(tmp_path / "model.onnx"), tmp_path / "out.rxa", tmp_path / "plugins"
    (folder / "package").mkdir(parents=True)
    (folder / "plugin.py").write_text(PLUGIN)
    (folder / "helper_of_plugin.py").write_text("number = 1\n")
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "part.py").write_text("number = 1\n")
    monkeypatch.syspath_prepend(str(folder))
    made(source, "-o", out)
    for option, changed in (("plugin", "helper_of_plugin.py"), ("package.part", "package/part.py")):
        plugin = f"--load-plugin={option}"
        assert not is_hit(source, "-o", out, plugin)
        assert is_hit(source, "-o", out, plugin)
        (folder / changed).write_text("number = 12\n")
        assert not is_hit(source, "-o", out, plugin)
    assert not is_hit(source, "-o", out, "--load-plugin=json.decoder", "--load-plugin=sys")
    assert not is_hit(source, "-o", out, "--load-plugin=json.decoder", "--load-plugin=sys")  # has no files


def test_the_compiler_itself_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint.compiler_fingerprint()
    assert fingerprint.compiler_fingerprint() == before
    own = {package: folder for package, folder in PACKAGE_DIR.items() if not package.startswith("relax_mlir_")}
    assert {f"relax_mlir{part}" for part in PARTS} == set(own)
    files = list(fingerprint.own_files())
    folders = {line.removeprefix(f"{REPOSITORY}/").partition("/")[0] for line in files}
    # "plugins" has primitives. Other folders change while tests run.
    assert folders == {*own.values(), "plugins"}
    for name in ("units.py", "upstream_passes.json", "relax_compile.py", "artifact.py", "compiling.py"):
        assert any(f"/{name} " in line for line in files), name
    for name in ("cpu_identity", "host_caches", "bindings_identity"):
        with monkeypatch.context() as patched:
            patched.setattr(fingerprint, name, lambda: "another one")
            assert fingerprint.compiler_fingerprint() != before
    with monkeypatch.context() as patched:
        patched.setattr(fingerprint, "own_files", lambda: files[1:])
        assert fingerprint.compiler_fingerprint() != before


def test_information_and_clearing(tmp_path: Path, cache: DiskCache) -> None:
    def printed(option: str) -> str:
        stdout = io.StringIO()
        assert run([option], io.StringIO(), stdout, io.StringIO()) == 0
        return stdout.getvalue()

    assert printed("--cache-info") == f"{cache.folder}: 0.0 MB of at most 4295 MB\n"
    made(model(tmp_path / "model.onnx"), "-o", tmp_path / "out.rxa")
    lines = printed("--cache-info").splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        "contracts", "kernels", "model-programs", "models", "outputs", "programs", "warnings",
    ]  # fmt: skip
    assert re.fullmatch(rf"{re.escape(cache.folder)}: 0\.\d MB removed\n", printed("--clear-cache"))
    assert cache.sizes() == {}


IN_A_PROCESS = """
import sys
from relax_mlir.tools.relax_compile import run
code = run(sys.argv[1:])
print(code, sorted({name.partition(".")[0] for name in sys.modules} & {"numpy", "onnx", "mlir", "torch_mlir"}))
"""


def test_a_hit_loads_neither_mlir_nor_numpy(tmp_path: Path, cache: DiskCache) -> None:
    source, out = model(tmp_path / "model.onnx"), tmp_path / "out.rxa"
    made(source, "-o", out)
    command = [sys.executable, "-c", IN_A_PROCESS, source, "-o", out]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout == "0 []\n"


def test_a_hit_takes_a_part_of_the_time(tmp_path: Path, cache: DiskCache) -> None:
    source, out = model(tmp_path / "model.onnx"), tmp_path / "out.rxa"

    def seconds(*options: str) -> float:
        """Return processor seconds, which depend less on other load than the elapsed time."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*COMMAND, source, "-o", out, *options], timeout=600, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    seconds()
    assert min(seconds() for _ in range(3)) < min(seconds("--no-cache") for _ in range(3)) / 3


def large(path: Path) -> Path:
    """Write a model with products of many sizes, enough for compilation in other processes."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    nodes, weights, last = [], [], "x"
    sizes = [8, *(8 + 3 * index for index in range(1, 33))]
    for index, (rows, columns) in enumerate(itertools.pairwise(sizes)):
        array = numpy.random.default_rng(index).normal(size=(rows, columns)).astype("float32")
        weights.append(onnx.numpy_helper.from_array(array, f"w{index}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{index}"], [f"m{index}"], f"product {index}"))
        nodes.append(helper.make_node("Softmax", [f"m{index}"], [f"s{index}"], f"softmax {index}"))
        last = f"s{index}"
    inputs = [helper.make_tensor_value_info("x", float32, [4, 8])]
    outputs = [helper.make_tensor_value_info(last, float32, [4, sizes[-1]])]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def test_jobs_change_nothing(tmp_path: Path, cache: DiskCache) -> None:
    source = large(tmp_path / "large.onnx")
    for jobs in ("1", "2"):
        made(source, "-o", tmp_path / f"{jobs}.rxa", f"--jobs={jobs}", "--no-cache")
    assert (tmp_path / "1.rxa").read_bytes() == (tmp_path / "2.rxa").read_bytes()


def on_terminal(command: list[Any]) -> tuple[int, int]:
    """Start a process with a terminal for its errors."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stderr=theirs, start_new_session=True)
    os.close(theirs)
    return process.pid, ours


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_end_in_the_middle_leaves_nothing(number: signal.Signals, tmp_path: Path, cache: DiskCache) -> None:
    """Interrupt a compilation of kernels: the whole group like a terminal, or the workers."""
    source, out = large(tmp_path / "large.onnx"), tmp_path / "out.rxa"
    out.write_text("old")
    pid, terminal = on_terminal([*COMMAND, source, "-o", out, "--jobs=2", "--no-cache"])
    text, workers = b"", set[int]()
    while not re.search(rb"code 1 of \d+", text):
        text += os.read(terminal, 1000)
    tool = children_of(pid)
    workers = {worker for each in tool for worker in children_of(each)}
    assert len(workers) == 2
    if number == signal.SIGINT:
        os.killpg(pid, signal.SIGINT)
    else:
        for worker in workers:  # one of them may have no work at this moment
            os.kill(worker, number)
    text = read_to_end(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == (130 if number == signal.SIGINT else 1)
    if number == signal.SIGINT:
        assert text.endswith(b"relax-compile: error: interrupted\r\n")
    else:
        assert b"the process that made its code was killed (out of memory?)" in text
        assert b"product" in text or b"softmax" in text or b"graph" in text
    assert b"Traceback" not in text
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["large.onnx", "out.rxa"]
    limit = time.monotonic() + 600
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < limit
        time.sleep(0.02)


def children_of(pid: int) -> set[int]:
    return {
        int(child) for path in Path(f"/proc/{pid}/task").iterdir() for child in (path / "children").read_text().split()
    }


def read_to_end(terminal: int) -> bytes:
    text = b""
    try:
        while piece := os.read(terminal, 10_000):
            text += piece
    except OSError:
        pass  # the other end is closed
    os.close(terminal)
    return text


def test_two_at_once(tmp_path: Path, cache: DiskCache) -> None:
    source = model(tmp_path / "model.onnx")
    outs = [tmp_path / f"{index}.rxa" for index in range(3)]
    processes = [subprocess.Popen([*COMMAND, source, "-o", out]) for out in outs]
    assert [process.wait(600) for process in processes] == [0, 0, 0]
    assert len({out.read_bytes() for out in outs}) == 1
    assert is_hit(source, "-o", outs[0])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--jobs=0"], "option --jobs expects at least 1"),
        (["--jobs=many"], "option --jobs expects a number"),
        (["--cache-dir="], "option --cache-dir expects a folder"),
    ],
)
def test_errors(options: list[str], text: str, tmp_path: Path) -> None:
    stderr = io.StringIO()
    code = run([str(model(tmp_path / "model.onnx")), "-o", "x", *options], io.StringIO(), io.StringIO(), stderr)
    assert code == 1
    assert text in stderr.getvalue()


def test_a_size_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE_SIZE", "lots")
    stderr = io.StringIO()
    assert run([str(model(tmp_path / "m.onnx")), "-o", "x"], io.StringIO(), io.StringIO(), stderr) == 1
    assert stderr.getvalue() == "relax-compile: error: RELAX_MLIR_CACHE_SIZE=lots: expected a size like 500M or 4G\n"
