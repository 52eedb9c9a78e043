# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of torch models as modules."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from relax_mlir.frontends.core.problems import Problems, Words
from relax_mlir.frontends.module import Module
from relax_mlir.frontends.reader import Reader
from relax_mlir.passes.core.journal import timed
from relax_mlir.support.argument_types import types_checked
from relax_mlir.support.callbacks import enters
from relax_mlir.support.collector import uncollected

from .decomposition import functional
from .exported_program import names_of_dims, read_program
from .program_main import add_main
from .registry import CONVERTERS

WORDS = Words(attribute="argument")


@types_checked
@enters
@uncollected()
def from_torch(
    model: object,
    args: Sequence[object] | None = None,
    kwargs: Mapping[str, object] | None = None,
    *,
    dynamic_shapes: object = None,
    keep_params: bool = False,
    trust: bool = False,
) -> Module:
    """Import a torch model. The module's function is `main`.

    The model is a torch.nn.Module with the arguments for tracing, an ExportedProgram, or the path of a .pt2 file.
    `dynamic_shapes` are those for torch.export: `{"x": {0: torch.export.Dim("batch")}}`. The names of dimensions become
    the names of sizes.
    Parameters and buffers are constants of the module, in the model's own memory, which must not change while the
    module is used. With `keep_params`, parameters are arguments behind the model's own. Buffers that a call changes are
    arguments behind these, and results behind the model's own.
    A .pt2 file is read as data. Files with objects of their authors' classes, and files of torch 2.8 and older, are
    refused. With `trust=True`, torch.export.load reads them, which runs code of the file's author.
    Raises one RelaxError that lists every node that cannot be imported, with the line of the model.
    """
    with timed("import"):
        program = functional(read_program(model, args, kwargs, dynamic_shapes, trust=trust))
        names = list(_names(model, tuple(args or ()), dict(kwargs or {}), dynamic_shapes))
        module, problems = Module(), Problems(WORDS)
        add_main(module.operation, program, problems, names, keep_params)
        problems.check()
        module.verify()
    return module


def _names(
    model: object, args: tuple[object, ...], kwargs: dict[str, object], dynamic_shapes: Any
) -> Iterator[list[tuple[int, str]]]:
    """Yield the names in `dynamic_shapes` for the dimensions of each tensor in the arguments, in order."""
    if dynamic_shapes is None:
        return
    bound = inspect.signature(model.forward).bind(*args, **kwargs).arguments  # type: ignore[attr-defined]
    places = dynamic_shapes if isinstance(dynamic_shapes, Mapping) else dict(zip(bound, dynamic_shapes, strict=False))
    for name, value in bound.items():
        if name not in kwargs:
            yield from names_of_dims(value, places.get(name))
    for name, value in kwargs.items():
        yield from names_of_dims(value, places.get(name))


def problems_of(path: str, *, trust: bool = False) -> Problems:
    """Return the import problems of a .pt2 file. `trust` has the meaning of `from_torch`'s argument."""
    module, problems = Module(), Problems(WORDS)
    add_main(module.operation, functional(read_program(path, None, None, trust=trust)), problems, (), False)
    module.verify()
    return problems


READER = Reader(from_torch, problems_of, CONVERTERS.rows, CONVERTERS)
