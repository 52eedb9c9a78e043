# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of the plug-in where torch is not installed. The tests with torch are in test/pytorch."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
import relax_mlir as rx
from relax_mlir import relax

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")


def program() -> rx.runtime.Executable:
    module = rx.Module()
    with module.function("main", {"x": rx.tensor((2, 3))}) as f:
        f.returns(relax.nn.relu(*f))
    return rx.compile(module)


CALLS: dict[str, Callable[[], object]] = {
    "rx.from_torch": lambda: rx.from_torch(Path("model.pt2")),
    "rx.to_torch": lambda: rx.to_torch(program()),
    "rx.torchao_quantizer": lambda: rx.torchao_quantizer("llvm"),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_package_to_install_is_named(name: str) -> None:
    with pytest.raises(rx.RelaxError, match="pip install") as caught:
        CALLS[name]()
    assert "\n" not in str(caught.value)


def test_suffixes_of_torch_are_known() -> None:
    from relax_mlir.frontends.front_end import find_front_end

    front_end = find_front_end("model.pt2")
    assert front_end is not None and front_end.name == "torch"


def test_converters_are_registered_without_torch() -> None:
    from relax_mlir_torch.registry import CONVERTERS

    CONVERTERS.load()
    names = {each.name for each in CONVERTERS.all()}
    assert {"aten::relu", "aten::addmm"} <= names and len(names) > 500
