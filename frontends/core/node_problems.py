# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Problem reports of nodes: exceptions of converters are noted, and the import continues."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ...dialects.core.symbols import SymExpr
from ...support.errors import RelaxError
from .limits import TooLarge
from .node import Incomplete, Node, Unsupported, described
from .problems import Problem, shown
from .values import OneOf, Value

T = TypeVar("T")


def attempted(node: Node, convert: Callable[[], T]) -> T | None:
    """Convert a node. If it cannot be imported, report the problem to its graph and return None."""
    problems = node.graph.problems
    try:
        return convert()
    except Unsupported as problem:
        problems.add(problem_of(node, problem))
    except TooLarge:
        raise
    except RelaxError as error:
        where = f" ({error.notes[-1]})" if error.is_blamed and error.notes else ""
        problems.add(problem_of(node, Unsupported(_describe_refusal(node, error.message + where)), error.__cause__))
    except Incomplete:
        pass  # The problem of the input is reported already.
    except MemoryError:
        raise
    except Exception as error:  # Any unexpected exception of a converter.
        problems.add(_bug_of(node, error))
    return None


def problem_of(node: Node, refusal: Unsupported, cause: BaseException | None = None) -> Problem:
    """Return the report of a node that cannot be imported."""
    return Problem(node.name, node.operator, node.version, refusal.attribute, refusal.reason, refusal.help, cause)


def _bug_of(node: Node, error: Exception) -> Problem:
    """Return the report of an unexpected exception in a converter or evaluator. The traceback is kept."""
    *_, last = traceback.extract_tb(error.__traceback__)
    path = Path(last.filename)
    raised = f"{path.parent.name}/{path.name}:{last.lineno}: {type(error).__name__}: {error}"
    fault = "a bug of the converter, not of the model: please report it"
    reason = f"internal error at {raised}; inputs: {described_inputs(node)}; this is {fault}"
    return problem_of(node, Unsupported(reason), error)


def _describe_refusal(node: Node, message: str) -> str:
    """Return the reason that a node cannot be imported. Refusals by relax operators get the node's inputs appended."""
    return f"{message}; the node's inputs: {described_inputs(node)}" if message.startswith("'relax.") else message


def described_inputs(node: Node) -> str:
    """Return the present inputs by name, type and shape."""
    pairs = zip(node.input_names, node.inputs, strict=False)
    return ", ".join(f"'{shown(name)}' {_describe(value)}" for name, value in pairs if value is not None) or "none"


def _describe(value: object) -> str:
    if isinstance(value, (bool, int, float, str, SymExpr)):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_describe, value))}]"
    if isinstance(value, OneOf):
        return str(value)
    if not isinstance(value, Value):
        return "a sequence or an optional"
    return described(value)
