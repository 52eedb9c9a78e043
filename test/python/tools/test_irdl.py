# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An upstream opt tool without this project reads its IR, with the text of --dump-irdl only."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import Any

import pytest
from relax_mlir.bindings.mlir import wheel_folder
from relax_mlir.tools.opt.irdl_names import add_run_sizes, from_irdl, to_irdl
from relax_mlir.tools.opt.listing import irdl_text

import relax_mlir as rx

ROOT = Path(__file__).resolve().parents[3]
TESTS = ROOT / "test" / "dialects"
FILES = [
    path
    for folder in ("relax", "tir")
    for path in sorted((TESTS / folder).glob("*.mlir"))
    if not path.stem.endswith("-invalid")
]
OPT = next(wheel_folder().glob("_mlir_libs/*-opt"))


def operators_in(module: rx.Module) -> set[str]:
    """Return the full names of a module's operators that are defined in Python."""
    known = {op.full_name for dialect in rx.registered_dialects().values() for op in dialect.ops.values()}
    found: set[str] = set()

    def visit(op: Any) -> Any:
        found.add(op.operation.name)
        return rx.ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found & known


@functools.cache
def parsed(path: Path) -> rx.Module | None:
    """Return the module of a file, or None if the file is not a single module."""
    try:
        return rx.Module.parse(path.read_text(), str(path), allow_unregistered=True)
    except rx.RelaxError:
        return None


def as_irdl(module: rx.Module) -> str:
    add_run_sizes(module.operation)
    # The generic form, because the tool may lack an upstream dialect's parser.
    return to_irdl(module.print(generic=True, local_scope=True))


def run_upstream(text: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "dialects.irdl.mlir").write_text("".join(map(irdl_text, rx.registered_dialects())))
    command = [str(OPT), f"--irdl-file={folder / 'dialects.irdl.mlir'}", "--allow-unregistered-dialect", *arguments]
    return subprocess.run(
        [*command, "--mlir-print-op-generic"], input=text, capture_output=True, text=True, timeout=600
    )


def upstream(text: str, folder: Path, *arguments: str) -> str:
    """Return the text after upstream's opt."""
    done = run_upstream(text, folder, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def read_back(text: str) -> rx.Module:
    return rx.Module.parse(from_irdl(text), allow_unregistered=True)


def simplified(module: rx.Module) -> str:
    rx.Pipeline("func.func(cse,canonicalize)").run(module)
    return str(module)


@pytest.mark.slow
@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(TESTS))) for path in FILES])
def test_every_file_goes_through_upstream(path: Path, tmp_path: Path) -> None:
    module = parsed(path)
    if module is None:
        pytest.skip("holds several modules or is refused on purpose")
    text = str(module)
    as_text = as_irdl(rx.Module.parse(text, allow_unregistered=True))
    assert str(read_back(upstream(as_text, tmp_path))) == text
    # Upstream does not know that operators are pure, so it removes none. It does no more than this project's passes.
    again = read_back(upstream(as_text, tmp_path, "--pass-pipeline=any(func.func(cse,canonicalize))"))
    assert operators_in(again) == operators_in(module)
    assert simplified(again) == simplified(rx.Module.parse(text, allow_unregistered=True))


def test_the_files_hold_every_operator() -> None:
    # Other tests of the same run declare operators of their own.
    families = {name: {path.stem for path in (ROOT / "dialects" / name).glob("*.py")} for name in ("relax", "tir")}
    operators = [op for name in families for op in rx.registered_dialects()[name].ops.values()]
    known = {op.full_name for op in operators if op.family in families[op.dialect.name]}
    seen = set().union(*(operators_in(module) for module in map(parsed, FILES) if module is not None))
    assert known - seen == set()


def test_upstream_removes_nothing_but_relax_opt_does(tmp_path: Path) -> None:
    text = """
    func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "relax.nn.relu"(%a) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = "relax.nn.relu"(%a) : (tensor<4xf32>) -> tensor<4xf32>
      %2 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
      %3 = "relax.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %3 : tensor<4xf32>
    }"""
    result = upstream(as_irdl(rx.Module.parse(text)), tmp_path, "--cse", "--canonicalize")
    assert result.count('"relax.nn_relu"') == 2
    assert result.count('"relax.exp"') == 1
    ours = simplified(read_back(result))
    assert ours.count('"relax.nn.relu"') == 1
    assert ours.count('"relax.exp"') == 0


def test_upstream_refuses_what_the_description_forbids(tmp_path: Path) -> None:
    done = run_upstream('%0 = "relax.add"() : () -> tensor<4xf32>', tmp_path)
    assert done.returncode == 1
    assert "expects 2 operands" in done.stderr or "operand" in done.stderr
    assert "unregistered operation 'relax.nope'" in run_upstream('"relax.nope"() : () -> ()', tmp_path).stderr


A, B = "tensor<?x4xf32>", "tensor<2x4xf32>"


@pytest.mark.parametrize(
    "line",
    [
        f'"relax.concat"(%a, %b, %a) {{axis = 0 : i64}} : ({A}, {B}, {A}) -> {A}',
        f'"relax.concat"(%a) : ({A}) -> {A}',
        # A string that looks like an operation.
        rf'"relax.concat"(%a, %a) {{note.x = "\22relax.nn_conv2d\22(1)"}} : ({A}, {A}) -> {A}',
    ],
)
def test_sizes_of_runs_come_and_go(line: str, tmp_path: Path) -> None:
    text = f"func.func @f(%a: tensor<?x4xf32>, %b: tensor<2x4xf32>) {{\n  %0 = {line}\n  return\n}}"
    expected = str(rx.Module.parse(text))
    as_text = as_irdl(rx.Module.parse(text))
    assert "operandSegmentSizes" in as_text
    assert str(read_back(as_text)) == expected
    assert str(read_back(upstream(as_text, tmp_path))) == expected


@pytest.fixture(scope="module")
def mixed() -> rx.Dialect:
    dialect = rx.Dialect("mixed")
    dialect.op("groups", "*xs y? *zs", infer=lambda call: call.xs[0], doc="Has three groups of operands.")
    return dialect


@pytest.mark.parametrize("sizes", ["2, 0, 1", "1, 1, 1", "3, 0, 0", "1, 1, 3"])
def test_several_groups_keep_their_sizes(sizes: str, mixed: rx.Dialect, tmp_path: Path) -> None:
    count = sum(map(int, sizes.split(",")))
    operands = ", ".join(["%a", "%b", "%a", "%b", "%b"][:count])
    types = ", ".join([A, B, A, B, B][:count])
    line = f'"mixed.groups"({operands}) {{operandSegmentSizes = array<i32: {sizes}>}} : ({types}) -> {A}'
    text = f"func.func @f(%a: {A}, %b: {B}) {{\n  %0 = {line}\n  return\n}}"
    expected = str(rx.Module.parse(text))
    assert str(read_back(upstream(as_irdl(rx.Module.parse(text)), tmp_path))) == expected


def test_too_many_runs_are_refused() -> None:
    names = ["%a" if index % 2 else "%b" for index in range(40)]
    types = ["tensor<?x4xf32>" if index % 2 else "tensor<2x4xf32>" for index in range(40)]
    text = (
        "func.func @f(%a: tensor<?x4xf32>, %b: tensor<2x4xf32>) {\n"
        f'  %0 = "relax.concat"({", ".join(names)}) {{axis = 0 : i64}} : ({", ".join(types)}) -> tensor<?x4xf32>\n'
        "  return\n}"
    )
    with pytest.raises(rx.RelaxError, match=r"'relax.concat' has 40 runs of values of the same type, more than 32"):
        as_irdl(rx.Module.parse(text))
