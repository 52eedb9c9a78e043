# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: F821
"""Configuration of lit for the tests of plug-ins, by that of the core's tests: `lit plugins/spirv/test/lit`.

`lit` gives this file the names `config` and `lit_config`.
"""

from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
lit_config.load_config(config, str(_FOLDER.parent / "test" / "lit.cfg.py"))

config.name = "relax-mlir-plugins"
config.test_source_root = str(_FOLDER)
config.test_exec_root = str(_FOLDER.parent / "build" / "lit" / "plugins")
