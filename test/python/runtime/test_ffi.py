# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tvm-ffi without torch: a package of that name records its import, in separate processes."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy
import pytest
import relax_mlir.runtime

import relax_mlir as rx
from relax_mlir import relax

# Attributes of torch that tvm-ffi reads when it is imported and for a stream.
TORCH = """
import types
class Tensor:
    def __init__(self, values=None):
        self.values = values
    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)
    def __dlpack_device__(self):
        return self.values.__dlpack_device__()
    def is_neg(self):
        return False
class dtype:
    def __init__(self, name):
        self.name = name
    def __repr__(self):
        return f"torch.{self.name}"
    __str__ = __repr__
def from_dlpack(tensor):
    import numpy
    return Tensor(numpy.from_dlpack(tensor))
def __getattr__(name):
    if name in ("half", "short", "int", "long", "float", "double", "bool") or name[-1:].isdigit():
        return dtype(name)
    raise AttributeError(name)
class cuda:
    class Stream:
        device, cuda_stream = "cpu", 77
    is_available = staticmethod(lambda: False)
    current_stream = staticmethod(lambda: cuda.Stream)
"""

PRELUDE = """
import sys
saved, x = sys.argv[1], [[1.0, 2.0]]
def program():
    import relax_mlir as rx
    return rx.runtime.load(saved)["main"]
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save x + x, with the stand-in in a folder next to it."""
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("n", 2))}) as f:
        f.returns(relax.add(*f, *f))
    path: Path = tmp_path_factory.mktemp("program") / "double.rxa"
    rx.compile(module).save(path)
    (path.parent / "with" / "torch").mkdir(parents=True)
    (path.parent / "with" / "torch" / "__init__.py").write_text(TORCH)
    (path.parent / "with" / "torch" / "version.py").write_text("")
    return path


def run(saved: Path, code: str) -> None:
    """Run code in a process that finds the stand-in. A failure there fails the test."""
    path = os.pathsep.join([str(saved.parent / "with"), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(code), str(saved)]
    variables = {**os.environ, "PYTHONPATH": path, "TVM_FFI_DISABLE_TORCH_C_DLPACK": "1"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr


def test_a_program_needs_no_torch(saved: Path) -> None:
    run(saved, """
        assert program()(x).tolist() == [[2.0, 4.0]]
        assert "torch" not in sys.modules
        import torch, tvm_ffi  # it is there, and neither has changed what others import
        assert torch.Tensor
    """)  # fmt: skip


def test_torch_that_is_there_is_used(saved: Path) -> None:
    run(saved, """
        import torch
        program()(x)
        import tvm_ffi
        assert tvm_ffi.core.torch is torch
        with tvm_ffi.use_torch_stream():
            assert tvm_ffi.get_raw_stream(tvm_ffi.device("cpu")) == 77
    """)  # fmt: skip


def test_tvm_ffi_that_is_there_is_used(saved: Path) -> None:
    run(saved, """
        import tvm_ffi
        own = tvm_ffi.use_torch_stream
        assert "torch" in sys.modules
        assert program()(x).tolist() == [[2.0, 4.0]] and tvm_ffi.use_torch_stream is own
    """)  # fmt: skip


def test_streams_of_torch_that_comes_later(saved: Path) -> None:
    run(saved, """
        program()(x)
        import tvm_ffi
        kept, context_class, device = tvm_ffi.use_torch_stream, tvm_ffi.StreamContext, tvm_ffi.device("cpu")
        import torch
        with kept():
            assert tvm_ffi.get_raw_stream(device) == 77
        assert tvm_ffi.get_raw_stream(device) == 0
        assert tvm_ffi.use_torch_stream is tvm_ffi.stream.use_torch_stream is not kept
        with kept(), tvm_ffi.use_torch_stream():  # the first one goes on working
            assert tvm_ffi.get_raw_stream(device) == 77
        assert type(tvm_ffi.use_raw_stream(device, 5)) is context_class
    """)  # fmt: skip


def test_streams_import_torch_where_it_is_not_there_yet(saved: Path) -> None:
    run(saved, """
        program()(x)
        import tvm_ffi
        with tvm_ffi.use_torch_stream():
            assert "torch" in sys.modules
    """)  # fmt: skip


def test_streams_without_torch(saved: Path) -> None:
    run(saved, """
        program()(x)
        import tvm_ffi
        sys.modules["torch"] = None
        try:
            tvm_ffi.use_torch_stream()
        except ImportError as error:
            assert "torch" in str(error)
        else:
            raise AssertionError("no error")
    """)  # fmt: skip


def test_torch_that_comes_later_is_known_to_tvm_ffi(saved: Path) -> None:
    run(saved, """
        main = program()
        import numpy, torch, tvm_ffi
        y = main(numpy.ones((1, 2), numpy.float32))
        assert type(y) is numpy.ndarray and tvm_ffi.core.torch is None
        y = main(torch.Tensor(numpy.ones((1, 2), numpy.float32)))
        assert type(y) is torch.Tensor and y.values.tolist() == [[2.0, 2.0]]
        assert tvm_ffi.core.torch is torch
        assert tvm_ffi.convert(torch.dtype("float16")) == tvm_ffi.dtype("float16")
        try:
            tvm_ffi.convert(lambda value: value)(torch.dtype("float16"))
        except ValueError as error:
            assert "Unsupported torch dtype" in str(error) and "torch.float16" in str(error)
        else:
            raise AssertionError("no error")
    """)  # fmt: skip


def test_another_thread_imports_torch_meanwhile(saved: Path) -> None:
    run(saved, """
        import threading
        found = []
        def in_the_middle(event, arguments):
            if event == "exec" and arguments[0].co_filename.endswith("tvm_ffi/registry.py"):
                assert "torch" not in sys.modules  # tvm-ffi has been refused it once
                thread = threading.Thread(target=lambda: found.append(__import__("torch")))
                thread.start()
                thread.join()
        sys.addaudithook(in_the_middle)
        assert program()(x).tolist() == [[2.0, 4.0]]
        assert len(found) == 1 and found[0] is sys.modules["torch"]
        import tvm_ffi
        with tvm_ffi.use_torch_stream():
            assert tvm_ffi.get_raw_stream(tvm_ffi.device("cpu")) == 77
        assert tvm_ffi.core.torch is found[0]
    """)  # fmt: skip


def test_one_file_imports_tvm_ffi() -> None:
    """Import tvm-ffi in one file only, because the first import would otherwise import torch."""
    runtime = Path(relax_mlir.runtime.__file__).parent.resolve()
    files = [
        path for path in runtime.rglob("*.py") if any(map(_imports_tvm_ffi, ast.walk(ast.parse(path.read_text()))))
    ]
    assert [path.relative_to(runtime).as_posix() for path in sorted(files)] == ["ffi.py", "foreign_types.py"]


def _imports_tvm_ffi(node: Any) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not node.level and str(node.module).partition(".")[0] == "tvm_ffi"
    return isinstance(node, ast.Import) and any(each.name.partition(".")[0] == "tvm_ffi" for each in node.names)


def test_sign_of_views(saved: Path) -> None:
    """Ignore the sign of other frameworks' arrays: DLPack cannot describe torch's negated views."""

    class Negated:
        """Array with torch's methods for negated views."""

        def __init__(self, values: Any, is_negated: bool = True) -> None:
            self.values, self._is_negated = numpy.asarray(values, numpy.float32), is_negated

        def is_neg(self) -> bool:
            return self._is_negated

        def resolve_neg(self) -> Negated:
            return Negated(-self.values, False)

        def __dlpack__(self, **options: Any) -> Any:
            return self.values.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.values.__dlpack_device__()

    main = rx.runtime.load(saved)["main"]
    for is_negated, sign in ((False, 1), (True, -1), (False, 1)):
        assert rx.runtime.to_numpy(main(Negated([[1, 2]], is_negated))).tolist() == [[2.0 * sign, 4.0 * sign]]
    assert rx.runtime.to_numpy(Negated([[1, 2]])).tolist() == [[-1.0, -2.0]]
