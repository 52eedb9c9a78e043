# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/dev/check_layers.py: a good tree passes, each rule fails on its own, this repository passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
CHECKER = REPOSITORY / "tools" / "dev" / "check_layers.py"
SPDX = "# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"

GOOD_TREE = {
    "relax_mlir/__init__.py": "from . import api, bindings\nimport relax_mlir.tools\n",
    "relax_mlir/api.py": "from .passes.inline import Inline\n",
    "bindings/wheel.py": "import importlib\n\nir = importlib.import_module('torch_mlir.ir')\n",
    "support/errors.py": "import sys\n\nseen = sys.modules\n",
    "dialects/relax/ops.py": "from ...bindings.mlir import ir\nfrom ..core import table\n",
    "passes/inline.py": "from ..dialects.relax import ops\n\n\ndef run():\n    import numpy\n",
    "passes/types.py": "import typing\n\nif typing.TYPE_CHECKING:\n    import numpy\nelse:\n    x = 1\n",
    "targets/__init__.py": "from . import llvm\n",
    "targets/cuda/a.py": "from .. import core, host\nfrom ... import passes\nfrom ..default import rules\n",
    "targets/cuda/b.py": "from . import a\nfrom ..cuda import a\nfrom ..host.entry import x\n",
    "frontends/onnx/read.py": "import numpy\n\nfrom ...passes import inline\n",
    "tools/opt.py": "from .. import Module\nfrom ..targets import llvm\nfrom ..frontends import onnx\n",
    "tools/dev/report.py": "#!/usr/bin/env python3\n" + SPDX + "import numpy\n\nimport relax_mlir\n",
    "test/python/test_api.py": "import numpy\n\nimport relax_mlir.bindings\n",
    "build/lib/copy.py": "import torch_mlir\n",
    ".venv/lib/site.py": "import torch_mlir\n",
}


def check(root: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, str(CHECKER), str(root)], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def write(root: Path, file: str, text: str) -> None:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.startswith("#!") else SPDX + text, encoding="utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for file, text in GOOD_TREE.items():
        write(tmp_path, file, text)
    return tmp_path


def test_good_tree_passes(tree: Path) -> None:
    assert check(tree) == (0, [])


@pytest.mark.slow
def test_the_repository_passes() -> None:
    assert check(REPOSITORY) == (0, [])


@pytest.mark.parametrize(
    "file, code",
    [
        ("bindings/other.py", "import torch_mlir"),
        ("bindings/other.py", "import mlir.ir as ir"),
        ("dialects/mlir.py", "from torch_mlir import ir"),
        ("passes/a.py", "from mlir.dialects import func"),
        ("passes/a.py", "def late():\n    import torch_mlir.ir"),
        ("passes/a.py", "import importlib\nimportlib.import_module('torch_mlir.ir')"),
        ("passes/a.py", "from importlib import import_module\nimport_module(name='mlir')"),
        ("passes/a.py", "__import__('torch_mlir' + '.ir')"),
        ("passes/a.py", "import importlib\nx = 'ir'\nimportlib.import_module(f'torch_mlir.{x}')"),
        ("passes/a.py", "import sys\nsys.modules['torch_mlir.ir']"),
        ("passes/a.py", "import sys\nsys.modules.get('mlir')"),
        ("relax_mlir/a.py", "import importlib.util\nimportlib.util.find_spec('mlir')"),
        ("test/python/test_a.py", "import pytest\npytest.importorskip('torch_mlir')"),
        ("bench/a.py", "import torch_mlir.passmanager"),
        ("tools/dev/a.py", "import torch_mlir"),
    ],
)
def test_wheel_root_is_named_by_the_shim_alone(tree: Path, file: str, code: str) -> None:
    write(tree, file, code + "\n")
    status, lines = check(tree)
    assert status == 1
    assert len(lines) == 1
    assert lines[0].startswith(f"{file}:{len(code.splitlines()) + 1}:")
    assert "only bindings/wheel.py names the MLIR wheel's root" in lines[0]


@pytest.mark.parametrize(
    "file, code, message",
    [
        (
            "support/a.py",
            "from ..bindings import mlir",
            "`support` must not import `bindings`; it may import: no other",
        ),
        ("emit/a.py", "from ..passes.core import base", "`emit` must not import `passes/core`"),
        ("passes/core/a.py", "from ...targets.core import registry", "`passes/core` must not import `targets/core`"),
        ("passes/core/a.py", "from .. import inline", "`passes/core` must not import `passes`"),
        ("tools/a.py", "import relax_mlir_tune.tool", "the core must not import the plug-in `relax_mlir_tune`"),
        ("relax_mlir/a.py", "__import__('relax_mlir_tune')", "the core must not import the plug-in `relax_mlir_tune`"),
        ("targets/core/a.py", "from ..llvm import target", "`targets/core` must not import `targets`"),
        ("passes/a.py", "from ..targets.llvm import target", "`passes` must not import `targets`"),
        (
            "targets/cuda/a.py",
            "from ..llvm.units import x",
            "the target `cuda` must not import the target `llvm`: what",
        ),
        ("targets/cuda/a.py", "from .. import core, llvm", "the target `cuda` must not import the target `llvm`"),
        ("targets/cuda/passes/a.py", "from ...llvm import x", "the target `cuda` must not import the target `llvm`"),
        *(
            ("targets/gpu/a.py", f"from ..{other} import x", f"the target `gpu` must not import the target `{other}`")
            for other in ("cuda", "llvm")
        ),
        ("targets/default/a.py", "from ...targets import llvm", "`default` must not import the target `llvm`"),
        ("bindings/a.py", "from ..dialects import relax", "`bindings` must not import `dialects`"),
        ("bindings/a.py", "from .. import passes", "`bindings` must not import `passes`"),
        ("dialects/relax/a.py", "from ...passes.inline import x", "`dialects` must not import `passes`"),
        ("dialects/tir/__init__.py", "from ... import tools", "`dialects` must not import `tools`"),
        ("passes/a.py", "from ..targets import llvm", "`passes` must not import `targets`"),
        ("passes/a.py", "def f():\n    from ..runtime import abi", "`passes` must not import `runtime`"),
        ("passes/a.py", "from .. import Module", "`passes` must not import the front door"),
        ("passes/a.py", "from ..api import Module", "`passes` must not import the front door"),
        ("frontends/a.py", "from ..tools import opt", "`frontends` must not import `tools`"),
        ("targets/llvm/a.py", "from ...frontends import onnx", "`targets` must not import `frontends`"),
        ("runtime/a.py", "from .. import Module", "`runtime` must not import the front door"),
    ],
)
def test_imports_go_downward(tree: Path, file: str, code: str, message: str) -> None:
    write(tree, file, code + "\n")
    status, lines = check(tree)
    assert status == 1
    assert len(lines) == 1
    assert lines[0].startswith(f"{file}:{len(code.splitlines()) + 1}:")
    assert message in lines[0]


def test_error_of_a_layer_says_what_is_allowed(tree: Path) -> None:
    write(tree, "dialects/a.py", "from ..passes import inline\n")
    write(tree, "bindings/a.py", "from ..passes import inline\n")
    _, lines = check(tree)
    assert lines == [
        "bindings/a.py:2:1: error: `bindings` must not import `passes`; it may import: support",
        "dialects/a.py:2:1: error: `dialects` must not import `passes`; it may import: support, bindings",
    ]


@pytest.mark.parametrize("code", ["import relax_mlir.dialects", "from relax_mlir.dialects import relax"])
def test_absolute_self_import(tree: Path, code: str) -> None:
    write(tree, "passes/a.py", code + "\n")
    status, lines = check(tree)
    assert status == 1
    text = "absolute import of `relax_mlir.dialects`: imports inside the package are relative"
    assert lines == [f"passes/a.py:2:1: error: {text}"]


def test_relative_import_out_of_the_package(tree: Path) -> None:
    write(tree, "passes/a.py", "from ...numpy import array\n")
    status, lines = check(tree)
    assert status == 1
    assert lines == ["passes/a.py:2:1: error: the relative import leaves the package `relax_mlir`"]


@pytest.mark.parametrize(
    ("body", "is_lost"),
    [
        ("[start for start in x]; return [start + y for y in x]", True),
        ("{start: 1 for start in x}; return lambda: start", True),
        ("[each for each in x]; return [start + y for y in x]", False),
        ("[start for start in x]; return [y for y in x]", False),
        ("start = 1; [start for start in x]; return [start + y for y in x]", False),
    ],
)
def test_a_comprehension_that_loses_a_name(tree: Path, body: str, is_lost: bool) -> None:
    """Check the rule about comprehensions, and that CPython 3.12 behaves as the rule says where it is available."""
    text = f"{SPDX}def around(start, x):\n    def inner():\n        {body}\n    return inner\n"
    (tree / "passes/inline.py").write_text(text, encoding="utf-8")
    status, lines = check(tree)
    assert status == is_lost and [line for line in lines if "hides the one around" in line] == lines[:is_lost]
    if (3, 12) <= sys.version_info < (3, 14) and is_lost and "lambda" not in body:
        names: dict[str, object] = {}
        exec(text, names)
        with pytest.raises(NameError):
            names["around"](1, [2])()  # type: ignore[operator]


def test_long_file(tree: Path) -> None:
    write(tree, "passes/full.py", "x = 1\n" * 499)
    assert check(tree) == (0, [])
    write(tree, "passes/full.py", "x = 1\n" * 500)
    status, lines = check(tree)
    assert status == 1
    assert lines == ["passes/full.py:501:1: error: 501 lines; a file has 500 at most: split it at a seam"]


@pytest.mark.parametrize("text", ["", "x = 1\n", "# SPDX-License-Identifier: MIT\n", "\n" + SPDX])
def test_header(tree: Path, text: str) -> None:
    (tree / "passes" / "a.py").write_text(text, encoding="utf-8")
    status, lines = check(tree)
    assert status == 1
    assert lines == [f"passes/a.py:1:1: error: the file does not start with `{SPDX.rstrip()}`"]


@pytest.mark.parametrize("folder", ["relax_mlir", "bindings", "dialects/relax", "passes", "tools"])
@pytest.mark.parametrize(
    "code",
    [
        "import numpy as np",
        "import os, numpy.linalg",
        "from scipy import special",
        "try:\n    import ml_dtypes\nexcept ImportError:\n    pass",
        "class A:\n    import numpy",
    ],
)
def test_slow_import_at_start_up(tree: Path, folder: str, code: str) -> None:
    write(tree, f"{folder}/a.py", code + "\n")
    status, lines = check(tree)
    assert status == 1
    assert len(lines) == 1
    assert lines[0].endswith("imported when the module is: import it inside the function that needs it")


def test_circular_imports_of_files_are_errors(tree: Path) -> None:
    write(tree, "passes/c.py", "from .fuse import b\n")
    write(tree, "passes/fuse/a.py", "import sys\nfrom .. import c\n")
    write(tree, "passes/fuse/b.py", "from .a import x\n")
    write(tree, "relax_mlir/one.py", "from .two import x\n")
    write(tree, "relax_mlir/two.py", "from . import one\n")
    assert check(tree) == (
        1,
        [
            "passes/c.py:2:1: error: files import one another: "
            "passes/c.py -> passes/fuse/b.py -> passes/fuse/a.py -> passes/c.py",
            "passes/c.py:2:1: error: folders import one another: passes -> passes/fuse -> passes",
            "relax_mlir/one.py:2:1: error: files import one another: "
            "relax_mlir/one.py -> relax_mlir/two.py -> relax_mlir/one.py",
        ],
    )


@pytest.mark.parametrize(
    "late",
    [
        "def late():\n    from .a import x",
        "class C:\n    async def late(self):\n        if self:\n            from . import a",
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    pass\nelse:\n    from .a import x",
    ],
)
def test_circle_that_a_function_closes(tree: Path, late: str) -> None:
    write(tree, "passes/fuse/a.py", "from .b import x\n")
    write(tree, "passes/fuse/b.py", late + "\n")
    text = "files import one another: passes/fuse/a.py -> passes/fuse/b.py -> passes/fuse/a.py"
    assert check(tree) == (1, [f"passes/fuse/a.py:2:1: error: {text}"])


def test_circle_that_annotations_close(tree: Path) -> None:
    write(tree, "passes/fuse/a.py", "from .b import x\n")
    write(tree, "passes/fuse/b.py", "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from .a import x\n")
    text = "files import one another: passes/fuse/a.py -> passes/fuse/b.py -> passes/fuse/a.py"
    assert check(tree) == (1, [f"passes/fuse/a.py:2:1: error: {text}"])


@pytest.mark.parametrize("back", ["from ..rows import one", "if TYPE_CHECKING:\n    from ..rows.one import x"])
def test_circular_imports_of_folders_are_errors(tree: Path, back: str) -> None:
    """Find circles between folders even if no two files import each other. Imports for annotations count."""
    write(tree, "passes/rows/one.py", "")
    write(tree, "passes/rows/two.py", "from ..fuse.b import x\n")
    write(tree, "passes/fuse/a.py", back + "\n")
    write(tree, "passes/fuse/b.py", "")
    status, lines = check(tree)
    line = 2 + back.count("\n")
    assert status == 1
    assert lines == [
        f"passes/fuse/a.py:{line}:{5 if line > 2 else 1}: error: folders import one another: "
        "passes/fuse -> passes/rows -> passes/fuse"
    ]


def test_file_that_cannot_be_read_as_python(tree: Path) -> None:
    write(tree, "passes/a.py", "def f(:\n")
    (tree / "passes" / "b.py").write_bytes(SPDX.encode() + b"# \xff\n")
    status, lines = check(tree)
    assert status == 1
    assert len(lines) == 2
    assert lines[0].startswith("passes/a.py:2:7: error: not valid Python: ")
    assert lines[1].startswith("passes/b.py:1:1: error: not UTF-8: ")


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(CHECKER), str(tmp_path / "nothing")], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "nothing is not a folder" in done.stderr
    assert "Traceback" not in done.stderr
