# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole programs in the cache: every entry point finds the others' programs, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy
import onnx
import pytest
from relax_mlir.bindings.diagnostics import PassWarning
from relax_mlir.compilation import compiling
from relax_mlir.passes.core.journal import Journal
from relax_mlir.passes.legalize import rules
from relax_mlir.support import registry
from relax_mlir.support.disk_cache import DiskCache

import relax_mlir as rx

pytestmark = pytest.mark.usefixtures("whole_programs")

X = numpy.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)


def module(shift: float = 1.0, function: str = "exp") -> rx.Module:
    made = rx.Module()
    with made.function("main", [rx.tensor((3, 4))]) as f:
        (x,) = f
        f.returns(rx.relax.add(getattr(rx.relax, function)(x), rx.relax.const(numpy.full((3, 4), shift, "float32"))))
    return made


@pytest.fixture(autouse=True)
def no_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the rules of other tests, and remove the rules of a test behind it."""
    monkeypatch.setattr(registry, "_FOREIGN", [])


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the list of compilations that are not found in the cache."""
    done: list[object] = []
    built = compiling._built

    def counted(*given: object) -> object:
        done.append(given)
        return built(*given)  # type: ignore[arg-type]

    monkeypatch.setitem(vars(compiling), "_built", counted)
    return done


def test_the_second_compilation_finds_the_program(tmp_path: Path, compilations: list[object]) -> None:
    first, second = (rx.compile(module(), cache=tmp_path) for _ in range(2))
    assert len(compilations) == 1
    numpy.testing.assert_array_equal(second["main"](X), first["main"](X))
    first.save(tmp_path / "first.rxa")
    second.save(tmp_path / "second.rxa")
    assert (tmp_path / "first.rxa").read_bytes() == (tmp_path / "second.rxa").read_bytes()


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler of C, which the codegen `c` needs")
def test_a_program_with_parts_is_found(tmp_path: Path, compilations: list[object]) -> None:
    """Find a program with a part of the codegen `c`. The key covers the files of the compiler already."""
    for _ in range(2):
        program = rx.compile(module(), partition="c", cache=tmp_path)
    assert len(compilations) == 1 and set(program._parts().values()) >= {"c"}


@pytest.mark.parametrize(
    "change",
    [
        lambda cache: rx.compile(module(2.0), cache=cache),
        lambda cache: rx.compile(module(function="sin"), cache=cache),
        lambda cache: rx.compile(module(), opt_level=1, cache=cache),
        lambda cache: rx.compile(module(), "llvm{cores=7}", cache=cache),
        lambda cache: rx.compile(module(), precision="bf16", cache=cache),
        lambda cache: rx.compile(module(), partition="c", cache=cache),
    ],
)
def test_another_program_is_compiled(
    change: Callable[[Path], object], tmp_path: Path, compilations: list[object]
) -> None:
    rx.compile(module(), cache=tmp_path)
    change(tmp_path)
    assert len(compilations) == 2


def test_weights_are_part_of_the_key(tmp_path: Path, compilations: list[object]) -> None:
    def of(weights: numpy.ndarray) -> rx.Module:
        made = rx.Module()
        with made.function("main", [rx.tensor((4, 64))]) as f:
            f.returns(rx.relax.matmul(*f, rx.relax.const(weights)))
        return made

    weights = numpy.ones((64, 64), "float32")
    given = numpy.ones((4, 64), "float32")
    rx.compile(of(weights), cache=tmp_path)
    weights[3, 5] = 2
    changed = rx.compile(of(weights), cache=tmp_path)
    assert len(compilations) == 2
    numpy.testing.assert_array_equal(changed["main"](given)[:, 5], 65)


@pytest.mark.parametrize(
    "options",
    [{"journal": Journal()}, {"observe": True}, {"cache": False}, {"pipeline": rx.stages("llvm").drop("attention")}],
)
def test_some_options_exclude_the_cache(options: dict[str, object], tmp_path: Path, compilations: list[object]) -> None:
    for _ in range(2):
        rx.compile(module(), **{"cache": tmp_path, **options})
    assert len(compilations) == 2


def test_a_journal_around_hears_each_compilation(tmp_path: Path) -> None:
    counts = []
    for _ in range(2):
        with Journal().recording() as journal:
            rx.compile(module(), cache=tmp_path)
        counts.append(len(journal.facts))
    assert counts[0] == counts[1] > 0


def register(monkeypatch: pytest.MonkeyPatch, text: str, **given: object) -> None:
    """Register the entries of a text as another package's module does. The entries are removed after the test."""
    known = {name: dict(of_name) for name, of_name in rules._RULES.entries.items()}
    monkeypatch.setattr(rules._RULES, "entries", known)
    exec(textwrap.dedent(text), {"__name__": "mynpu.rules", "rx": rx, **given})


EXP = """
    @rx.rules.register_legalize("relax.exp", target="llvm")
    def exp(call):
        return call.elementwise(lambda x: rx.number(rx.tir.sin(x.value)) * SCALE)
"""


def test_rules_of_others_are_part_of_the_key(
    tmp_path: Path, compilations: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def result(scale: float) -> numpy.ndarray:
        with monkeypatch.context() as patched:
            patched.setattr(registry, "_FOREIGN", [])
            register(patched, EXP, SCALE=scale)
            return numpy.asarray(rx.compile(module(), cache=tmp_path)["main"](X))

    numpy.testing.assert_allclose(result(2.0), numpy.sin(X) * 2 + 1, rtol=1e-5)
    numpy.testing.assert_allclose(result(3.0), numpy.sin(X) * 3 + 1, rtol=1e-5)
    numpy.testing.assert_allclose(result(2.0), numpy.sin(X) * 2 + 1, rtol=1e-5)
    assert len(compilations) == 2


def test_a_rule_that_cannot_be_looked_into_keeps_nothing(
    tmp_path: Path, compilations: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, EXP, SCALE=numpy.float32(2), exp=None)
    monkeypatch.setattr(registry, "_FOREIGN", [*registry._FOREIGN, threading.Lock()])
    for _ in range(2):
        rx.compile(module(), cache=tmp_path)
    assert len(compilations) == 2


def test_warnings_are_given_again(tmp_path: Path, compilations: list[object]) -> None:
    narrow = rx.Module()
    with narrow.function("main", [rx.tensor((4, "n")), rx.tensor((5, 4))]) as f:
        f.returns(rx.relax.matmul(*f))
    given = []
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rx.compile(narrow, cache=tmp_path)
        given.append([(str(each.message), each.category, each.filename) for each in caught])
    assert len(compilations) == 1
    assert given[0] == given[1] != []
    assert {each[1] for each in given[1]} == {PassWarning}


@pytest.mark.parametrize("damage", [lambda data: data[:-7], lambda data: data[:200] + b"x" + data[201:], lambda _: b""])
def test_a_damaged_program_is_compiled_anew(
    damage: Callable[[bytes], bytes], tmp_path: Path, compilations: list[object]
) -> None:
    rx.compile(module(), cache=tmp_path)
    (file,) = (each for each in (tmp_path / "1" / "programs").rglob("*") if each.is_file())
    file.write_bytes(damage(file.read_bytes()))
    again = rx.compile(module(), cache=tmp_path)
    assert len(compilations) == 2
    numpy.testing.assert_allclose(again["main"](X), numpy.exp(X) + 1, rtol=1e-6)
    rx.compile(module(), cache=tmp_path)
    assert len(compilations) == 2


@pytest.mark.parametrize("kinds", [("*",), ("contracts", "kernels", "results")])
def test_entries_under_the_names_of_others_are_not_used(
    kinds: tuple[str, ...], tmp_path: Path, compilations: list[object]
) -> None:
    """Exchange the files of two programs, or of their kernels and folded constants."""
    shifts = (1.0, 2.0)
    apart = [tmp_path / str(shift) for shift in shifts]
    for shift, folder in zip(shifts, apart, strict=True):
        rx.compile(module(shift, "exp" if shift == 1.0 else "sin"), cache=folder)
    files = [sorted(each for kind in kinds for each in folder.glob(f"*/{kind}/*/*")) for folder in apart]
    assert len(files[0]) == len(files[1]) > 0
    contents = [[each.read_bytes() for each in group] for group in files]
    for group, theirs in zip(files, reversed(contents), strict=True):
        for path, data in zip(group, theirs, strict=True):
            path.write_bytes(data)
    if kinds != ("*",):
        for path in tmp_path.glob("*/*/programs/*/*"):
            path.unlink()
    for shift, folder, function in zip(shifts, apart, (numpy.exp, numpy.sin), strict=True):
        program = rx.compile(module(shift, function.__name__), cache=folder)
        numpy.testing.assert_allclose(numpy.from_dlpack(program["main"](X)), function(X) + shift, rtol=1e-6)
    assert len(compilations) == 4


def test_a_program_outlives_its_entry(tmp_path: Path) -> None:
    rx.compile(module(), cache=tmp_path)
    found = rx.compile(module(), cache=tmp_path)
    DiskCache(tmp_path).clear()
    numpy.testing.assert_allclose(found["main"](X), numpy.exp(X) + 1, rtol=1e-6)


def test_other_processes_and_tools_share_the_cache(tmp_path: Path) -> None:
    graph = onnx.parser.parse_graph("g (float[3, 4] x) => (float[3, 4] y) { y = Exp(x) }")
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    script = f"""
        import relax_mlir as rx
        from relax_mlir.compilation import compiling
        def refused(*given):
            raise SystemExit("compiled")
        compiling._built = refused
        rx.compile(rx.from_onnx("m.onnx"), cache={str(tmp_path / "cache")!r}).save("found.rxa")
    """
    compiled = [Path(sys.executable).with_name("relax-compile"), "m.onnx", "-o", "made.rxa", "--cache-dir=cache"]
    subprocess.run(compiled, cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=tmp_path, check=True)
    assert (tmp_path / "found.rxa").read_bytes() == (tmp_path / "made.rxa").read_bytes()


def test_weights_whose_file_changes_meanwhile_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper, path = onnx.helper, tmp_path / "m.onnx"
    weights = onnx.numpy_helper.from_array(numpy.ones((64, 64), "float32"), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", 1, [4, 64])],
        [helper.make_tensor_value_info("y", 1, [4, 64])],
        [weights],
    )
    onnx.save(helper.make_model(graph), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    built = compiling._built

    def changed(*given: object) -> object:
        with open(tmp_path / "weights.bin", "r+b") as file:
            file.write(numpy.zeros(8, "float32").tobytes())
        return built(*given)  # type: ignore[arg-type]

    monkeypatch.setitem(vars(compiling), "_built", changed)
    rx.compile(rx.from_onnx(path), cache=tmp_path / "cache")
    assert "programs" not in DiskCache(tmp_path / "cache").sizes()


def test_equal_rules_of_other_processes_share_an_entry(tmp_path: Path) -> None:
    script = """
        import numpy, relax_mlir as rx
        from relax_mlir.compilation import compiling
        built, done = compiling._built, []
        compiling._built = lambda *given: done.append(given) or built(*given)

        @rx.rules.register_legalize("relax.exp", target="llvm")
        def exp(call):
            return call.elementwise(lambda x: rx.number(rx.tir.sin(x.value)) * SCALE)

        made = rx.Module()
        with made.function("main", [rx.tensor((3, 4))]) as f:
            f.returns(rx.relax.exp(*f))
        result = rx.compile(made, cache="cache")["main"](numpy.ones((3, 4), "float32"))
        print(len(done), round(float(numpy.asarray(result)[0, 0]), 3))
    """

    def printed(scale: float, seed: str) -> str:
        (tmp_path / "script.py").write_text(f"SCALE = {scale}\n{textwrap.dedent(script)}")
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "script.py"]
        return subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout

    assert printed(2.0, "1") == "1 1.683\n"
    assert printed(2.0, "2") == "0 1.683\n"
    assert printed(3.0, "2") == "1 2.524\n"
