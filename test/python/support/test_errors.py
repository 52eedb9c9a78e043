# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of exceptions."""

from __future__ import annotations

import pytest
from relax_mlir.dialects.core.codec import TypeProblem
from relax_mlir.frontends.script.common.source import ScriptError
from relax_mlir.support.errors import OptionError, RelaxError, message_of


def test_the_place_comes_first_and_notes_last() -> None:
    error = RelaxError("no such operator", location="model.py:3:7", notes=["there is relax.add", "and relax.abs"])
    assert str(error) == "model.py:3:7: no such operator\nnote: there is relax.add\nnote: and relax.abs"


def test_nothing_stands_where_no_place_is_known() -> None:
    assert str(RelaxError("no such operator")) == "no such operator"


def test_other_exceptions_are_reported_with_their_kind() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

    assert message_of(ValueError("too few")) == "ValueError: too few"
    assert message_of(ValueError()) == "ValueError"
    assert message_of(Silent()) == "Silent"


@pytest.mark.parametrize(
    "error",
    [
        OptionError("no such option", notes=["there is -O2"]),
        TypeProblem("no such type"),
        ScriptError("no such word", location="model.py:3:7", shown="\n  x = R.ad(y)"),
    ],
)
def test_an_altered_error_is_of_the_same_kind(error: RelaxError) -> None:
    """Alter an error whose constructor has other parameters."""
    other = error.altered(f"npu: {error.message}", location="npu.py:1")
    assert type(other) is type(error) and other.args == (f"npu: {error.message}",)
    assert str(other) == str(error).replace(f"{error.location}: " if error.location else "", "").replace(
        error.message, f"npu.py:1: npu: {error.message}"
    )
    assert error.altered(notes=["one"]).notes == ("one",) and str(error.altered()) == str(error)
