# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parsing of IR text: locations."""

from __future__ import annotations

from pathlib import Path

import pytest
from relax_mlir.bindings.diagnostics import locate
from relax_mlir.bindings.navigation import operations_in

import relax_mlir as rx

ONE = 'func.func @f(%a: tensor<2xf32>) { "relax.abs"(%a) : (tensor<2xf32>) -> tensor<2xf32> return }'
LINES = 'func.func @f(%a: tensor<2xf32>) {\n  "relax.abs"(%a) : (tensor<2xf32>) -> tensor<2xf32>\n  return\n}'


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (ONE, [(1, 1), (1, ONE.index('"relax.abs"') + 1), (1, ONE.index("return") + 1)]),
        (LINES, [(1, 1), (2, 3), (3, 3)]),
        (f"// About it.\n{LINES}", [(2, 1), (3, 3), (4, 3)]),
        (f"{LINES}\n{LINES.replace('@f', '@g')}", [(1, 1), (2, 3), (3, 3), (5, 1), (6, 3), (7, 3)]),
        (f"module {{\n{LINES}\n}}", [(2, 1), (3, 3), (4, 3)]),
    ],
    ids=["one line", "several", "a comment first", "two functions", "a module"],
)
@pytest.mark.parametrize("is_file", [False, True], ids=["text", "a file"])
def test_places_are_those_of_the_text(text: str, places: list[tuple[int, int]], is_file: bool, tmp_path: Path) -> None:
    """Check the locations of text with and without a module around it, from a string and from a file."""
    name = str(tmp_path / "some.mlir")
    Path(name).write_text(text, encoding="utf-8")
    module = rx.Module.from_file(name) if is_file else rx.Module.parse(text, name)
    found = [locate(op.location) for op in operations_in(module.operation)]
    assert found == [(name, line, column, "") for line, column in places]
    function = operations_in(module.operation)[0]
    (argument,) = function.regions[0].blocks[0].arguments
    assert locate(argument.location)[:3] == (name, places[0][0], 14)


def test_wrong_places_are_not_made_up() -> None:
    """Report an error on the first line at its column."""
    with pytest.raises(rx.RelaxError, match=r"some\.mlir:1:35: .*unregistered operation 'relax\.abc'"):
        rx.Module.parse(ONE.replace("relax.abs", "relax.abc"), "some.mlir")
