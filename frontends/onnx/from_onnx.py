# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of ONNX models as modules."""

from __future__ import annotations

from collections.abc import Mapping

from ...passes.core.journal import timed
from ...support.argument_types import types_checked
from ...support.callbacks import enters
from ...support.collector import uncollected
from ..core.limits import Limits
from ..core.problems import Problems
from ..module import Module
from ..reader import Reader
from .build import add_main
from .inputs import InputShape
from .model import errors_in, read_model
from .problems import WORDS
from .registry import all_converters


@types_checked
@enters
@uncollected()
def from_onnx(
    source: object,
    *,
    shapes: Mapping[str, InputShape] | None = None,
    most_nodes: int = Limits.most_nodes,
    most_growth: int = Limits.most_growth,
) -> Module:
    """Import an ONNX model: a path, bytes or an onnx.ModelProto. The module's function is `main`.

    `shapes` gives inputs other shapes, with None for a dynamic size: `{"x": (None, 3, 224, 224)}`. For a sequence, a
    list of shapes says how many tensors it has. For an optional, None leaves it out.
    A model is refused if it expands to more than `most_nodes` nodes, with functions inlined and loops unrolled. It is
    also refused if its constants grow by more than `most_growth` mebibytes.
    Raises one RelaxError that lists every node that cannot be imported.
    """
    with timed("import"):
        module, problems, model = Module(), Problems(WORDS), read_model(source, Limits(most_nodes, most_growth))
        with errors_in(model.path):
            add_main(module.operation, model, shapes or {}, problems)
            problems.check()
            module.verify()
    return module


def problems_of(path: str, *, shapes: Mapping[str, InputShape] | None = None, limits: Limits | None = None) -> Problems:
    """Return the nodes of a file that cannot be imported."""
    problems, module, model = Problems(WORDS), Module(), read_model(path, limits or Limits())
    with errors_in(model.path):
        add_main(module.operation, model, shapes or {}, problems)
        module.verify()
    return problems


def _operators() -> list[tuple[str, str, str]]:
    """Return each operator with the first version and the location of its converter."""
    return [
        (f"{converter.domain}.{converter.name}".lstrip("."), f"{converter.since:>3}", converter.place)
        for converter in all_converters()
    ]


READER = Reader(from_onnx, problems_of, _operators)
