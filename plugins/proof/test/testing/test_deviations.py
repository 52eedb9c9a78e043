# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A codegen's declared deviations for NaN differ from errors. Every other wrong result is an error."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op
from relax_mlir.testing import Report
from relax_mlir_proof.interpreter.execution import Machine
from relax_mlir_proof.testing.noise import Noise

REASON = "its table has no entry for NaN"


@rx.codegens.register_codegen("forgetful")
class Forgetful(rx.codegens.Codegen):
    """Functions that never return NaN. sinh is wrong for all numbers."""

    patterns = tuple((f"forgetful.{name}", is_op(f"relax.{name}")) for name in ("tanh", "exp", "sinh"))
    deviations = {"relax.tanh": REASON, "relax.sinh": REASON}  # noqa: RUF012  # as users write it

    def compile(self, module: object, options: Any) -> bytes:
        names = {name: part.steps[0].composite for name, part in self.steps(module).items()}
        return repr(names).encode()

    def load(self, data: Any) -> Any:
        import ast

        return {name: _function(composite) for name, composite in ast.literal_eval(bytes(data).decode()).items()}


def _function(composite: str) -> Any:
    function = {"tanh": numpy.tanh, "exp": numpy.exp, "sinh": numpy.cosh}[composite.partition(".")[2]]

    def run(x: Any, out: Any) -> None:
        found = function(rx.runtime.to_numpy(x))
        rx.runtime.to_numpy(out)[...] = numpy.where(numpy.isnan(found), 1, found)

    return run


def check(name: str) -> Report:
    """Check a function. With this seed the special numbers include a NaN."""
    return rx.testing.check("forgetful", only=[f"{name} f32", f"{name} f32 special"], seed=5, jobs=1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_declared_differences_are_deviations() -> None:
    report = check("tanh")
    assert report.is_right, str(report)
    assert [each.verdict for each in report.verdicts] == ["deviates", "right"]
    assert f"\ndeviates (1): {REASON}" in str(report)
    again = Report.from_json(report.to_json())
    assert again.worse_than(again) == []


@pytest.mark.parametrize(("name", "verdicts"), [("exp", ["wrong", "right"]), ("sinh", ["wrong", "wrong"])])
def test_undeclared_differences_are_wrong(name: str, verdicts: list[str]) -> None:
    assert [each.verdict for each in check(name).verdicts] == verdicts


@pytest.mark.parametrize(
    ("deviations", "message"),
    [
        (["relax.tanh"], "deviations has to be a mapping of operators' names to reasons"),
        ({"relax.tanh": 1}, "deviations has to be a mapping of operators' names to reasons"),
    ],
)
def test_deviations_without_reasons_are_refused(deviations: Any, message: str) -> None:
    with pytest.raises(rx.RelaxError, match=message):
        rx.codegens.register_codegen("reasonless")(
            type("Reasonless", (rx.codegens.Codegen,), {"deviations": deviations})
        )


def test_deviations_of_unknown_operators_are_refused() -> None:
    codegen = type("Unknown", (rx.codegens.Codegen,), {"deviations": {"relax.tahn": "so it is"}})
    rx.codegens.register_codegen("of_unknown")(codegen)
    module = rx.Module()
    with module.function("main", [rx.tensor((2,))]) as f:
        f.returns(*f)
    with pytest.raises(rx.RelaxError, match=r"codegen 'of_unknown': unknown operator .relax.tahn."):
        rx.compile(module, partition=["of_unknown"])


def _results_with_noise(body: Any, x: Any, deviating: str) -> list[bytes]:
    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape)]) as f:
        f.returns(body(*f))
    found = (Machine(module.operation, around=Noise(seed, {deviating}).around).call("main", [x]) for seed in range(20))
    return [each.tobytes() for (each,) in found]


@pytest.mark.parametrize(
    ("body", "deviating"),
    [
        (lambda x: relax.argmax(x, axis=1), "relax.argmax"),
        (lambda x: relax.sort(x, axis=1), "relax.sort"),
        (lambda x: relax.isnan(relax.maximum(x, x)), "relax.maximum"),
    ],
)
def test_results_that_depend_on_a_deviation_are_undetermined(body: Any, deviating: str) -> None:
    plain, special = numpy.float32([[3, 1, 2, 4]]), numpy.float32([[3, numpy.nan, 2, 4]])
    assert len({*_results_with_noise(body, special, deviating)}) > 1
    assert len({*_results_with_noise(body, special, "relax.exp")}) == 1
    assert len({*_results_with_noise(body, plain, deviating)}) == 1
