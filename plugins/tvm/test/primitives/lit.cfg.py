# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: F821
"""Configuration of lit, by that of the core's tests: `lit plugins/tvm/test/primitives`.

`lit` gives this file the names `config` and `lit_config`.
"""

from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
_ROOT = _FOLDER.parents[3]
lit_config.load_config(config, str(_ROOT / "test" / "lit.cfg.py"))

config.name = "relax-mlir-tvm"
config.test_source_root = str(_FOLDER)
config.test_exec_root = str(_ROOT / "build" / "lit" / "tvm")
