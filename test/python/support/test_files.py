# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that exist whole or not at all, also after a crash of the machine."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from relax_mlir.runtime import ArtifactError
from relax_mlir.runtime.artifact import write_pieces


def test_the_bytes_are_on_the_disk_before_they_have_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, steps = tmp_path / "file", list[tuple[str, int]]()
    fsync, replace = os.fsync, os.replace

    def noted_fsync(number: int) -> None:
        steps.append(("fsync", os.fstat(number).st_size))
        fsync(number)

    def noted_replace(source: Any, target: Any) -> None:
        steps.append(("replace", os.stat(source).st_size))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_pieces(path, [b"one", b"", memoryview(b"two")])
    assert steps == [("fsync", 6), ("replace", 6)]
    assert path.read_bytes() == b"onetwo" and os.listdir(tmp_path) == ["file"]


def test_no_part_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")

    def pieces() -> Iterator[bytes]:
        yield b"a" * 100_000
        assert path.read_bytes() == b"before"
        yield b"b"

    write_pieces(path, pieces())
    assert path.read_bytes() == b"a" * 100_000 + b"b"


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_failed_write_leaves_the_file_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")

    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def pieces() -> Iterator[bytes]:
        yield b"part"
        if step == "write":
            full()

    if step != "write":
        monkeypatch.setattr(os, step, full)
    with pytest.raises(ArtifactError, match="file: cannot be written: No space left on device"):
        write_pieces(path, pieces())
    assert path.read_bytes() == b"before" and os.listdir(tmp_path) == ["file"]


def test_the_mode_is_that_of_new_files(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_pieces(tmp_path / "file", [b""])
    finally:
        os.umask(mask)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
