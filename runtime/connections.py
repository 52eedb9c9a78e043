# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Connections to other machines, which plug-ins announce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..support.registry import NamedRegistry

#: Functions that return the machines of a scheduler by name. `rx.runtime.connect` calls the function `dask`.
CONNECTIONS: NamedRegistry[Callable[[str], Any]] = NamedRegistry("a connection", plugins="connection")
