# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kinds of RelaxError: unreadable input, invalid input, refusals, wrong requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from relax_mlir.bindings.mlir import ir

import relax_mlir as rx
from relax_mlir import relax

KINDS = (rx.ModelError, rx.VerificationError, rx.RefusalError, rx.OptionError, rx.ArtifactError)


@rx.register_pass
@dataclass(frozen=True)
class Invalid(rx.Pass):
    """Pass that leaves an invalid attribute."""

    name: ClassVar[str] = "test-error-kinds-invalid"

    def run(self, op: Any) -> None:
        op.attributes["relax.kernels"] = ir.StringAttr.get("one", op.context)


def with_exp() -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor((4,))]) as f:
        f.returns(relax.exp(*f))
    return module


def called_by_name(result: str = "tensor<4xf32>") -> rx.Module:
    """Return a call of a registered function: C and ONNX have no registry, and its derivative is unknown."""
    call = f'"relax.call_packed"(%x) {{func = "test.kinds"}} : (tensor<4xf32>) -> {result}'
    return rx.Module.parse(f"func.func @main(%x: tensor<4xf32>) -> {result} {{ %0 = {call} return %0 : {result} }}")


def damaged(folder: Path) -> None:
    (folder / "model.rxa").write_bytes(b"no program")
    rx.runtime.load(folder / "model.rxa")


def invalid() -> None:
    module = with_exp()
    module.operation.attributes["relax.any_order"] = ir.StringAttr.get("x", module.operation.context)
    module.verify()


@pytest.mark.parametrize(
    ("kind", "ask"),
    [
        (rx.ModelError, lambda _: rx.Module.parse("func.func @f(")),
        (rx.ModelError, lambda _: rx.from_onnx(b"no model")),
        (rx.ModelError, lambda folder: rx.from_onnx(folder / "missing.onnx")),
        (rx.VerificationError, lambda _: invalid()),
        (rx.VerificationError, lambda _: rx.Pipeline("test-error-kinds-invalid").run(with_exp())),
        (rx.RefusalError, lambda _: rx.compile(with_exp(), "c")),
        (rx.RefusalError, lambda _: rx.sources(called_by_name(), "c")),
        (rx.RefusalError, lambda _: rx.to_onnx(called_by_name())),
        (rx.RefusalError, lambda _: rx.grad(called_by_name("tensor<f32>"))),
        (rx.OptionError, lambda _: rx.compile(with_exp(), "llvn")),
        (rx.OptionError, lambda _: rx.compile(with_exp(), opt_level=7)),
        (rx.OptionError, lambda _: rx.compile(with_exp(), jobs=0)),
        (rx.OptionError, lambda _: rx.Pipeline("relax-inlin")),
        (rx.OptionError, lambda _: rx.Pipeline("relax-canonicalize{max-iterations=0}")),
        (rx.OptionError, lambda _: rx.stages("llvm").drop("fuze")),
        (rx.OptionError, lambda _: rx.compile("module")),
        (rx.ArtifactError, damaged),
    ],
)
def test_the_kind_of_an_error(kind: type[rx.RelaxError], ask: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises(rx.RelaxError) as caught:
        ask(tmp_path)
    assert [each for each in KINDS if isinstance(caught.value, each)] == [kind]
