# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Server of a compiled program, made from the options of relax-serve."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import relax_mlir as rx
from starlette.applications import Starlette

from .http_app import State
from .kserve import ServedProgram, chosen_function, make_kserve_app
from .limits import ServerLimits


class ServerParts(NamedTuple):
    """Application with its state, the names of its models, and the function that ends its threads."""

    app: Starlette
    state: State
    names: Sequence[str]
    end: Callable[[], None]


def program_server(options: argparse.Namespace, limits: ServerLimits, delay: float) -> ServerParts:
    """Return the server of a compiled program."""
    executable = rx.runtime.load(options.model)
    if options.threads is not None:
        executable.threads = options.threads
    function = chosen_function(executable, options.function)
    name = options.name or Path(options.model).stem
    program = ServedProgram(name, executable, function, options.max_batch, delay, options.max_queue)
    state = State()
    app = make_kserve_app(program, state, key=options.api_key, most_bytes=limits.body, origins=options.allow_origin)
    program.batcher.start()
    return ServerParts(app, state, [name], program.batcher.close)
