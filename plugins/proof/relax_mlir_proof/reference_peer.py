# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reference interpreter as a peer of relax-run --compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir.support.errors import OptionError, RelaxError
from relax_mlir.tools.common.models import read_model
from relax_mlir.tools.run.inputs import Given, passed
from relax_mlir.tools.run.options import REFERENCE
from relax_mlir.tools.run.peer import COMPARISONS, CalledPeer, Compared, numbered


def reference_peer(other: str, program: Compared, inputs: Mapping[str, Given]) -> CalledPeer:
    """Return the reference's results of another model or module, or of the program's own model.

    Programs of --observe contain their original model.
    """
    if other == REFERENCE and program.executable.definitions is None:
        raise OptionError(
            f"--compare=reference interprets the model that {program.path} was made of, and the program does not hold "
            "it: compile with --observe, or name the file of a module, --compare=module.mlir"
        )
    from .interpreter.reference import reference  # needs the compiler
    from .testing.program_values import RESULTS, ProgramValues, flat_results, passed_argument

    given = list(inputs.values())
    if other == REFERENCE:
        values = ProgramValues(program.executable, program.function, given, program.path)
        return _interpret(lambda: values.of_model()[RESULTS][0])
    called = reference(read_model(other))[program.function]
    return _interpret(lambda: flat_results(called(*(passed_argument(passed(each)) for each in given))))


COMPARISONS.register(REFERENCE, reference_peer)


def _interpret(run: Callable[[], Sequence[Any]]) -> CalledPeer:
    try:
        results = run()
    except RelaxError:
        raise
    except (ValueError, TypeError) as error:
        raise OptionError(f"the reference cannot run the module with these inputs: {error}") from None
    return CalledPeer("the reference", 1, run, numbered([result for result in results if result is not None]))
