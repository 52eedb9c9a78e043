# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of the tests with jax."""

from __future__ import annotations

import os

from run_settings import interruptions, own_cache  # noqa: F401  # fixtures of all tests

# Other platforms are asked for in processes of their own. As many processes run tests as there are CPUs.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
