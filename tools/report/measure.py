# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program that has just been compiled, with random inputs, for the times on the page."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from ...runtime import ArtifactError, Executable
from ...runtime.artifact import Artifact
from ...runtime.executable import check_architecture, check_features
from ...runtime.manifest import Signature
from ...support.errors import RelaxError
from ..run.input_sizes import InputSizes
from ..run.inputs import gathered_inputs, make_inputs, passed, spread_inputs
from .data import Measured
from .roofline import measured_roofline

#: The option that gives sizes.
OPTION = "--report-shape"
# Calls are repeated that often, or for about this many seconds.
_LEAST_CALLS, _MOST_CALLS, _MOST_SECONDS = 3, 20, 2.0
_MAIN = "main"


def measure(artifact: Artifact, shapes: Mapping[str, Sequence[int]]) -> Measured:
    """The times of each kernel; where there can be none, why. Raises RelaxError for shapes that do not fit."""
    signature = _function_of(artifact)
    sizes, unknown = _sizes(signature, shapes)
    try:
        check_architecture(artifact.triple)
        check_features(artifact.features)
    except ArtifactError as error:
        return Measured(sizes=sizes, note=f"No times: the program cannot run here, {error}.")
    if unknown:
        names = ", ".join(unknown)
        return Measured(sizes=sizes, note=f"No times: no size was given for {names}: {OPTION} input:sizes gives it.")
    return _measured(Executable(artifact, load_later=True), signature, shapes, sizes)


def check_shapes(artifact: Artifact, shapes: Mapping[str, Sequence[int]]) -> None:
    """Raises RelaxError for shapes that the program's function does not take."""
    _sizes(_function_of(artifact), shapes)


def _function_of(artifact: Artifact) -> Signature:
    """What is measured: `main`, or the first function where none has that name."""
    return next((each for each in artifact.signatures if each.name == _MAIN), artifact.signatures[0])


def _sizes(signature: Signature, shapes: Mapping[str, Sequence[int]]) -> tuple[dict[str, int], list[str]]:
    """The values of symbols, and the names of those that have none."""
    described = {each.name: each for each in spread_inputs(signature).inputs}
    sizes = InputSizes()
    for name, shape in shapes.items():
        if name not in described or described[name].kind != "tensor":
            known = ", ".join(each.name for each in described.values() if each.kind == "tensor") or "none"
            raise RelaxError(f"{OPTION}: the function has no input '{name}' that is a tensor (it has {known})")
        sizes.bind(name, described[name].shape, shape, OPTION)
    given = dict(sizes.values)
    for each in described.values():
        if each.kind == "tensor" and each.name not in shapes:
            sizes.shape(each.shape)  # symbols that nothing determines become 1
    return given, [name for name in sizes.values if name not in given]


def _measured(
    executable: Executable, signature: Signature, shapes: Mapping[str, Sequence[int]], sizes: Mapping[str, int]
) -> Measured:
    name = signature.name
    try:
        values, _ = make_inputs(spread_inputs(signature), {}, shapes, seed=0)
        given = [passed(value) for value in gathered_inputs(signature, values).values()]
        executable.threads = 1  # as what is held against it, the roofline
        executable[name].packed(*given)  # the first call links code and touches memory
        start = time.perf_counter()
        executable[name].packed(*given)
        seconds = time.perf_counter() - start
        repeat = max(_LEAST_CALLS, min(_MOST_CALLS, int(_MOST_SECONDS / max(seconds, 1e-9))))
        profile = executable.profile(name, *given, repeat=repeat, warmup=0)
    except Exception as error:  # whatever the program and the functions that it calls raise
        return Measured(
            sizes=sizes, note=f"No times: with random inputs {name} failed, {type(error).__name__}: {error}"
        )
    at = f", {', '.join(f'{symbol} = {size}' for symbol, size in sizes.items())}" if sizes else ""
    note = (
        f"Times are means of the middle half of {repeat} calls with random inputs on this machine, on one thread{at}."
    )
    return Measured(
        profile.kernels, profile.unprofiled_seconds, profile.between_seconds, sizes, note, measured_roofline()
    )
