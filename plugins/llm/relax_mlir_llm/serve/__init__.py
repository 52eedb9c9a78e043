# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-serve: an HTTP server for language models (OpenAI's API) and for compiled programs (KServe v2)."""

from __future__ import annotations

from .tool import main as main
