# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegens of the tutorials in relax-check: what a reader copies computes right results, also for models of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir.passes.core.external import CODEGENS
from relax_mlir.passes.graph.partition.codegen import find_codegen, operators_of
from relax_mlir.support import external_runtime

ROOT = Path(__file__).resolve().parents[4]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Codegens by page. The others of the tutorials are wrong on purpose, to show how that is found.
PAGES = {"mynpu": "quantize_for_my_accelerator", "layers": "byoc", "unit": "trace"}
#: Codegens that are wrong, decline everything, or take kernels, which have no cases.
OTHERS = {"rowlib", "forgetful", "careless", "boxnpu", "ohwi", "rules_unit", "scaler"}


@pytest.fixture
def registered(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run the blocks of a page up to the one that registers a codegen, and return its name."""
    monkeypatch.chdir(ROOT)
    name = request.param
    text = (ROOT / "docs" / "tutorials" / f"{PAGES[name]}.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": f"tutorial_{name}"}
    for block in BLOCK.findall(text):
        if CODEGENS.find(name) is None:
            exec(compile(block, f"{name}.py", "exec"), names)
    yield name
    CODEGENS.entries.pop(name, None)
    external_runtime._RUNTIMES.entries.pop(name, None)


@pytest.mark.parametrize("registered", PAGES, indirect=True)
def test_a_share_of_the_cases_is_right(registered: str) -> None:
    only = [f"{registered}.*", *(f"{each}*" for each in operators_of(find_codegen(registered)))]
    report = rx.testing.check(registered, groups=["composites", "recipes", "operators"], only=only, share=0.1, jobs=1)
    assert len(report.verdicts) > 1
    assert report.is_right, report.faults


def test_all_codegens_of_the_pages_are_known() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "tutorials").glob("*.md"))
    assert set(re.findall(r'register_codegen\("(\w+)"\)', text)) == {*PAGES, *OTHERS}
