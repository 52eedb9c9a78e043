# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: F821
"""lit configuration of a package with its own passes: `pip install lit filecheck`, then `lit examples/mynpu/test`.

`lit` defines the name `config`. Copy this file; specific to mynpu are its name and the pass of the test.
"""

import os
import sys
from pathlib import Path

import lit.formats

folder = Path(__file__).resolve().parent
tools = Path(sys.executable).parent  # relax-opt and filecheck are beside the Python that runs lit

config.name = "mynpu"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir"]
config.test_source_root = str(folder)
config.test_exec_root = str(folder.parents[2] / "build" / "lit-mynpu")
config.environment["PATH"] = f"{tools}{os.pathsep}{os.environ['PATH']}"
# The package need not be installed: --load-plugin names its modules.
config.environment["PYTHONPATH"] = str(folder.parent)
config.substitutions.append(("FileCheck", "filecheck"))
