# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of programs to the last bit, and its words."""

from __future__ import annotations

import random
from typing import Any

import numpy
import pytest
import relax_mlir as rx
from example_counts import DRAW
from relax_mlir import relax
from relax_mlir.patterns import is_op, wildcard
from relax_mlir.runtime.cpu import host_features
from relax_mlir_proof.testing.array_bits import first_difference
from relax_mlir_proof.testing.core.networks import Model
from relax_mlir_proof.testing.core.rows import operands_of
from relax_mlir_proof.testing.every_model import all_models
from relax_mlir_proof.testing.trial import Subject, tried

ONE, OTHER = numpy.float32(1), numpy.nextafter(numpy.float32(1), numpy.float32(2))
needs_v4 = pytest.mark.skipif("avx512f" not in host_features(), reason="this CPU cannot run code for x86-64-v4")


def program(target: str, numerics: str, *, observe: bool = False, rows: int | str = 9) -> rx.Executable:
    """Compile a sum of 1000 products for each row."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((rows, 1000)), "y": rx.tensor((1000,))}) as f:
        x, y = f
        f.returns(relax.tanh(relax.matmul(x, y)))
    return rx.compile(module, target, numerics=numerics, observe=observe, cache=False)


def arguments() -> list[Any]:
    generator = numpy.random.default_rng(0)
    return [generator.normal(size=size).astype("float32") / 30 for size in ((9, 1000), (1000,))]


@needs_v4
def test_other_orders_of_sums_are_found_with_the_node() -> None:
    a, b = (program(f"llvm{{cpu=x86-64-v{level}}}", "fast", observe=True) for level in (3, 4))
    found = rx.same_bits(a, b, *arguments())
    assert not found
    assert found.difference is not None and found.difference.ulps
    assert found.node and "matmul" in found.kernel
    assert f"the first node that differs is {found.node}" in str(found)
    assert "in the first program" in str(found) and "in the last place apart" in str(found)


@needs_v4
def test_programs_that_do_not_show_their_values_name_no_node() -> None:
    a, b = (program(f"llvm{{cpu=x86-64-v{level}}}", "fast") for level in (3, 4))
    found = rx.same_bits(a, b, *arguments())
    assert not found and not found.node
    assert "compile both programs with observe=True" in str(found)


@needs_v4
def test_the_same_numerics_have_the_same_bits() -> None:
    a, b = program("llvm{cpu=x86-64-v3}", "same"), program("llvm{cpu=x86-64-v4}", "same", rows="n")
    found = rx.same_bits(a, b, *arguments())
    assert found and str(found) == "all results have the same bits"


def test_wrong_use_is_refused() -> None:
    a, b = program("llvm", "fast"), program("llvm", "fast", rows=8)
    x, y = arguments()
    with pytest.raises(rx.RelaxError, match=r"argument 0 is float32 \[9, 1000\] in the first program and float32 \[8,"):
        rx.same_bits(a, b, x, y)
    with pytest.raises(rx.RelaxError, match="the second argument is a ndarray"):
        rx.same_bits(a, x, x, y)
    with pytest.raises(rx.RelaxError, match=r"refuses the arguments of 'main': .*expected 2 arguments"):
        rx.same_bits(a, a, x)
    with pytest.raises(LookupError, match="no function 'other'"):
        rx.same_bits(a, a, x, y, function="other")


def test_arrays_are_compared_bit_by_bit() -> None:
    found = first_difference([numpy.array([ONE, ONE])], [numpy.array([ONE, OTHER])])
    assert found is not None and (found.place, found.ulps, found.differing, found.size) == ((1,), 1, 1, 2)
    nan = numpy.array([0x7FC00000, 0x7FC00001, 0xFFC00000], "uint32").view("float32")
    assert first_difference([nan], [nan[::-1].copy()]) is None
    zeros = first_difference([numpy.array(0.0)], [numpy.array(-0.0)])
    assert zeros is not None and zeros.ulps == 1 and zeros.place == ()
    mixed = first_difference([numpy.array([1.0])], [numpy.array([numpy.nan])])
    assert mixed is not None and mixed.ulps is None
    shapes = first_difference([numpy.zeros(2)], [numpy.zeros(3)])
    assert shapes is not None and "float64 (2,)" in shapes.between("a", "b")
    complexes = first_difference([numpy.array([1 + 2j])], [numpy.array([1 + 3j])])
    assert complexes is not None and complexes.place == (0,)


def test_types_of_ml_dtypes_are_compared() -> None:
    import ml_dtypes

    a = numpy.array([1.0, 2.0]).astype(ml_dtypes.bfloat16)
    b = numpy.array([1.0, 2.015625]).astype(ml_dtypes.bfloat16)
    found = first_difference([a], [b])
    assert found is not None and (found.place, found.ulps) == ((1,), 1)
    assert first_difference([a], [a]) is None


# ---- relax-check --same-bits ----


class _Unsteady(rx.codegens.Codegen):
    """Codegen for tanh. The last bit depends on earlier calls, or on the number of rows."""

    patterns = (("unsteady_tanh.tanh", is_op("relax.tanh")(wildcard().named("x"))),)
    options = {"by": rx.codegens.CodegenOption("what the last bit depends on", str, "nothing")}  # noqa: RUF012
    same_bits = True

    def compile(self, module: object, options: Any) -> bytes:
        return "\n".join([options["by"], *self.functions(module)]).encode()

    def load(self, data: Any) -> Any:
        by, *names = bytes(data).decode().split("\n")
        calls = [0]

        def run(x: Any, out: Any) -> None:
            calls[0] += 1
            given, result = numpy.from_dlpack(x), numpy.from_dlpack(out)
            value = numpy.tanh(given)
            is_other = calls[0] > 1 if by == "calls" else by == "rows" and len(given) > 1
            result[...] = numpy.nextafter(value, numpy.float32(2)) if is_other else value

        return dict.fromkeys(names, run)


@pytest.fixture(scope="module", autouse=True)
def _codegen() -> None:
    if "unsteady_tanh" not in [each.name for each in rx.codegens.all_codegens()]:
        rx.codegens.register_codegen("unsteady_tanh")(_Unsteady)


ROWS = Model("rows_of_tanh", tuple(operands_of("batch,4:f32")), ({"batch": 2},), lambda w, x: relax.tanh(x))


@pytest.mark.parametrize(
    ("by", "verdict", "reason"),
    [
        ("nothing", "right", ""),
        ("calls", "other bits", "called again, threads=1: result 0 differs"),
        ("rows", "other bits", "batch in calls of 1: result 0 differs"),
    ],
)
def test_a_codegen_that_breaks_its_word_is_found(
    by: str, verdict: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELAX_CHECK_PARTS", "1")
    name = f"unsteady_tanh{{by={by}}}"
    found = tried(Subject(name, codegens=(name,), compares_bits=True), ROWS.case, 0)
    assert found is not None
    assert found.verdict == verdict and reason in found.reason, found
    assert found.is_fault == (by != "nothing")


def test_a_batch_with_dependent_rows_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_CHECK_PARTS", "1")
    model = ROWS._replace(whole_batch="the test says so")
    assert model.made(0).batch is None
    name = "unsteady_tanh{by=rows}"
    found = tried(Subject(name, codegens=(name,), compares_bits=True), model.case, 0)
    assert found is not None and (found.verdict, found.reason) == ("right", "batches not compared: the test says so")


@needs_v4
def test_a_target_with_other_bits_is_found() -> None:
    report = rx.testing.check("llvm{numerics=fast}", only=["sum f32 all"], same_bits=True, jobs=1)
    assert [each.verdict for each in report.verdicts] == ["other bits"], str(report)
    assert "threads=" in report.verdicts[0].reason and not report.is_right
    report = rx.testing.check("llvm{numerics=same}", only=["sum f32 all"], same_bits=True, jobs=1)
    assert report.is_right, str(report)


@pytest.mark.parametrize("declares", [True, False])
def test_numerics_list_the_parts_that_do_not_declare_same_bits(declares: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Unsteady, "same_bits", declares)
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2, 4))}) as f:
        f.returns(relax.tanh(*f))
    program = rx.compile(module, partition=["unsteady_tanh"], cache=False)
    assert len(program.numerics.parts) == (0 if declares else 1)


def test_a_codegen_has_to_declare_same_bits() -> None:
    class Silent(_Unsteady):
        same_bits = False
        patterns = (("silent.tanh", is_op("relax.tanh")(wildcard())),)

    if "silent" not in [each.name for each in rx.codegens.all_codegens()]:
        rx.codegens.register_codegen("silent")(Silent)
    with pytest.raises(rx.RelaxError, match="codegen 'silent' does not declare same_bits"):
        rx.testing.check("silent", only=["tanh f32"], same_bits=True)


def _drawn_models() -> list[str]:
    """Draw three models by the number of `make test`. Without a number they are always the same."""
    names = [each.name for each in all_models()]
    return random.Random(f"{DRAW} same bits").sample(names, 3)


@pytest.mark.slow
def test_drawn_models_have_the_same_bits() -> None:
    chosen = _drawn_models()
    report = rx.testing.check("llvm{numerics=same}", only=chosen, groups=["models"], same_bits=True, jobs=2)
    assert report.is_right and len(report.verdicts) == len(chosen), str(report)
