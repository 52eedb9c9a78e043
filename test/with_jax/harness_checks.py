# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""jax's own table of functions, a few for each primitive, in two ways: rx.jit, and jax.jit on the platform relax.

The process has both platforms, `JAX_PLATFORMS=relax,cpu`. jax's CPU platform is the oracle.
"""

from __future__ import annotations

import functools
import os
import zlib
from typing import Any, NamedTuple

import jax
import numpy as np
from harness_comparison import UNSTABLE_SORT, difference

import relax_mlir as rx

WAYS = ("jit", "platform")
#: Verdicts, the worst first. jax itself does not run the ones that are "left out".
VERDICTS = ("error", "wrong", "refused", "left out", "passes")
_LEVEL = 0  # of optimization, which is tested elsewhere
_LONGEST = 200


class Verdict(NamedTuple):
    verdict: str
    reason: str = ""


class _Sample(NamedTuple):
    group: str
    function: Any
    arguments: list[Any]
    #: Results of jax's own compiler.
    wanted: Any


@functools.lru_cache(maxsize=1)
def harnesses() -> dict[str, Any]:
    """Return the harnesses that jax can run on CPUs, by name."""
    os.environ.setdefault("RELAX_JAX_OPT_LEVEL", str(_LEVEL))
    from jax._src.internal_test_util import test_harnesses

    return {each.fullname: each for each in test_harnesses.all_harnesses if each.filter("cpu")}


@functools.lru_cache(maxsize=1)
def _sample(name: str) -> _Sample:
    """Return the sample with the same numbers each time. jax's exceptions are raised."""
    harness = harnesses()[name]
    with jax.default_device(jax.devices("cpu")[0]):
        arguments = harness.dyn_args_maker(np.random.RandomState(zlib.crc32(name.encode())))
        wanted = jax.jit(harness.dyn_fun)(*arguments)
    is_unstable = harness.group_name == "sort" and not harness.params["is_stable"]
    group = UNSTABLE_SORT if is_unstable else harness.group_name
    return _Sample(group, harness.dyn_fun, arguments, jax.block_until_ready(wanted))


def check(name: str, way: str) -> Verdict:
    try:
        sample = _sample(name)
    except Exception as error:  # of whatever kind
        return Verdict("left out", f"jax raises {line_of(error)}")
    try:
        got = _by_rx_jit(sample) if way == "jit" else _by_the_platform(sample)
    except Exception as error:  # of whatever kind
        return Verdict("refused" if _is_refusal(error) else "error", line_of(error))
    found = difference(sample.group, sample.arguments, got, sample.wanted)
    return Verdict("wrong", found) if found else Verdict("passes")


def _by_rx_jit(sample: _Sample) -> Any:
    with jax.default_device(jax.devices("cpu")[0]):
        return rx.jit(sample.function, opt_level=_LEVEL)(*sample.arguments)


def _by_the_platform(sample: _Sample) -> Any:
    device = jax.devices("relax")[0]
    arguments = jax.tree.map(
        lambda each: jax.device_put(each, device) if hasattr(each, "shape") else each, sample.arguments
    )
    with jax.default_device(device):
        return jax.block_until_ready(jax.jit(sample.function)(*arguments))


def _is_refusal(error: Exception) -> bool:
    if isinstance(error, jax.errors.JaxRuntimeError):
        return str(error).startswith("UNIMPLEMENTED")
    return isinstance(error, (rx.RelaxError, NotImplementedError))


def line_of(error: Exception) -> str:
    """Return an error in one line: for an import, the first operation that cannot be imported, and why."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    head = lines[0].removeprefix("UNIMPLEMENTED: ")
    if head.endswith("cannot be imported:") and len(lines) > 2:
        cells = lines[2].split("  ")
        return f"{cells[0]}: {cells[-1].strip()}"[:_LONGEST]
    is_ours = isinstance(error, (rx.RelaxError, jax.errors.JaxRuntimeError, NotImplementedError))
    return (head if is_ours else f"{type(error).__name__}: {head}")[:_LONGEST]
