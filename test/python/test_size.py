# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of tools/dev/size.py: what counts as code, and a goal that is missed."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def size(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools" / "dev"))
    import size

    return size


def test_blank_lines_and_comments_and_docstrings_are_no_code(size: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    head = '"""Module.\n\nMore."""\n\nx = 1  # counts\n\n# no\n\n\n'
    file.write_text(head + 'def f() -> str:\n    """Doc."""\n    return """a\n\nb"""\n')
    assert size._code_lines(file) == 5


def test_plug_ins_and_tests_and_tools_of_developers_are_no_core(size: ModuleType) -> None:
    core = ["passes/a.py", "tools/opt/a.py", "relax_mlir/__init__.py", "targets/host/library/a.mlir"]
    others = ["plugins/c/relax_mlir_c/a.py", "tools/dev/a.py", "test/python/a.py", "bench/a.py", "docs/a.py"]
    assert [name for name in (*core, *others) if size.is_core(PurePosixPath(name))] == core


def test_bare_participles_and_prepositions_count_as_names_but_properties_do_not(size: ModuleType) -> None:
    bare = ["settled", "_taken_apart", "of", "_of_pairs", "found_by"]
    others = ["seed", "sorted_names", "codegen", "from_script", "settle", "offset"]
    assert size.bare_names("".join(f"    def {name}(x):\n" for name in (*bare, *others))) == bare
    assert size.bare_names("@cached_property\ndef closed(self):\n@cache\nasync def closed(x):\n") == ["closed"]


def test_names_of_tests_without_a_statement_count(size: ModuleType) -> None:
    assert all(map(size._RIDDLE.fullmatch, ["test_what_is_refused", "test_it", "test_te_describes_one_too"]))
    assert not any(map(size._RIDDLE.fullmatch, ["test_itself", "test_sums_equal_numpy", "test_one_row_is_read"]))


def test_a_missed_limit_fails(
    size: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for measured, status in ((3, 0), (4, 1)):
        monkeypatch.setattr(size, "GOALS", (size.Goal("lines of nothing", lambda count=measured: count, 3, 1),))
        assert size.main(["--check"]) == status
    assert capsys.readouterr().err.startswith("size.py: lines of nothing: 4, and 3 are allowed")
