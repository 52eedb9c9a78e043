# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faulty cases as files, and runs from the files."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir.patterns import is_op, wildcard
from relax_mlir_proof.relax_check import run
from relax_mlir_proof.testing.checking import check


@rx.codegens.register_codegen("halving")
class _Halving(rx.codegens.Codegen):
    """Codegen with a wrong relu for inputs above 2, and an exp that ends the process."""

    patterns = (
        ("halving.relu", is_op("relax.nn.relu")(wildcard())),
        ("halving.bf16", is_op("relax.abs")(wildcard().has_dtype("bfloat16"))),
        ("halving.exp", is_op("relax.exp")(wildcard())),
    )

    def compile(self, module: rx.Module, options: Any) -> bytes:
        text = str(module)
        kind = "exp" if "relax.exp" in text else "abs" if "relax.abs" in text else "relu"
        return "\n".join([kind, *self.functions(module)]).encode()

    def load(self, data: Any) -> dict[str, Any]:
        kind, *names = bytes(data).decode().split("\n")

        def run(x: Any, out: Any) -> None:
            if kind == "exp":
                import os

                os._exit(3)
            given = x if kind == "abs" else numpy.from_dlpack(x)
            if kind == "relu":
                numpy.from_dlpack(out)[...] = numpy.clip(given, 0, 2)

        return dict.fromkeys(names, run)


def test_a_fault_is_kept_and_runs_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faults = str(tmp_path / "faults")
    report = check("halving", only=["halving.relu"], groups=["composites"], keep=faults, jobs=2)
    verdict = next(each for each in report.faults if each.case.endswith("dynamic"))
    assert verdict.kept == f"{faults}/halving.relu_nn.relu_dynamic" and verdict.again in str(report)
    assert rx.testing.Report.from_json(report.to_json()).to_json() == report.to_json()
    main_function = (Path(verdict.kept) / "case.mlir").read_text(encoding="utf-8")
    assert "relax.nn.relu" in main_function and "n" in main_function
    suffix = f"_{verdict.call}" if verdict.call else ""
    with (
        numpy.load(f"{verdict.kept}/inputs{suffix}.npz") as given,
        numpy.load(f"{verdict.kept}/expected{suffix}.npz") as wanted,
    ):
        assert numpy.array_equal(wanted["result0"], numpy.maximum(given["x0"], 0)) and (given["x0"] > 2).any()
    command = shlex.split(verdict.again)
    assert command[:2] == ["relax-check", "halving"]
    assert run([*command[1:], "-q"]) == 1
    again = capsys.readouterr().out
    assert "1 cases: 1 wrong" in again and verdict.reason in again


def test_an_edited_case_is_what_runs(tmp_path: Path) -> None:
    report = check("halving", only=["halving.relu*far"], groups=["composites"], keep=str(tmp_path), jobs=1)
    (verdict,) = report.faults
    x = numpy.float32([[-1.0, 1.5]])
    source = Path(verdict.kept) / "case.mlir"
    source.write_text(source.read_text(encoding="utf-8").replace("3x5x", "1x2x"), encoding="utf-8")
    numpy.savez(Path(verdict.kept) / "inputs.npz", x0=x)
    assert [each.verdict for each in check("halving", cases=[verdict.kept], jobs=1).verdicts] == ["right"]


def test_types_that_numpy_does_not_know_come_back(tmp_path: Path) -> None:
    report = check("halving", only=["halving.bf16 abs"], groups=["composites"], keep=str(tmp_path), jobs=1)
    (verdict,) = report.faults
    (again,) = check("halving", cases=[verdict.kept], jobs=1).verdicts
    assert again.verdict == verdict.verdict == "error"
    assert "has left output 0 unwritten" in verdict.reason and "has left output 0 unwritten" in again.reason


def test_a_crash_is_kept(tmp_path: Path) -> None:
    report = check("halving", only=["halving.exp exp"], groups=["composites"], keep=str(tmp_path), jobs=1)
    (verdict,) = report.verdicts
    assert verdict.verdict == "crash" and verdict.call is None
    assert sorted(each.name for each in Path(verdict.kept).iterdir()) == ["case.mlir", "expected.npz", "inputs.npz"]


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(rx.OptionError, match=r"cannot keep the case 'halving\.relu nn\.relu far'"):
        check("halving", only=["halving.relu*far"], groups=["composites"], keep=str(tmp_path / "file"), jobs=1)


def test_the_command_says_how_the_case_was_run(tmp_path: Path) -> None:
    report = check(
        "halving", target="llvm{cpu=generic}", only=["halving.relu*far"], groups=["composites"],
        keep=str(tmp_path / "a b"), jobs=1, tolerance=0.5,
    )  # fmt: skip
    (verdict,) = report.faults
    assert shlex.split(verdict.again)[-3:] == [
        "--target=llvm{cpu=generic}",
        "--tolerance=0.5",
        f"--case={verdict.kept}",
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "is no case that --keep wrote: cannot read"),
        ({"case.mlir": "module {}"}, "has no function @main"),
        (
            {"case.mlir": "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"},
            "no inputs",
        ),
        ({"case.mlir": "not a module"}, "case.mlir:1"),
    ],
)
def test_a_folder_that_is_no_case_is_refused(tmp_path: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(rx.RelaxError) as error:
        check("halving", cases=[str(tmp_path)])
    assert message in str(error.value)


def test_inputs_of_other_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "case.mlir").write_text(
        'func.func @main(%x: tensor<2xf32> {relax.name = "x"}) -> tensor<2xf32> { return %x : tensor<2xf32> }',
        encoding="utf-8",
    )
    numpy.savez(tmp_path / "inputs.npz", y=numpy.float32([1, 2]))
    with pytest.raises(rx.RelaxError, match=r"has no array 'x', which @main reads; it has y"):
        check("halving", cases=[str(tmp_path)])
    (tmp_path / "inputs.npz").write_bytes(b"PK nothing")
    with pytest.raises(rx.RelaxError, match="cannot read"):
        check("halving", cases=[str(tmp_path)])
