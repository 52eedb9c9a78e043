# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Full disk, missing folder for temporary files, limit of file sizes: one exception, and nothing is left over."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from relax_mlir.support import temporary
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.temporary import path_to_write, scratch_file, temporary_folder

PROGRAM = """
import sys
limit, jobs = map(int, sys.argv[1:])
if limit:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
import numpy, relax_mlir as rx
from relax_mlir import relax
module = rx.Module()
with module.function("main", [rx.tensor(("n", 8))]) as f:
    f.returns(relax.nn.softmax(*f))
try:
    main = rx.compile(module, jobs=jobs, cache=False)["main"]
    print("sums to", main(numpy.zeros((3, 8), "float32")).sum())
except rx.RelaxError as error:
    print("refused:", error)
"""


def ran(limit: int, jobs: int, temporary_folder: Path, folder: Path) -> str:
    """Return the output of the program, run in a folder that must stay empty."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(limit), str(jobs)],
        cwd=folder, capture_output=True, text=True, timeout=600,
        env={**os.environ, "TMPDIR": str(temporary_folder), "HOME": str(folder / "no home")},
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done
    assert os.listdir(folder) == []
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_that_is_missing(tmp_path: Path, jobs: int) -> None:
    """Make objects in memory without a folder."""
    assert ran(0, jobs, tmp_path / "none", tmp_path) == "sums to 3.0\n"


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_files_whose_size_is_limited(tmp_path: Path, jobs: int) -> None:
    """Compile in another process, since LLVM ends the process if it cannot write."""
    assert ran(1 << 20, jobs, tmp_path, tmp_path) == "sums to 3.0\n"
    output = ran(4096, jobs, tmp_path, tmp_path)
    assert output.startswith("refused: ") and "the process that made its code" in output
    assert "LLVM ERROR: IO failure on output stream: File too large" in output


def test_without_files_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert not temporary.is_any_size_written()
    with path_to_write() as path:
        Path(path).write_bytes(b"there")
        assert Path(path).parent.parent == tmp_path
    with scratch_file() as file:
        file.write(b"there")
    assert os.listdir(tmp_path) == []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    for make in (path_to_write, temporary_folder, scratch_file):
        message = rf"cannot write temporary files in '{tmp_path}/none': No such file"
        with pytest.raises(RelaxError, match=message), make():
            raise AssertionError("not reached")


def test_errors_inside_of_a_temporary_folder_are_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (temporary_folder, path_to_write):
        monkeypatch.setattr(temporary, "has_files_in_memory", lambda: False)
        with pytest.raises(FileNotFoundError, match="no-such-compiler"), path():
            subprocess.run(["no-such-compiler"])
        with pytest.raises(RelaxError, match=r"cannot write temporary files.*: No space left"), path():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_other_processes_can_write_to_a_file_in_memory() -> None:
    with path_to_write() as path:
        subprocess.run(
            ["/bin/sh", "-c", f"echo there > /proc/{os.getpid()}/{path.removeprefix('/proc/self/')}"], check=True
        )
        assert Path(path).read_bytes() == b"there\n"


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
"""
WRITING = {
    "all": "from relax_mlir.support.files import write_all; write_all({'a': b'1', 'b': bytes(5000)})",
    "artifact": (
        "from relax_mlir.runtime import Artifact; from relax_mlir.runtime.artifact import write_artifact\n"
        "write_artifact(Artifact((), (memoryview(bytes(5000)),)), 'x.rxa')"
    ),
    "array": (
        "import numpy; from relax_mlir.support.array_files import write_npz\nwrite_npz('x', {'a': numpy.ones(5000)})"
    ),
    "dump": (
        "import relax_mlir as rx; from relax_mlir.passes.core.instruments import PrintIR\n"
        "module = rx.Module.parse(''.join(f'func.func private @g{i}()\\n' for i in range(999)))\n"
        "printing = PrintIR(sys.stderr, after=True, folder='.')\n"
        "rx.Pipeline('relax-inline', instruments=[printing]).run(module)"
    ),
}


@pytest.mark.parametrize("what", WRITING)
def test_outputs_without_room_leave_nothing(tmp_path: Path, what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED + WRITING[what]], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert "File too large" in done.stderr.strip().splitlines()[-1], done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_the_cache_without_room_keeps_nothing(tmp_path: Path) -> None:
    program = (
        "from relax_mlir.support.disk_cache import DiskCache\n"
        "cache = DiskCache('.'); cache.put('kind', 'ab', bytes(5000)); print(cache.get('kind', 'ab'), cache.problem)"
    )
    done = subprocess.run(
        [sys.executable, "-c", LIMITED + program], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert done.stdout == f"None nothing is kept in '{tmp_path}': File too large\n", done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
