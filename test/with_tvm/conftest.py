# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of the tests with TVM."""

from __future__ import annotations

from run_settings import interruptions, no_whole_programs, own_cache, whole_programs  # noqa: F401  # fixtures of all tests
