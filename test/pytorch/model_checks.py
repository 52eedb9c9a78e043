# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ways to compile a model of the zoo, and the distance of each result from that of eager mode."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
import torch.utils._pytree as pytree
from model_zoo import Case, apart, dynamic_shapes
from relax_mlir_torch.compile.torch_compile import torch_backend

import relax_mlir as rx

TOLERANCE = 1e-4


def static_error(case: Case) -> float:
    """Export with fixed sizes, compile, call."""
    kwargs = dict(case.kwargs)
    module = rx.from_torch(copy.deepcopy(case.model), case.args, kwargs)
    return apart(rx.compile(module)["main"](*case.args, **kwargs), eager(case, case.args, kwargs))


def dynamic_error(case: Case) -> float | None:
    """Export with dynamic sizes, compile, and call with the sizes of the export and with larger ones.

    Return None if the model has no dynamic sizes.
    """
    shapes = dynamic_shapes(case)
    if shapes is None:
        return None
    kwargs = dict(case.kwargs)
    program = torch.export.export(case.model, case.args, kwargs, dynamic_shapes=shapes, strict=False)
    main = rx.compile(rx.from_torch(program))["main"]
    errors = [
        apart(main(*args, **named), eager(case, args, named))
        for args, named in ((case.args, kwargs), larger(program, case.args, kwargs))
    ]
    return max(errors)


def compiled_error(case: Case) -> float:
    """Call torch.compile's function. A node that would run in eager mode is an error."""
    kwargs = dict(case.kwargs)
    torch._dynamo.reset()
    compiled = torch.compile(copy.deepcopy(case.model), backend=torch_backend, options={"fallback": "error"})
    return apart(compiled(*case.args, **kwargs), eager(case, case.args, kwargs))


def eager(case: Case, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a copy of the model: a call may change its buffers."""
    return copy.deepcopy(case.model)(*args, **kwargs)


def larger(program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments with each symbol of an exported program one larger, by repeating rows."""
    leaves, tree = pytree.tree_flatten((args, kwargs))
    placeholders = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    values = [placeholders.get(name) for name in program.graph_signature.user_inputs]
    grown = [_grown(leaf, value) for leaf, value in zip(leaves, values, strict=True)]
    return pytree.tree_unflatten(grown, tree)


def _grown(leaf: Any, value: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return leaf
    for axis, size in enumerate(value.shape):
        if isinstance(size, torch.SymInt):
            node = size.node
            known = node.shape_env.backed_var_to_val
            new = int(node.expr.subs({each: known[each] + 1 for each in node.expr.free_symbols}))
            leaf = leaf.index_select(axis, torch.arange(new) % leaf.shape[axis])
    return leaf


#: The distance from eager mode by way.
WAYS: dict[str, Callable[[Case], float | None]] = {
    "static": static_error,
    "dynamic": dynamic_error,
    "compile": compiled_error,
}
