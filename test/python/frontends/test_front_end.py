# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of front ends: names and suffixes, front ends of other packages, and missing plug-ins."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from relax_mlir.compilation.fingerprint import front_end_fingerprint
from relax_mlir.frontends import front_end as registry
from relax_mlir.frontends.front_end import FrontEnd, find_front_end, register_front_end
from relax_mlir.frontends.reader import Reader
from relax_mlir.tools import relax_compile

import relax_mlir as rx
from relax_mlir import relax

#: Front ends that the compiler has without plug-ins.
OWN = {"onnx": "model.onnx", "torch": "model.pt2"}

PACKAGE = """
from relax_mlir.frontends.front_end import FrontEnd, register_front_end
from relax_mlir.frontends.reader import Reader


def read(path):
    import relax_mlir as rx
    from relax_mlir import relax

    module = rx.Module()
    with module.function("main", {"x": rx.tensor((3,))}) as f:
        f.returns(relax.negative(*f))
    return module


register_front_end(FrontEnd("acme", (".acme",), lambda: Reader(read), lambda head: head.startswith(b"ACME")))
"""


def read(path: str) -> rx.Module:
    """Return a module that ignores the file."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((3,))}) as f:
        f.returns(relax.negative(*f))
    return module


def load() -> Reader:
    return Reader(read)


def load_other() -> Reader:
    return Reader(read)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = {each.name: each for each in registry.all_front_ends()}
    yield
    registry._FRONT_ENDS.clear()
    registry._FRONT_ENDS.update(before)


def message(name: str, *suffixes: str) -> str:
    with pytest.raises(rx.RelaxError) as raised:
        register_front_end(FrontEnd(name, suffixes, load_other))
    return str(raised.value)


@pytest.mark.parametrize("name", OWN)
def test_own_front_ends_are_found_by_suffix(name: str) -> None:
    found = find_front_end(OWN[name].upper())
    assert found is not None and found.name == name
    assert bool(front_end_fingerprint(OWN[name])) == (name == "torch")  # of the plug-in's files


@pytest.mark.parametrize("path", ["a.mlir", "a.MLIRBC", "a.py", "a.rxa", "a.unknown", "no suffix", "a\0b"])
def test_other_files_have_none(path: str) -> None:
    assert find_front_end(path) is None
    assert front_end_fingerprint(path) is None


def test_a_front_end_is_used_by_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    register_front_end(FrontEnd("acme", (".acme",), load, lambda head: head == b"ACME", "acme.read(path)"))
    path, program = tmp_path / "model.acme", tmp_path / "model.rxa"
    path.write_bytes(b"")
    assert relax_compile.run([str(path), "-o", str(program)]) == 0
    x = numpy.ones(3, "float32")
    assert rx.runtime.load(program)["main"](x).tolist() == [-1, -1, -1]
    assert relax_compile.run([str(path), "--check"]) == 1
    assert "--check: the front end 'acme' does not list what it cannot import" in capsys.readouterr().err
    assert relax_compile.run(["--list-operators=acme"]) == 1
    assert "the front end 'acme' lists no operators" in capsys.readouterr().err
    with pytest.raises(rx.RelaxError, match=r"acme\.read\(path\) reads it"):
        rx.compile(path)  # type: ignore[arg-type]
    other = tmp_path / "model.bin"
    other.write_bytes(b"ACME")
    assert find_front_end(other) is find_front_end(path)


def test_failures_name_the_front_end(tmp_path: Path) -> None:
    def broken(path: object) -> rx.Module:
        return [][0]

    def recognizes(head: bytes) -> bool:
        raise ValueError("no such head")

    register_front_end(FrontEnd("acme", (".acme",), lambda: Reader(broken), recognizes))
    with pytest.raises(rx.RelaxError, match=r"the front end 'acme'.*IndexError: list index out of range"):
        registry.front_end_named("acme").read("model.acme")
    path = tmp_path / "model.bin"
    path.write_bytes(b"anything")
    with pytest.raises(rx.RelaxError, match=r"the front end 'acme'.*ValueError: no such head"):
        find_front_end(path)


def test_pipes_keep_their_bytes(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert find_front_end(path) is None


def test_taken_names_and_suffixes_are_refused() -> None:
    register_front_end(FrontEnd("acme", (".acme", ".acm"), load))
    register_front_end(FrontEnd("acme", (".acme", ".acm"), load))  # as a notebook's cell that runs again
    assert "there is a front end 'acme' already: frontends/test_front_end.py:" in message("acme", ".new")
    text = message("other", ".new", ".acm")
    assert "front end 'other' cannot read '*.acm': the front end 'acme' reads these files" in text
    assert "'acme' is registered by frontends/test_front_end.py:" in text
    assert "the front end 'onnx' reads these files" in message("other", ".onnx")
    assert "cannot read '*.mlir': these files are modules" in message("other", ".mlir")
    assert "cannot read '*.rxa': these files are compiled programs" in message("other", ".rxa")
    assert find_front_end("a.new") is None


@pytest.mark.parametrize(
    ("name", "suffix"), [("a-b", ".a"), ("", ".a"), ("pass", ".a"), ("acme", "acme"), ("acme", ".ACME")]
)
def test_bad_rows_are_refused(name: str, suffix: str) -> None:
    with pytest.raises(rx.RelaxError, match=r"its name must be|must begin with a dot"):
        FrontEnd(name, (suffix,), load)


def test_unknown_front_ends_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert relax_compile.run(["--list-onxx-operators"]) == 1
    errors = capsys.readouterr().err
    assert "unknown front end 'onxx'; did you mean 'onnx'? (registered: onnx, " in errors


@pytest.mark.parametrize("spelling", ["--list-onnx-operators", "-list-onnx-operators", "--list-operators=onnx"])
def test_lists_have_two_spellings(spelling: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    assert relax_compile.run([spelling]) == 0
    assert "Softmax" in capsys.readouterr().out


def in_process(folder: Path, code: str, *arguments: str, disabled: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RELAX_MLIR_DISABLED_PLUGINS": disabled}
    program = f"import sys; sys.path.insert(0, {str(folder)!r}); {code}"
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, cwd=folder)


MAIN = "from relax_mlir.tools.relax_compile import main; main()"


def test_packages_announce_front_ends(tmp_path: Path) -> None:
    """Find the front end of a package, and the packages that announce converters for it."""
    (tmp_path / "acme.py").write_text(PACKAGE)
    info = tmp_path / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    points = ["[relax_mlir.plugins]", "frontend.acme = acme", "acme.Swish = acme_swish", "other.Swish = acme_swish"]
    (info / "entry_points.txt").write_text("\n".join(points))
    for name, data in (("model.acme", b""), ("model.bin", b"ACME")):
        (tmp_path / name).write_bytes(data)
        done = in_process(tmp_path, MAIN, name, "--emit=relax")
        assert done.returncode == 0 and "relax.negative" in done.stdout, done.stderr
    code = "from relax_mlir.support import plugins as p; print(p.announced_names('acme'), p.plugin_problems())"
    done = in_process(tmp_path, code)
    assert done.stdout.startswith("['Swish'] [") and "'other.Swish = acme_swish'" in done.stdout
    done = in_process(tmp_path, MAIN, "model.acme", "--emit=relax", disabled="acme*")
    assert done.returncode == 1 and "cannot tell what 'model.acme' is by its name" in done.stderr


def test_a_missing_plug_in_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.tflite").write_bytes(b"\0\0\0\0TFL3")
    done = in_process(tmp_path, MAIN, "model.pt2", disabled="*")
    assert "front end 'torch': it is in the package relax_mlir_torch, which is hidden by" in done.stderr
    done = in_process(tmp_path, MAIN, "model.tflite", disabled="*")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "cannot tell what 'model.tflite' is by its name" in done.stderr
    assert "front end 'tflite': it is in the package relax_mlir_tflite, which is hidden by" in done.stderr
    assert "pip install --force-reinstall relax-mlir" in done.stderr
    for call in ("rx.from_tflite('model.tflite')", "rx.register_tflite('Acme')"):
        done = in_process(tmp_path, f"import relax_mlir as rx; {call}", disabled="*")
        assert "tflite: it is in the package relax_mlir_tflite, which is hidden by" in done.stderr
        assert "pip install --force-reinstall relax-mlir" in done.stderr


def test_files_are_found_without_mlir(tmp_path: Path) -> None:
    code = (
        "from relax_mlir.frontends.front_end import find_front_end; "
        "assert find_front_end('m.onnx') and not find_front_end('m.no'); "
        "print([each for each in sys.modules if each.partition('.')[0] in ('numpy', 'torch_mlir', 'mlir')])"
    )
    assert in_process(tmp_path, code).stdout == "[]\n"
