# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models as modules."""

from __future__ import annotations

from collections.abc import Mapping

from ...passes.core.journal import timed
from ...support.argument_types import types_checked
from ...support.callbacks import enters
from ...support.collector import uncollected
from ..core.limits import Limits
from ..core.problems import Problems
from ..module import Module
from .build import add_main
from .inputs import InputShape
from .model import errors_in, read_model
from .problems import WORDS


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
    """The module of a model: a path, bytes or an onnx.ModelProto. Its function is `main`.

    `shapes` gives inputs other shapes, None for a dynamic size: `{"x": (None, 3, 224, 224)}`; a list of
    shapes says how many tensors a sequence has, None that an optional is left out.
    A model that becomes more than `most_nodes` nodes, functions expanded and loops unrolled, or whose constants grow by
    more than `most_growth` mebibytes, is refused.
    Raises one RelaxError that lists every node that cannot be imported.
    """
    with timed("import"):
        module, problems, model = Module(), Problems(WORDS), read_model(source, Limits(most_nodes, most_growth))
        with errors_in(model.path):
            add_main(module.operation, model, shapes or {}, problems)
            problems.check()
            module.verify()
    return module
