# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models as cases: valid modules with fitting calls, some of which run, and errors in their use."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir_proof.testing import usage
from relax_mlir_proof.testing.core.networks import Model
from relax_mlir_proof.testing.every_model import all_models

DRAWN = ("unet", "llama", "lstm", "qdq_cnn")


def test_models_have_static_and_dynamic_sizes() -> None:
    models = all_models()
    names = [each.name for each in models]
    assert len(names) == len(set(names)) >= 25
    assert sum(bool(each.sizes[0]) for each in models) >= 10
    assert all(len(each.sizes) > 1 for each in models)


@pytest.mark.parametrize("model", all_models(), ids=lambda each: each.name)
def test_a_model_is_valid_and_its_calls_fit(model: Model) -> None:
    module, calls, *_ = model.made(0)
    module.verify()
    results = [rx.reference(module)["main"](*arguments) for arguments in calls]
    assert str(module) == str(model.made(0).module) != str(model.made(1).module)
    if model.sizes[0] != model.sizes[1]:
        assert shapes(calls[0]) != shapes(calls[1])
    for found in results:
        arrays = [numpy.asarray(each) for each in (found if isinstance(found, (list, tuple)) else [found])]
        assert all(numpy.isfinite(each.astype("float64")).all() for each in arrays)
        assert any(len(numpy.unique(each)) > 1 for each in arrays)


def shapes(arrays: Any) -> list[Any]:
    return [each.shape for each in arrays]


@pytest.mark.slow
def test_models_are_right() -> None:
    report = rx.testing.check("llvm", groups=["models"], only=DRAWN, jobs=2)
    assert report.is_right and {each.case for each in report.verdicts} == {*DRAWN, "unet quantized"}, str(report)


def program() -> tuple[rx.Executable, list[Any], list[Any]]:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 4))}) as f:
        f.returns(relax.exp(*f))
    executable, x = rx.compile(module), numpy.ones((3, 4), "float32")
    executable.threads = 2
    return executable, [x], usage.called(executable, [x])


def test_a_right_program_has_no_problem() -> None:
    executable, arguments, expected = program()
    assert usage.change_in_use(executable, arguments, expected) == ""
    assert usage.wrong_argument_taken(executable, arguments) == ""


def test_other_bits_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    executable, arguments, expected = program()

    def other_when(is_other: Any) -> str:
        real = usage.called

        def made(held: rx.Executable, arrays: Any, *pattern: bytes) -> Any:
            found = real(held, arrays, *pattern)
            return [each + 1 for each in found] if is_other(held) else found

        with monkeypatch.context() as context:
            context.setattr(usage, "called", made)
            return usage.change_in_use(executable, arguments, expected)

    calls: list[Any] = []
    assert "one thread" in other_when(lambda held: held.threads == 1)
    assert "loaded" in other_when(lambda held: held is not executable)
    # One thread, the loaded program, then both by turns.
    assert "at once" in other_when(lambda held: calls.append(held) or len(calls) > 2)


def test_a_program_that_takes_anything_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    executable, arguments, _ = program()
    refused = usage.called

    def takes(executable: rx.Executable, arrays: Any) -> Any:
        return refused(executable, arrays) if arrays[0].dtype == numpy.float64 else []

    monkeypatch.setattr(usage, "called", lambda executable, arrays: [])
    assert usage.wrong_argument_taken(executable, arguments) == "it takes float64 as argument 0, of float32"
    monkeypatch.setattr(usage, "called", takes)
    assert usage.wrong_argument_taken(executable, arguments) == "it takes one dimension more in argument 0"
