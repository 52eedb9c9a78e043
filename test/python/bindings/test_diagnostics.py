# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Diagnostics of MLIR: errors become an exception and are reported nowhere else; warnings and remarks are passed on."""

from __future__ import annotations

from typing import Any

import pytest
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.diagnostics import Diagnostic, errors_as_relax_error, render, reporting, silenced, warn_again
from relax_mlir.bindings.mlir import ir
from relax_mlir.support.errors import RelaxError


def _reporting() -> tuple[Any, list[Diagnostic]]:
    """Return a context, and the list of the diagnostics that its `reporting` receives."""
    reported: list[Diagnostic] = []
    with reporting(reported.append):
        return new_context(), reported


def test_errors_are_raised_and_not_reported(capfd: pytest.CaptureFixture[str]) -> None:
    context, reported = _reporting()
    with pytest.raises(RelaxError, match="wrong: one"), errors_as_relax_error(context, "wrong") as found:
        ir.Location.unknown(context).emit_error("one")
        raise ir.MLIRError("failed", [])
    assert [each.message for each in found] == ["one"] and not reported
    assert capfd.readouterr() == ("", "")


def test_an_error_alone_raises_nothing() -> None:
    context, reported = _reporting()
    with errors_as_relax_error(context, "wrong") as found:
        ir.Location.file("in.mlir", 3, 4, context).emit_error("one")
    assert [(each.message, each.file, each.line) for each in found] == [("one", "in.mlir", 3)] and not reported


def test_handlers_are_given_back() -> None:
    context, reported = _reporting()
    before = context.emit_error_diagnostics
    for _ in range(2):
        with errors_as_relax_error(context, "wrong"):
            assert context.emit_error_diagnostics is True
        with silenced(context):
            ir.Location.unknown(context).emit_error("nobody's business")
    assert context.emit_error_diagnostics == before and not reported
    ir.Location.unknown(context).emit_error("two")
    assert [each.message for each in reported] == ["two"]


@pytest.mark.parametrize("column", [1, 2, 99, 101, 102, 150, 400, 500])
def test_a_part_of_a_long_line_is_shown(column: int) -> None:
    """Show at most 200 characters of the line, with the caret below the column."""
    text = "".join(f"{number:04}" for number in range(125))
    diagnostic = Diagnostic("error", "wrong", "in.mlir", 1, column)
    _, shown, caret, *_ = render(diagnostic, {"in.mlir": text}).splitlines()
    first = text.index(shown)
    assert len(shown) <= 200 and caret.index("^") == column - 1 - first
    assert first == max(column - 101, 0)


@pytest.mark.parametrize("module", ["relax_mlir.tools.made_up", "relax_mlir_report.made_up"])
def test_warnings_name_the_line_of_the_user(module: str) -> None:
    """Skip the frames of this project and of its plug-ins."""
    space: dict[str, Any] = {"__name__": module, "warn_again": warn_again}
    exec(compile("def warned(diagnostic):\n    warn_again(diagnostic)\n", "inside.py", "exec"), space)
    with pytest.warns(Warning, match="slow") as caught:
        space["warned"](Diagnostic("warning", "slow"))
    assert caught[0].filename == __file__
