# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C programs that the kit calls: run-time sizes, results next to forbidden pages, messages of assertions."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir as rx
from c_programs import needs_compiler
from compiling import module_with
from relax_mlir import relax
from relax_mlir_proof.testing.c_program import CProgram

pytestmark = needs_compiler


def test_sizes_are_those_of_the_calls() -> None:
    module = module_with({"x": rx.tensor(("n", 3)), "y": rx.tensor(("n", "m"))}, lambda x, y: relax.concat([x, y], 1))
    calls = [[numpy.ones((n, 3), "float32"), numpy.zeros((n, m), "float32")] for n, m in ((2, 4), (5, 0), (0, 1))]
    program = CProgram(module, "c", calls)
    for call in calls:
        (found,) = program(call)
        numpy.testing.assert_array_equal(found, numpy.concatenate(call, 1))


def test_a_failed_assertion_raises_its_message() -> None:
    inputs = {"x": rx.tensor((4,)), "at": rx.tensor((2,), "i64")}
    module = module_with(inputs, lambda x, at: relax.gather_elements(x, at))
    x = numpy.arange(4, dtype="float32")
    program = CProgram(module, "c", [[x, numpy.int64([1, 3])]])
    assert program([x, numpy.int64([1, 3])])[0].tolist() == [1, 3]
    with pytest.raises(IndexError, match=r"^relax.gather_elements at .*: index 9 is out of range"):
        program([x, numpy.int64([0, 9])])
