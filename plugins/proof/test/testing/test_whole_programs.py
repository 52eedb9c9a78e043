# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults that only the whole program has: a program with functions for observation is right."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import functions_in, is_private, operations_in, operations_named
from relax_mlir.dialects.core.ir_attributes import ENTRIES
from relax_mlir.emit.numbers import as_index
from relax_mlir.targets.llvm.backend import LLVMBackend
from relax_mlir_proof.interpreter.reference import reference
from relax_mlir_proof.relax_bisect import run
from relax_mlir_proof.testing import bisect as bisecting
from relax_mlir_proof.testing.bisect import bisect

X = numpy.random.default_rng(0).normal(size=(6, 64)).astype("float32")


def model() -> rx.Module:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(X.shape)}) as f:
        difference = relax.subtract(relax.const(numpy.float32(0.75)), *f)
        f.returns(relax.nn.softmax(relax.exp(difference)))
    return module


def swap_differences(op: Any) -> None:
    for each in operations_in(op):
        if each.name in ("arith.subf", "llvm.fsub"):
            each.operands[0], each.operands[1] = reversed(list(each.operands))


def read_behind(op: Any) -> None:
    """Read vectors one element too late, behind the end of their memory."""
    for read in operations_named(op, "vector.transfer_read"):
        place = read.operands[0].type.rank
        with op.context, read.location, ir.InsertionPoint(read):
            read.operands[place] = as_index(read.operands[place]) + 1


def drop_masks(op: Any) -> None:
    for each in operations_named(op, "vector.create_mask"):
        with op.context, each.location, ir.InsertionPoint(each):
            size = each.results[0].type.shape[0]
            each.operands[0] = as_index(size)


class Planted(rx.Pass):
    """Fault in programs with a single graph function, which observed programs are not."""

    fault: ClassVar[Callable[[Any], None]]

    def run(self, op: Any) -> None:
        if len([each for each in functions_in(op) if not is_private(each)]) == 1:
            type(self).fault(op)


def planted(name: str, fault: Callable[[Any], None], after: str) -> str:
    """Register a target with a fault behind a stage of llvm. Return the target's name."""
    members = {"name": f"test-{name}", "fault": staticmethod(fault)}
    made = type(f"Planted{name}", (Planted,), members)
    rx.register_target(
        rx.Target(
            f"whole-{name}",
            parents=("llvm",),
            stages=lambda stages: stages.insert_after(after, "planted", made()),
            doc="Of this test.",
        )
    )
    return f"whole-{name}"


BEHIND = planted("read-behind", read_behind, "apply")
MASKS = planted("drop-masks", drop_masks, "apply")
SWAPPED = planted("swap", swap_differences, "parallel")


class WrongCode(LLVMBackend):
    """Code generation with a fault in programs of one entry. Their kernels stay in the module."""

    separates_after = ""

    def separate(self, *_: Any) -> None:
        return None

    def build(self, module: Any, target: Any, options: Any) -> Any:
        if len(module.operation.attributes[ENTRIES]) == 1:
            swap_differences(module.operation)
        return super().build(module, target, options)


CODE = "whole-code"
rx.register_target(rx.Target(CODE, parents=("llvm",), backend=WrongCode, doc="Of this test."))


def test_a_read_behind_the_end_is_found_by_its_pass() -> None:
    culprit = bisect(model(), [X], target=f"{BEHIND}{{vector-bytes=32}}")
    assert culprit is not None
    assert (culprit.kind, culprit.name) == ("pass", "test-read-behind (stage planted)")
    assert "it raises IndexError: " in str(culprit) and "vector.transfer_read reads elements" in str(culprit)


def test_a_dropped_mask_is_found_by_its_pass() -> None:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((6, 13))}) as f:
        f.returns(relax.nn.softmax(*f))
    culprit = bisect(module, [X[:, :13].copy()], target=f"{MASKS}{{vector-bytes=32}}")
    assert culprit is not None
    assert (culprit.kind, culprit.name) == ("pass", "test-drop-masks (stage planted)")
    assert "IndexError" in culprit.reason and "of the 13 along dimension" in culprit.reason


def test_a_pass_that_changes_only_the_whole_program() -> None:
    culprit = bisect(model(), [X], target=SWAPPED)
    assert culprit is not None
    assert (culprit.kind, culprit.name, culprit.reason) == ("pass", "test-swap (stage planted)", "")
    assert culprit.error > 0 and culprit.module is not None


def test_faults_of_whole_program_code_are_found() -> None:
    culprit = bisect(model(), [X], target=CODE)
    assert culprit is not None
    assert (culprit.kind, culprit.name) == ("code", "of the whole program")
    assert "the reference runs all stages right" in str(culprit) and culprit.error > 0


def test_a_difference_without_a_cause_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Report what was tried if the reference cannot run the last stages, as with code of a device."""

    def refusing(module: rx.Module, **how: Any) -> Any:
        if ENTRIES in module.operation.attributes:
            raise rx.RefusalError("code of a device")
        return reference(module, **how)

    monkeypatch.setattr(bisecting, "reference", refusing)
    (tmp_path / "model.mlir").write_text(str(model()))
    out = io.StringIO()
    code = run([str(tmp_path / "model.mlir"), f"--target={CODE}", "-q"], stdout=out, stderr=io.StringIO())
    assert code == 2
    assert out.getvalue().startswith("program as a whole: off by ")
    assert "no kernel or part alone differs, and the stages up to parallel are right" in out.getvalue()
    assert "code of a device" in out.getvalue() and "relax-reduce" in out.getvalue()


def test_a_program_that_raises_is_wrong() -> None:
    """Find the pass also if the program checks its bounds, and so has no results."""
    culprit = bisect(model(), [X], target=f"{BEHIND}{{vector-bytes=32 bounds=check}}")
    assert culprit is not None
    assert (culprit.kind, culprit.name) == ("pass", "test-read-behind (stage planted)")
