# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What exceptions say."""

from __future__ import annotations

from relax_mlir.support.errors import RelaxError, told


def test_the_place_comes_first_and_notes_last() -> None:
    error = RelaxError("no such operator", location="model.py:3:7", notes=["there is relax.add", "and relax.abs"])
    assert str(error) == "model.py:3:7: no such operator\nnote: there is relax.add\nnote: and relax.abs"


def test_nothing_stands_where_no_place_is_known() -> None:
    assert str(RelaxError("no such operator")) == "no such operator"


def test_other_exceptions_are_told_with_their_kind() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

    assert told(ValueError("too few")) == "ValueError: too few"
    assert told(ValueError()) == "ValueError"
    assert told(Silent()) == "Silent"
