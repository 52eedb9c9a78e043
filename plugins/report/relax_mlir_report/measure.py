# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measurement of a new program with random inputs, for the times in a report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from relax_mlir.runtime import ArtifactError, Executable
from relax_mlir.runtime.artifact import Artifact
from relax_mlir.runtime.cpu import check_architecture, check_features
from relax_mlir.runtime.manifest import Signature
from relax_mlir.support.errors import RelaxError
from relax_mlir.tools.run.input_sizes import InputSizes
from relax_mlir.tools.run.inputs import gathered_inputs, make_inputs, passed, spread_inputs

from .data import Measured
from .roofline import measured_roofline

#: Option for sizes.
OPTION = "--report-shape"
# Fewest and most repetitions of a call, and target time in seconds.
_LEAST_CALLS, _MOST_CALLS, _MOST_SECONDS = 3, 20, 2.0
_MAIN = "main"


def measure(artifact: Artifact, shapes: Mapping[str, Sequence[int]]) -> Measured:
    """Return the time of each kernel, or a note why there are none. Raise RelaxError for wrong shapes."""
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
    return _measure(Executable(artifact, load_later=True), signature, shapes, sizes)


def check_shapes(artifact: Artifact, shapes: Mapping[str, Sequence[int]]) -> None:
    """Raise RelaxError for shapes that the program's function does not accept."""
    _sizes(_function_of(artifact), shapes)


def _function_of(artifact: Artifact) -> Signature:
    """Return the measured function: `main`, or else the first one."""
    return next((signature for signature in artifact.signatures if signature.name == _MAIN), artifact.signatures[0])


def _sizes(signature: Signature, shapes: Mapping[str, Sequence[int]]) -> tuple[dict[str, int], list[str]]:
    """Return the values of symbols, and the names of unbound symbols."""
    described = {input_.name: input_ for input_ in spread_inputs(signature).inputs}
    sizes = InputSizes()
    for name, shape in shapes.items():
        if name not in described or described[name].kind != "tensor":
            known = ", ".join(each.name for each in described.values() if each.kind == "tensor") or "none"
            raise RelaxError(f"{OPTION}: the function has no input '{name}' that is a tensor (it has {known})")
        sizes.bind(name, described[name].shape, shape, OPTION)
    given = dict(sizes.values)
    for each in described.values():
        if each.kind == "tensor" and each.name not in shapes:
            sizes.shape(each.shape)  # unbound symbols become 1
    return given, [name for name in sizes.values if name not in given]


def _measure(
    executable: Executable, signature: Signature, shapes: Mapping[str, Sequence[int]], sizes: Mapping[str, int]
) -> Measured:
    name = signature.name
    try:
        values, _ = make_inputs(spread_inputs(signature), {}, shapes, seed=0)
        given = [passed(value) for value in gathered_inputs(signature, values).values()]
        executable.threads = 1  # like the roofline, which these times are compared with
        executable[name].packed(*given)  # the first call links code and touches memory
        start = time.perf_counter()
        executable[name].packed(*given)
        seconds = time.perf_counter() - start
        repeat = max(_LEAST_CALLS, min(_MOST_CALLS, int(_MOST_SECONDS / max(seconds, 1e-9))))
        profile = executable.profile(name, *given, repeat=repeat, warmup=0)
    except Exception as error:  # the program and functions that it calls may raise anything
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
