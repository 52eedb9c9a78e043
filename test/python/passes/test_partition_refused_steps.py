# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that a codegen declines in compile(): the target computes them, and the codegen the rest of the part."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from partitioning import Native, built, codegen

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_call_tir, is_const, is_op, wildcard

LAYER = [("npu.layer", is_op("relax.matmul")(wildcard().named("x"), is_const().named("w")))]
RANDOM = numpy.random.default_rng(76)


class Narrow(Native):
    """Codegen that declines steps with more than four outputs."""

    tried: list[list[int]]

    def compile(self, module: Any, options: Any) -> bytes:
        for part in self.steps(module).values():
            sizes = [part.constants[step["w"]].shape[1] for step in part.steps if "w" in step]
            self.tried.append(sizes)
            for step in part.steps:
                if "w" in step and part.constants[step["w"]].shape[1] > 4:
                    raise step.refuse("the unit has 4 outputs")
        return super().compile(module, options)


def chain(*sizes: int) -> rx.Module:
    """Return a module of products with matrices of these sizes."""

    def body(x: Any) -> Any:
        for inputs, outputs in zip((4, *sizes), sizes, strict=False):
            x = relax.matmul(x, relax.const(RANDOM.normal(size=(inputs, outputs)).astype("float32")))
        return x

    return built(body, ("n", 4))


def compiled(module: rx.Module, rows: Any = LAYER, **members: Any) -> tuple[Any, rx.Journal, list[list[int]]]:
    journal, tried = rx.Journal(), list[list[int]]()
    with codegen(rows, base=Narrow, tried=tried, **members) as npu:
        partition = rx.Partition(codegens=(npu,), explain=True)
        with pytest.warns(
            RuntimeWarning, match=r"codegen 'npu' declined @.*: step 'npu\.\w+' .*the unit has 4 outputs"
        ):
            program = rx.compile(module, partition=partition, journal=journal, opt_level=0)
        x = RANDOM.normal(size=(3, 4)).astype("float32")
        numpy.testing.assert_allclose(program["main"](x), rx.reference(module)["main"](x), rtol=1e-5, atol=1e-5)
    return program, journal, tried


def test_the_other_steps_of_the_part_stay_with_the_codegen() -> None:
    program, journal, tried = compiled(chain(3, 2, 6, 4, 1))
    assert tried == [[3, 2, 6, 4, 1], [3, 2], [4, 1]]
    assert "2 parts by npu" in repr(program)
    head, _, row, line, *_ = rx.partition_table(journal.facts).splitlines()
    assert head == "partition: 4 of 5 operators, 1 part declined"
    assert row.split()[:3] == ["npu", "4", "2"] and row.endswith("layer 4")
    assert line.startswith("declined: npu, part ") and line.endswith("the unit has 4 outputs")
    (why,) = (each for each in rx.explanation(journal.facts).splitlines() if "relax.matmul" in each)
    assert "npu.layer" in why and "matches, but codegen 'npu' declined it: step 'npu.layer'" in why


def test_several_steps_are_declined_in_turn() -> None:
    program, _, tried = compiled(chain(6, 5, 3, 7, 2))
    assert tried == [[6, 5, 3, 7, 2], [5, 3, 7, 2], [3, 7, 2], [3], [2]]
    assert "2 parts by npu" in repr(program)


def test_a_part_of_one_step_goes_back_whole() -> None:
    program, journal, tried = compiled(chain(6))
    assert tried == [[6]] and "npu" not in repr(program)
    assert rx.partition_table(journal.facts).startswith("partition: 0 of 1 operators, 1 part declined\n")


def test_views_do_not_remain_alone() -> None:
    def body(x: Any) -> Any:
        y = relax.matmul(x, relax.const(RANDOM.normal(size=(4, 6)).astype("float32")))
        return relax.reshape(y, (6, -1))

    rows = [*LAYER, rx.codegens.PatternRow("npu.view", is_op("relax.reshape"), beside=True)]
    program, _, tried = compiled(built(body, (3, 4)), rows)
    assert tried == [[6]] and "npu" not in repr(program)


def test_functions_that_passes_have_inlined_decline_the_whole_part() -> None:
    """Without functions of matches, a step of the part cannot be told from the others."""

    class Whole(Native):
        def compile(self, module: Any, options: Any) -> bytes:
            (part,) = self.steps(module).values()
            raise part.steps[-1].refuse("the unit has 4 outputs")

    inlined = "relax-inline{include-composites=true}"
    warned = pytest.warns(RuntimeWarning, match="declined @.*: step relax.matmul.*: the unit has 4 outputs")
    with codegen(LAYER, base=Whole, pipeline=inlined) as npu, warned:
        program = rx.compile(chain(3, 6), partition=npu, opt_level=0)
    assert "npu" not in repr(program)


def test_a_declined_step_is_an_error_on_request() -> None:
    with codegen(LAYER, base=Narrow, tried=[]) as npu, pytest.raises(rx.RelaxError, match="the unit has 4 outputs"):
        rx.compile(chain(3, 6), partition=npu, strict_partition=True)


def test_kernels_come_back_with_their_prim_funcs() -> None:
    class Refusing(Native):
        def compile(self, module: Any, options: Any) -> bytes:
            (part,) = self.steps(module).values()
            if len(part.steps) > 1:
                raise part.steps[1].refuse("one kernel is enough")
            return super().compile(module, options)

    module = built(lambda x: relax.exp(relax.tanh(relax.exp(x))), (3, 4))
    with (
        codegen([("npu.kernel", is_call_tir())], base=Refusing) as npu,
        pytest.warns(RuntimeWarning, match="is enough"),
    ):
        program = rx.compile(module, partition=npu, opt_level=0)
        x = RANDOM.normal(size=(3, 4)).astype("float32")
        numpy.testing.assert_allclose(program["main"](x), numpy.exp(numpy.tanh(numpy.exp(x))), rtol=1e-5)


@pytest.mark.parametrize("reason", ["", None, 3])
def test_reasons_are_texts(reason: Any) -> None:
    class Silent(Native):
        def compile(self, module: Any, options: Any) -> bytes:
            (part,) = self.steps(module).values()
            raise part.steps[0].refuse(reason)

    with codegen(LAYER, base=Silent) as npu, pytest.raises(rx.RelaxError, match=r"refuse\(\) takes the reason as text"):
        rx.compile(chain(3), partition=npu, strict_partition=True)
