# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen contract: signatures are unchanged since they were frozen; a package and an artifact of version 1.0 work."""

from __future__ import annotations

import platform
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from partitioning import codegen
from relax_mlir.dialects.core.ir_attributes import TABLE
from relax_mlir.support import contract as stated
from relax_mlir.support.external_runtime import register_runtime

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op

HERE = Path(__file__).resolve().parent
#: Public, and no part of the contract: a pass.
NOT_OF_IT = {"codegens.RunCodegen", "codegens.explanation", "codegens.partition_table"}
IS_X86 = sys.platform == "linux" and platform.machine() == "x86_64"
EXP = [("npu.exp", is_op("relax.exp"))]


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    monkeypatch.syspath_prepend(str(HERE.parents[1] / "tools" / "dev"))
    import gen_contract

    return gen_contract


@pytest.fixture(scope="module", autouse=True)
def package() -> Iterator[None]:
    """Register the package in the form of 1.0 while this module's tests run."""
    import contract_1_codegen
    from relax_mlir.passes.core.external import CODEGENS
    from relax_mlir.passes.graph.partition.planning import _PLANNERS
    from relax_mlir.support.external_runtime import _RUNTIMES

    yield
    for registry in (CODEGENS, _PLANNERS, _RUNTIMES):
        registry.entries.pop("contract_1", None)
    del sys.modules[contract_1_codegen.__name__]


# ---- names ----


def test_signatures_are_as_they_were_frozen(frozen: Any) -> None:
    assert frozen.changes(frozen.frozen(), frozen.contract()) == []


def test_a_change_is_told(frozen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rx.codegens.Codegen, "workspace", lambda self, function, device: 0)
    monkeypatch.delitem(stated.NAMES, "codegens.find_codegen")
    monkeypatch.setitem(TABLE, "relax.own", TABLE["relax.own"]._replace(contract="1.1"))
    ending = "; raise the version, or keep the old form working"
    assert frozen.changes(frozen.frozen(), frozen.contract()) == [
        f"this changes contract 1: attribute relax.own: was (not there), is (an array<i64>, on any operation){ending}",
        "this changes contract 1: rx.codegens.Codegen.workspace: was ((self, function: Operation) -> int), "
        f"is ((self, function, device)){ending}",
        "this changes contract 1: rx.codegens.find_codegen: was ((name: str) -> type[Codegen]), is (not there)"
        + ending,
    ]


def test_the_contract_has_every_public_name_of_its_namespaces() -> None:
    from relax_mlir import patterns

    public = {f"codegens.{each}" for each in rx.codegens.__all__} | {f"patterns.{each}" for each in patterns.__all__}
    assert public - set(stated.NAMES) == NOT_OF_IT


def test_the_contract_has_every_member_of_a_codegen() -> None:
    for name in ("Codegen", "ExternalRuntime"):
        members = {each for each in dir(getattr(rx.codegens, name)) if not each.startswith("_")}
        assert members == set(stated.NAMES[f"codegens.{name}"].split())


# ---- which contract a codegen is written against ----


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (
            "1.1",
            "codegen 'npu' is written against codegen contract 1.1, this relax-mlir has 1.0: install a newer relax-m",
        ),
        (
            "2.0",
            "codegen 'npu' is written against codegen contract 2.0, this relax-mlir has 1.0: install a newer relax-m",
        ),
        (
            "0.9",
            "codegen contract 0.9, this relax-mlir has 1.0: install a newer version of its package, or an older rel",
        ),
        ("1", "codegen 'npu': contract has to be text like '1.0', not '1'"),
        ("1.0.0", "contract has to be text like '1.0', not '1.0.0'"),
        (1.0, "contract has to be text like '1.0', not 1.0"),
    ],
)
def test_others_are_refused(version: Any, message: str) -> None:
    with pytest.raises(rx.RelaxError) as caught, codegen(EXP, contract=version):
        pass
    assert message in str(caught.value)
    assert "npu" not in {each.name for each in rx.codegens.all_codegens()}


@pytest.mark.parametrize("version", ["", "1.0"])
def test_the_current_contract_version_is_accepted(version: str) -> None:
    assert rx.codegens.CONTRACT_VERSION == "1.0"
    with codegen(EXP, contract=version) as name:
        assert rx.codegens.find_codegen(name).contract == version


def test_an_older_meso_version_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stated, "CONTRACT_VERSION", "1.10")
    stated.check_contract("codegen 'npu'", "1.9")
    with pytest.raises(rx.RelaxError, match=r"1\.11, this relax-mlir has 1\.10"):
        stated.check_contract("codegen 'npu'", "1.11")


def test_runtimes_of_newer_contracts_are_refused() -> None:
    newer = type("Newer", (rx.codegens.ExternalRuntime,), {"contract": "3.0"})
    with pytest.raises(rx.RelaxError, match=r"runtime 'npu' is written against codegen contract 3\.0"):
        register_runtime("npu")(newer)


def test_a_package_that_is_installed_and_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from relax_mlir.support import plugins

    (tmp_path / "late_npu.py").write_text(
        "import relax_mlir as rx\n\n\n@rx.codegens.register_codegen('late_npu')\n"
        "class Late(rx.codegens.Codegen):\n    contract = '1.7'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "_announced", [("codegen", "late_npu", "late_npu")])
    with pytest.raises(rx.RelaxError, match=r"late_npu.*contract 1\.7, this relax-mlir has 1\.0: install a newer"):
        rx.codegens.find_codegen("late_npu")


# ---- remains of version 1.0 ----


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    monkeypatch.syspath_prepend(str(HERE / "runtime"))
    import make_contract_1

    return make_contract_1


@pytest.mark.skipif(not IS_X86, reason="the artifact that is kept is for Linux on x86-64")
def test_the_artifact_runs(kept: Any) -> None:
    program = rx.runtime.load(HERE / "runtime" / "contract-1.rxa")
    assert "1 part by contract_1" in repr(program)
    for rows in (0, 1, 5):
        x = numpy.linspace(-1, 1, rows * 6, dtype="float32").reshape(rows, 6)
        numpy.testing.assert_allclose(numpy.from_dlpack(program["main"](x)), kept.expected(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("plan", ["priority", "cost", "contract_1"])
def test_the_package_compiles_and_runs(kept: Any, plan: str) -> None:
    chosen = rx.Partition(codegens=("contract_1{cores=2 note=kept}",), plan=plan)
    program = rx.compile(kept.model(), partition=chosen, strict_partition=True)
    assert "by contract_1" in repr(program)
    x = numpy.linspace(-1, 1, 18, dtype="float32").reshape(3, 6)
    numpy.testing.assert_allclose(numpy.from_dlpack(program["main"](x)), kept.expected(x), rtol=1e-5, atol=1e-6)


def test_its_views_options_and_checks() -> None:
    module = rx.Module()
    x = numpy.linspace(-1, 1, 12, dtype="float32").reshape(3, 4)
    w = numpy.ones((4, 70), "float32")
    with module.function("main", [rx.tensor((3, 4))]) as f:
        y = relax.reshape(relax.nn.softmax(relax.matmul(*f, relax.const(w[:, :6]))), (18,))
        f.returns(y, relax.matmul(*f, relax.const(w)))
    journal = rx.Journal()
    chosen = rx.Partition(codegens=("contract_1{precision=f16}",), explain=True)
    program = rx.compile(module, partition=chosen, strict_partition=True, journal=journal)
    assert "1 part by contract_1" in repr(program)
    assert "the unit has 64 columns" in rx.codegens.explanation(journal.facts)
    flat, wide = map(numpy.from_dlpack, program["main"](x))
    numpy.testing.assert_allclose(flat, numpy.full(18, 1 / 6), rtol=1e-3)
    numpy.testing.assert_allclose(wide, x @ w, rtol=1e-5, atol=1e-6)
    with pytest.raises(rx.RelaxError, match="option 'precision' expects f32 or f16, got 'f8'"):
        rx.compile(module, partition="contract_1{precision=f8}")
