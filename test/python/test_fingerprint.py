# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fingerprints of plug-ins: they change with any of the files, and do not exist for too many files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from relax_mlir.compilation import fingerprint
from relax_mlir.compilation.fingerprint import plugin_fingerprint, target_fingerprint


def package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    inside = folder / "some_plugin" / "inside"
    inside.mkdir(parents=True)
    for path in (inside.parent / "__init__.py", inside / "__init__.py", inside / "table.json"):
        path.write_text("{}")
    monkeypatch.syspath_prepend(str(folder))
    return inside


def test_the_fingerprint_changes_with_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = package(tmp_path, monkeypatch)
    found = [plugin_fingerprint("some_plugin.inside")]
    os.utime(inside / "table.json", (1, 1))
    found.append(plugin_fingerprint("some_plugin.inside"))
    (inside / "new.txt").touch()
    found.append(plugin_fingerprint("some_plugin.inside"))
    assert len({*found, None}) == 4
    assert found[2] == plugin_fingerprint("some_plugin")


def test_large_packages_have_no_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path, monkeypatch)
    monkeypatch.setattr(fingerprint, "_MOST_FILES", 3)
    assert plugin_fingerprint("some_plugin") is not None
    monkeypatch.setattr(fingerprint, "_MOST_FILES", 2)
    assert plugin_fingerprint("some_plugin") is None
    assert plugin_fingerprint("no_such_plugin_anywhere") is None


@pytest.mark.parametrize(
    ("name", "found"), [("llvm", ""), ("default", ""), ("mynpu", None), ("", None), ("../llvm", None)]
)
def test_own_targets(name: str, found: str | None) -> None:
    assert target_fingerprint(name) == found
