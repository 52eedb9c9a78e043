# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E402, F821
"""Configuration of lit: `lit test`, or `lit --param processes=1 test` for a real process per command.

`lit` gives this file the names `config` and `lit_config`.
"""

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

TEST_FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(TEST_FOLDER))  # lit's workers import the format from here

import lit_inprocess

config.name = "relax-mlir"
config.suffixes = [".mlir", ".py"]
config.excludes = [
    "python",
    "quantize",
    "fuzz",
    "gpu_emulator",
    "Inputs",
    *(file.name for file in TEST_FOLDER.glob("lit*.py")),
]
config.test_source_root = str(TEST_FOLDER)
config.test_exec_root = str(TEST_FOLDER.parent / "build" / "lit")
# Keep compiled code in a folder of this run: no stale code is used, and the user's folder stays unchanged.
CACHE_FOLDER = tempfile.mkdtemp(prefix="relax-lit-cache-")
atexit.register(shutil.rmtree, CACHE_FOLDER, ignore_errors=True)
config.environment["RELAX_MLIR_CACHE"] = CACHE_FOLDER
if "PYTHONPATH" in os.environ:
    config.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]

lit_inprocess.configure(
    config,
    lit_config,
    tools={
        "relax-opt": lit_inprocess.Tool(
            "relax_mlir.tools.relax_opt:run", lit_inprocess.python_tool("relax_mlir.tools.relax_opt", "relax-opt")
        ),
        "relax-compile": lit_inprocess.Tool(
            "relax_mlir.tools.relax_compile:run",
            lit_inprocess.python_tool("relax_mlir.tools.relax_compile", "relax-compile"),
        ),
        "relax-run": lit_inprocess.Tool(
            "relax_mlir.tools.relax_run:run", lit_inprocess.python_tool("relax_mlir.tools.relax_run", "relax-run")
        ),
        "relax-reduce": lit_inprocess.Tool(
            "relax_mlir_proof.relax_reduce:run",
            lit_inprocess.python_tool("relax_mlir_proof.relax_reduce", "relax-reduce"),
        ),
        "FileCheck": lit_inprocess.Tool("lit_builtins:filecheck", lit_inprocess.python_tool("filecheck", "filecheck")),
        "graphs": lit_inprocess.Tool(
            "lit_graphs:run", shlex.join([sys.executable, str(TEST_FOLDER / "lit_graphs.py")])
        ),
        "schedules": lit_inprocess.Tool(
            "lit_schedules:run", shlex.join([sys.executable, str(TEST_FOLDER / "lit_schedules.py")])
        ),
    },
    # Tools import these when they need them, and build the dialects' descriptions with the first context. Loaded here,
    # each of lit's workers does so once for all tests.
    preload=[
        "filecheck.main",
        "numpy",
        "relax_mlir.dialects.context:create_context",
        "relax_mlir.emit.*",
        "relax_mlir.passes.*",
        "relax_mlir.targets.default.target",
        "relax_mlir.targets.host.*",
        "relax_mlir.targets.llvm.*",
        "relax_mlir.tools.compile.driver",
        "relax_mlir.tools.opt.driver",
        "relax_mlir.tools.opt.scripts",
    ],
)
