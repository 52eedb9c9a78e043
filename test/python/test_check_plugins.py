# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of tools/dev/check_plugins.py: imports of names that are not public, and circles."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PUBLIC = {
    "relax_mlir/__init__.py": "",
    "relax_mlir/__init__.pyi": "from .runtime.errors import DeviceError as DeviceError\n",
    "relax_mlir/rules.py": "",
    "relax_mlir/rules.pyi": "from .dialects.infos import is_int as is_int\n",
}


@pytest.fixture
def checker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools" / "dev"))
    import check_plugins

    return check_plugins


def problems(checker: ModuleType, root: Path, **files: str) -> list[str]:
    """Return the problems of a plug-in with these files."""
    texts = {**PUBLIC, **{f"plugins/acme/relax_mlir_acme/{name}.py": text for name, text in files.items()}}
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [f"{each.file.name}:{each.line}: {each.text}" for each in checker.check_plugins(root)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("from relax_mlir import DeviceError", ""),
        ("from relax_mlir.rules import is_int", ""),
        ("from relax_mlir.runtime import Artifact", ""),
        ("from relax_mlir.dialects.core import infos", ""),
        ("from relax_mlir.dialects.core.infos import is_int", ""),
        ("import relax_mlir.bindings", ""),
        ("import numpy", ""),
        ("from relax_mlir import Secret", "`relax_mlir.Secret` is not public"),
        ("from relax_mlir.passes.graph.fuse import regions", "the module `relax_mlir.passes.graph.fuse` is not public"),
        ("from relax_mlir import passes", "`relax_mlir.passes` is not public"),
        ("from relax_mlir.passes import fuse", "the module `relax_mlir.passes` is not public"),
        ("import relax_mlir.targets.llvm.objects", "the module `relax_mlir.targets.llvm.objects` is not public"),
        ("from relax_mlir.dialects.core.infos import _is_int", "`relax_mlir.dialects.core.infos._is_int` is private"),
        ("from relax_mlir.emit._impl import numbers", "the module `relax_mlir.emit._impl` is not public"),
        ("from ..other import name", "the relative import leaves the plug-in"),
        ("from relax_mlir_acme.codegen import name", "imports inside a plug-in are relative"),
        ("from relax_mlir_dnnl import codegen", "must not import the plug-in `relax_mlir_dnnl`"),
    ],
)
def test_imports(checker: ModuleType, tmp_path: Path, line: str, problem: str) -> None:
    found = problems(checker, tmp_path, __init__="", codegen=f"{line}\n")
    assert len(found) == bool(problem)
    assert not problem or problem in found[0] and found[0].startswith("codegen.py:1: ")


def test_a_plug_in_may_import_a_stated_plug_in(
    checker: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checker, "NEEDED", {"acme": ("dnnl",)})
    found = problems(checker, tmp_path, __init__="", a="import relax_mlir_dnnl\nimport relax_mlir_blas\n")
    assert [each.partition(": the plug-in")[0] for each in found] == ["a.py:2"] and "`relax_mlir_blas`" in found[0]


def test_circles_for_annotations_count(checker: ModuleType, tmp_path: Path) -> None:
    checking = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import A\n"
    assert problems(checker, tmp_path, __init__="", a="from . import b\n", b="", c="from .a import A\n") == []
    found = problems(checker, tmp_path, a="from . import b\n", b=checking)
    assert found == ["a.py:1: files import one another: a -> b -> a"]


def test_the_repository_passes(checker: ModuleType) -> None:
    assert checker.check_plugins(REPOSITORY) == []
