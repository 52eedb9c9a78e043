# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/dev/replay.py: planted differences are found and named by stage and kernel, equal code is equal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools" / "dev"))

import replay  # noqa: E402
import replay_case as pieces  # noqa: E402

RULE, TEXT = Path("targets/default/legalize_activation.py"), Path("plugins/c/relax_mlir_c/source/files.py")


def link_tree(tree: Path, changed: dict[Path, tuple[str, str]], part: Path = Path()) -> Path:
    """Make a tree of links to this one, with a replacement in some files."""
    (tree / part).mkdir()
    for each in (REPOSITORY / part).iterdir():
        file = part / each.name
        if file in changed:
            old, new = changed[file]
            assert each.read_text("utf-8").count(old) == 1
            (tree / file).write_text(each.read_text("utf-8").replace(old, new), "utf-8")
        elif any(file in path.parents for path in changed):
            link_tree(tree, changed, file)
        elif each.name != "__pycache__":
            (tree / file).symlink_to(each)
    return tree


@pytest.mark.slow
def test_planted_differences_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = {RULE: ("half = x * 0.5", "half = x * 0.25"), TEXT: ("/* Written by", "/* Made by")}
    expected = tmp_path / "expected.txt"
    expected.write_text(
        "# comment\nkernel-sum-* c code:sources another comment in C\nnone llvm fuse a reason\n", "utf-8"
    )
    tree = link_tree(tmp_path / "tree", changed)
    cases = ["--cases", "gelu-f32* sum-i32*", "--targets", "c,opencl", "--expected", str(expected), "--show"]
    assert replay.main([str(REPOSITORY), "--head", str(tree), *cases]) == 1
    printed = capsys.readouterr().out
    rows = [line.split() for line in printed.splitlines() if line.startswith("kernel-")]
    assert [(*row[:3], row[3].strip(",")) for row in rows] == [
        ("kernel-nn.gelu-f32-nx40", "c", "legalize", "nn_gelu"),
        ("kernel-nn.gelu-f32-nx40", "opencl", "legalize", "nn_gelu"),
    ]
    assert [row[-1] for row in rows] == ["sources", "opencl-c"]
    assert "expected, but equal: none llvm fuse" in printed
    assert "4 compilations compared: 1 equal, 2 differ, 1 differ as expected" in printed
    assert any(line.startswith("+") and "2.500000e-01" in line for line in printed.splitlines())


def record(error: str = "", step: str = "refused", **stages: dict[str, str]) -> dict[str, Any]:
    return {"pipeline": ["fuse", "plan"], "stages": stages, "error": error, "step": step}


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        (record(fuse={"f": "1"}), record(fuse={"f": "1"}), None),
        (record(fuse={"f": "1", "g": "2"}), record(fuse={"f": "1", "g": "3"}), ("fuse", ("g",))),
        (record(fuse={"f": "1", "g": "2"}), record(fuse={"f": "1"}), ("fuse", ("g",))),
        (record(fuse={"f": "1", "g": "2"}), record(fuse={"g": "2", "f": "1"}), ("fuse", ("(order)",))),
        (record(fuse={}), record(fuse={}, plan={}), ("plan", ("(not in base)",))),
        (record(fuse={}, plan={}), record("E: no", fuse={}), ("plan", ("(not in head: E: no)",))),
        (record(fuse={}, plan={}), record("E: no", refused={"message": "1"}), ("refused", ("(not in base: E: no)",))),
    ],
)
def test_first_difference(base: Any, head: Any, expected: Any) -> None:
    found = replay.difference(("case", "llvm"), base, head)
    assert (found and (found.stage, found.kernels)) == expected


def test_added_stage_is_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    key = ("case", "llvm")
    base, head = record(fuse={"f": "1"}, plan={}), record(fuse={"f": "1"}, bounds={"f": "2"}, plan={})
    head["pipeline"].insert(1, "bounds")
    assert replay.report({key: base}, {key: head}, []) == []
    assert "only in the pipeline of head for llvm, not compared: bounds" in capsys.readouterr().out
    head["stages"]["plan"] = {"f": "3"}
    assert [each.stage for each in replay.report({key: base}, {key: head}, [])] == ["plan"]


def test_case_that_base_cannot_read_is_no_difference(capsys: pytest.CaptureFixture[str]) -> None:
    key = ("case", "llvm")
    unread, read = record("ModelError: syntax", "read"), record(fuse={"f": "1"})
    assert replay.report({key: unread}, {key: read}, []) == []
    assert "base cannot read case for llvm: ModelError: syntax" in capsys.readouterr().out
    assert replay.report({key: read}, {key: unread}, []) != []


def test_pieces_of_text() -> None:
    c = '#include "model.h"\nstatic void add(float *x) {\n  use(x);\n}\n\nint model_main(\n  int n) {\n}'
    assert [name for name, _ in pieces.text_pieces(c)] == ["(head)", "add", "model_main"]
    ptx = ".version 8.0\n\n.visible .entry sum(\n.param .u64 a\n)\n.maxntid 32\n{\nret;\n}\n"
    assert [name for name, _ in pieces.text_pieces(ptx)] == ["(head)", "sum"]
    wgsl = {"kernels": [{"name": "add", "code": "fn main() {\n}"}], "version": 1}
    found = dict(pieces.source_pieces("program.json", json.dumps(wgsl)))
    assert list(found) == ["program.json: add", "program.json: version"]
    assert list(pieces.numbered(iter([("a", "1"), ("a", "2")]))) == ["a", "a (2)"]


def test_tree_of_a_commit(tmp_path: Path) -> None:
    def git(*command: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *command], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for text in ("old", "new"):
        (tmp_path / "file").write_text(text, "utf-8")
        git("add", "file")
        git("commit", "-m", text)
    with replay.tree_of("HEAD~1", tmp_path) as tree:
        assert (tree / "file").read_text("utf-8") == "old"
    assert not tree.exists()
    with (
        pytest.raises(SystemExit, match="'nowhere' is neither a commit nor a folder"),
        replay.tree_of("nowhere", tmp_path),
    ):
        pass


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--targets", "lvm"], "unknown target lvm"), (["--cases", "nothing"], "no case matches nothing")],
)
def test_refusals(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        replay.main(["HEAD", *arguments])
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_case_that_kills_its_process_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = link_tree(tmp_path / "tree", {RULE: ("half = x * 0.5", 'half = __import__("os").abort()')})
    assert replay.main([str(tree), "--cases", "gelu-f32* add-f32*", "--targets", "c"]) == 1
    printed = capsys.readouterr().out
    (row,) = [line for line in printed.splitlines() if line.startswith("kernel-")]
    assert "nn.gelu-f32" in row and "the process ended with status" in row
    assert "2 compilations compared: 1 equal" in printed


def test_short_line_of_expected_differences(tmp_path: Path) -> None:
    (tmp_path / "expected").write_text("case llvm fuse\n", "utf-8")
    with pytest.raises(SystemExit, match="expected `case target stage reason`"):
        replay.read_expected(tmp_path / "expected")


def test_fixed_set() -> None:
    names = [each.name for each in replay.chosen_cases([])]
    kinds = [name.partition("-")[0] for name in names]
    assert len(set(names)) == len(names)
    assert kinds.count("model") >= 30 and kinds.count("kernel") >= 60 and kinds.count("schedule") >= 20
