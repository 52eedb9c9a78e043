# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cache on disk: entries come back, damaged entries do not, and the size never exceeds the limit."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.support import disk_cache
from relax_mlir.support.disk_cache import DEFAULT_LIMIT, DiskCache, default_folder, default_limit
from relax_mlir.support.errors import RelaxError

KEY, OTHER = "ab" * 20, "cd" * 20
MEGABYTE = 1 << 20


def entries(cache: DiskCache) -> list[Path]:
    """Return all cached files, the oldest first."""
    files = [path for path in Path(cache.folder).rglob("*") if path.is_file() and path.name != "written"]
    return sorted(files, key=lambda path: path.stat().st_mtime_ns)


def only_entry(cache: DiskCache) -> Path:
    (path,) = entries(cache)
    return path


@given(st.binary(max_size=3000))
def test_stored_entries_can_be_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    cache = DiskCache(tmp_path_factory.mktemp("cache"))
    assert cache.get("things", KEY) is None
    cache.put("things", KEY, data)
    assert cache.get("things", KEY) == data
    assert DiskCache(cache.folder).get("things", KEY) == data
    assert cache.get("things", OTHER) is None
    assert cache.get("others", KEY) is None
    assert cache.problem == ""


def test_files(tmp_path: Path) -> None:
    cache, out = DiskCache(tmp_path / "cache"), tmp_path / "out"
    (tmp_path / "in").write_bytes(os.urandom(3 * MEGABYTE + 17))
    assert not cache.copy_out("things", KEY, str(out))
    cache.copy_in("things", KEY, str(tmp_path / "in"))
    out.write_text("old")
    assert cache.copy_out("things", KEY, str(out))
    assert out.read_bytes() == (tmp_path / "in").read_bytes()
    with pytest.raises(OSError):
        cache.copy_out("things", KEY, str(tmp_path / "none" / "out"))
    assert sorted(os.listdir(tmp_path)) == ["cache", "in", "out"]


@pytest.mark.parametrize("kind", ["get", "copy_out"])
@pytest.mark.parametrize("damage", ["flipped", "shorter", "longer", "empty"])
def test_damage_counts_as_nothing_and_is_repaired(tmp_path: Path, damage: str, kind: str) -> None:
    cache, out = DiskCache(tmp_path / "cache"), tmp_path / "out"
    cache.put("things", KEY, b"data" * 1000)
    path = only_entry(cache)
    whole = path.read_bytes()
    changed = {"flipped": whole[:99] + b"?" + whole[100:], "shorter": whole[:-1], "longer": whole + b"!", "empty": b""}
    path.write_bytes(changed[damage])
    assert not (cache.get("things", KEY) if kind == "get" else cache.copy_out("things", KEY, str(out)))
    assert not out.exists()
    cache.put("things", KEY, b"data" * 1000)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("place", [("things", OTHER), ("others", KEY)])
@pytest.mark.parametrize("read", ["get", "copy_out"])
def test_the_file_of_another_entry_counts_as_nothing(tmp_path: Path, place: tuple[str, str], read: str) -> None:
    cache, out = DiskCache(tmp_path / "cache"), tmp_path / "out"
    cache.put("things", KEY, b"data")
    theirs = only_entry(cache).read_bytes()
    cache.put(*place, b"another entry's data")
    Path(cache._path(*place)).write_bytes(theirs)
    assert not (cache.get(*place) if read == "get" else cache.copy_out(*place, str(out)))
    assert not out.exists() and cache.get("things", KEY) == b"data"
    cache.put(*place, b"again")
    assert cache.get(*place) == b"again"


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = DiskCache(tmp_path / "file" / "cache")
    cache.put("things", KEY, b"data")
    cache.copy_in("things", KEY, str(tmp_path / "file"))
    assert cache.get("things", KEY) is None
    assert cache.problem == f"nothing is kept in '{tmp_path}/file/cache': Not a directory"
    assert cache.sizes() == {}


def test_a_full_disk_leaves_nothing_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    cache = DiskCache(tmp_path)
    monkeypatch.setattr(disk_cache, "_check", fails)  # which comes behind the data
    cache.put("things", KEY, b"data")
    assert "No space left" in cache.problem
    assert entries(cache) == []


def test_a_cache_that_can_only_be_read_still_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    cache = DiskCache(tmp_path)
    cache.put("things", KEY, b"data")
    for name in ("utime", "unlink", "makedirs"):
        monkeypatch.setattr(os, name, refuses)
    assert cache.get("things", KEY) == b"data"
    cache.put("things", OTHER, b"more")
    assert "Read-only file system" in cache.problem
    only_entry(cache).write_bytes(b"damaged")
    assert cache.get("things", KEY) is None


def test_the_least_recently_used_entries_are_removed(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit=8 * MEGABYTE)
    for index in range(40):
        cache.put("things", f"{index:040x}", os.urandom(MEGABYTE // 2))
        os.utime(cache._path("things", f"{index:040x}"), (index, index))
        assert cache.get("things", f"{0:040x}") is not None  # used all the time
        assert sum(size for _, size in cache.sizes().values()) <= cache.limit
    kept = {int(path.name, 16) for path in entries(cache)}
    assert 0 in kept and 39 in kept and 1 not in kept
    assert len(kept) >= 10


def test_entries_over_a_quarter_of_the_limit_are_not_stored(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit=4 * MEGABYTE)
    cache.put("things", KEY, bytes(MEGABYTE + 1))
    assert entries(cache) == []
    DiskCache(tmp_path, limit=0).put("things", KEY, b"data")
    assert entries(cache) == []


def test_old_partial_files_are_removed(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, limit=MEGABYTE)
    cache.put("things", KEY, b"data")
    folder = only_entry(cache).parent
    for name, age in ((".new-old", 1), (".new-young", None)):
        (folder / name).write_bytes(b"half")
        os.utime(folder / name, age and (age, age))
    assert cache.sizes()["things"][0] == 1
    cache.put("things", OTHER, bytes(200_000))
    assert {path.name for path in entries(cache)} == {".new-young", KEY, OTHER}


def test_sizes_and_clearing(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("not the cache's")
    cache = DiskCache(tmp_path)
    cache.put("a", KEY, b"data")
    cache.put("a", OTHER, bytes(10_000))
    cache.put("b", KEY, b"")
    assert cache.sizes() == {"a": (2, 4096 + 12288), "b": (1, 4096)}
    cache.clear()
    assert cache.sizes() == {}
    assert (tmp_path / "mine.txt").exists()


PROGRAM = """
import sys
from relax_mlir.support.disk_cache import DiskCache
cache = DiskCache(sys.argv[1], limit=3_000_000)
for round in range(3):
    for index in range(60):
        key, data = f"{index:040x}", bytes([index]) * (20_000 + index)
        found = cache.get("things", key)
        assert found in (None, data), index
        cache.put("things", key, data)
assert cache.problem == "", cache.problem
"""


def test_several_processes_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate(timeout=600)[1] for process in processes] == [""] * 4
    assert all(not path.name.startswith(".") for path in entries(DiskCache(tmp_path)))


def test_where_and_how_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(tmp_path))
    assert default_folder() == str(tmp_path)
    monkeypatch.delenv("RELAX_MLIR_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_folder() == "/somewhere/relax-mlir"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", "/elsewhere")
    assert default_folder() == "/elsewhere/.cache/relax-mlir"
    monkeypatch.setenv("XDG_CACHE_HOME", "a/relative/one")
    assert default_folder() == "/elsewhere/.cache/relax-mlir"
    assert default_limit() == DEFAULT_LIMIT
    for text, size in (("0", 0), ("300", 300), ("5k", 5 << 10), ("7M", 7 << 20), (" 2G ", 2 << 30), ("1t", 1 << 40)):
        monkeypatch.setenv("RELAX_MLIR_CACHE_SIZE", text)
        assert default_limit() == size
    for text in ("much", "-1", "1.5G", "G", "4X"):
        monkeypatch.setenv("RELAX_MLIR_CACHE_SIZE", text)
        with pytest.raises(RelaxError, match=f"RELAX_MLIR_CACHE_SIZE={text}: expected a size like 500M or 4G"):
            default_limit()


def test_the_folder_is_the_users_alone(tmp_path: Path) -> None:
    """Code from it is run."""
    mask = os.umask(0)
    try:
        DiskCache(tmp_path / "cache").put("things", KEY, b"code")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "cache" / disk_cache.FORMAT).stat().st_mode) == 0o700, (
        "others can read or write what is run"
    )


def test_a_user_without_a_home_has_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a user without a home has no cache, as in containers.

    `~` would be a folder of that name in the current folder.
    """
    for name in ("RELAX_MLIR_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    assert default_folder() is None
    cache = DiskCache()
    cache.put("things", KEY, b"data")
    assert cache.get("things", KEY) is None and cache.sizes() == {}
    cache.clear()
    message = "nothing is kept: this user has no home folder; RELAX_MLIR_CACHE names another place"
    assert cache.problem == message and list(tmp_path.iterdir()) == []
    monkeypatch.setattr(disk_cache, "_NOTED", set())
    assert DiskCache().new_note() == "", "nothing was to be kept"
    assert cache.new_note() == f"{message}: each start compiles anew"
    assert cache.new_note() == ""


@pytest.mark.parametrize(("mode", "inner"), [(0o777, False), (0o702, False), (0o777, True), (0o775, True)])
def test_a_folder_that_others_may_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, inner: bool
) -> None:
    folder = tmp_path / "relax-mlir"
    monkeypatch.delenv("RELAX_MLIR_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if inner:
        DiskCache(folder).put("things", KEY, b"planted")
        opened = folder / disk_cache.FORMAT
    else:
        folder.mkdir()
        opened = folder
    opened.chmod(mode)
    reason = f"others may write to it, and code from there is run: chmod -R go-w '{opened}'"
    with pytest.raises(RelaxError) as caught:
        DiskCache(folder)
    assert str(caught.value) == f"the cache '{folder}' is not used: {reason}"
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(folder))
    with pytest.raises(RelaxError, match="code from there is run"):
        DiskCache()
    monkeypatch.delenv("RELAX_MLIR_CACHE")
    cache = DiskCache()
    assert cache.get("things", KEY) is None and cache.problem == f"nothing is kept in '{folder}': {reason}"
    cache.put("things", OTHER, b"more")
    opened.chmod(0o700)
    assert DiskCache().get("things", OTHER) is None


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    DiskCache(tmp_path).put("things", KEY, b"data")
    tmp_path.chmod(0o755)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if owner != 0:  # everybody may trust the files of root
        with pytest.raises(RelaxError, match=rf"belongs to another user \({owner}\), and code from there is run"):
            DiskCache(tmp_path)
    found = os.stat
    monkeypatch.setattr(os, "stat", lambda path: os.stat_result((0o40755, 0, 0, 1, 54321, 0, 0, 0, 0, 0)))
    with pytest.raises(RelaxError, match=r"belongs to another user \(54321\)"):
        DiskCache(tmp_path)
    monkeypatch.setattr(os, "stat", found)


def test_folders_that_others_can_read_become_private(tmp_path: Path) -> None:
    """Restrict folders of earlier versions, in which only the files were private."""
    folder = tmp_path / "cache"
    DiskCache(folder).put("things", KEY, b"data")
    assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, folder / disk_cache.FORMAT)] == [0o700, 0o700]
    for mode in (0o775, 0o777):
        folder.chmod(mode)
        assert DiskCache(folder).get("things", KEY) == b"data"
        assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    new = tmp_path / "new"
    new.mkdir(mode=0o700)
    new.chmod(0o775)
    assert DiskCache(new).get("things", KEY) is None and stat.S_IMODE(new.stat().st_mode) == 0o755
