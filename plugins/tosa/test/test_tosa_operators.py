# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each operator of TOSA on random numbers, beside numpy."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir as rx
from tosa_program import Program
from tosa_programs import PROGRAMS

#: Programs are compiled together.
_AT_ONCE = 40
_GROUPS = [PROGRAMS[start : start + _AT_ONCE] for start in range(0, len(PROGRAMS), _AT_ONCE)]


@pytest.mark.parametrize("group", range(len(_GROUPS)))
def test_operators(group: int) -> None:
    programs = _GROUPS[group]
    text = "\n".join(each.text.replace("@main", f"@f{place}") for place, each in enumerate(programs))
    compiled = rx.compile(rx.from_tosa(text))
    problems = []
    for place, program in enumerate(programs):
        problems += _problems(program, compiled[f"f{place}"])
    assert not problems, "\n".join(problems)


def _problems(program: Program, function: object) -> list[str]:
    random = numpy.random.default_rng(20261126)
    given = [each.drawn(random) for each in program.given]
    made = function(*given)  # type: ignore[operator]
    with numpy.errstate(all="ignore"):
        expected = program.expected(*given)
    pairs = zip(made, expected, strict=True) if isinstance(expected, list) else [(made, expected)]
    found = []
    for one, other in pairs:
        array = numpy.asarray(one)
        rtol = program.rtol if array.dtype.kind == "f" else 0
        try:
            numpy.testing.assert_allclose(array.astype("float64"), other, rtol=rtol, atol=rtol)
        except AssertionError as error:
            found.append(f"{program.name}: {error}")
    return found


def test_every_operator_has_a_program() -> None:
    """Check all operators except for shapes and dynamic sizes, which have tests of their own."""
    from relax_mlir_tosa.registry import CONVERTERS

    tested = {f"tosa.{program.name.partition('-')[0]}" for program in PROGRAMS}
    rest = {each.name for each in CONVERTERS.all()} - tested
    assert all(
        name.startswith(("tosa.const", "tosa.variable", "tosa.dim", "tensor.", "arith."))
        or name.endswith(("_shape", "_block_scaled", "_adaptive", "apply_scale", "matmul_t", "row_gather"))
        for name in rest
    ), rest
