# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that nodes of a .pt2 archive may call.

torch resolves a name such as `torch.ops.load_library` by walking through its modules, and calls the function with the
node's arguments when it decomposes the program. Only operators that compute are accepted.
"""

from __future__ import annotations

import re
from typing import Any

from ..fx_operators import functional_name, name_of
from ..registry import find_complex_converter, find_converter
from .problems import refuse, shortened

_OPERATOR = re.compile(r"torch\.ops\.(\w+)\.(\w+)(?:\.(\w+))?")
_HIGHER_ORDER = "higher_order"
#: Namespaces of torch that consist of computations, for tensors without elements too.
_COMPUTING = ("aten", "prims")
#: Operators of these namespaces that touch the outside.
_TOUCHING = ("aten::from_file",)
#: Functions of Python that exported programs call: what torch.vmap and forward derivatives consist of, and options.
_FUNCTIONS = frozenset(
    [
        f"torch._functorch.predispatch.{name}"
        for name in "lazy_load_decompositions _vmap_increment_nesting _vmap_decrement_nesting _add_batch_dim "
        "_remove_batch_dim _make_dual _unpack_dual _jvp_increment_nesting _jvp_decrement_nesting _unwrap_for_grad "
        "_enter_dual_level _exit_dual_level".split()
    ]
    + ["torch._higher_order_ops._invoke_quant.InvokeQuant"]
)


def check_target(target: str) -> str:
    """Return the name of an operator. Raise UnreadableError if calling the operator may do more than compute."""
    if target in _FUNCTIONS or target in _size_functions():
        return target
    found = _OPERATOR.fullmatch(target)
    if found is None:
        refuse(f"a node calls {shortened(target)}, which is not an operator of torch")
    namespace, operator, overload = found.groups()
    if namespace == _HIGHER_ORDER and overload is None:
        _check_higher_order(target, operator)
    else:
        _check_overload(target, namespace, operator, overload)
    return target


def _size_functions() -> frozenset[str]:
    """Return the names of Python functions that programs compute sizes with."""
    from torch._export.serde import serialize

    return frozenset(f"{each.__module__}.{each.__name__}" for each in serialize._SYM_OPS)


def _check_higher_order(target: str, operator: str) -> None:
    import torch

    found = getattr(torch.ops.higher_order, operator, None)
    if not isinstance(found, torch._ops.HigherOrderOperator):
        _refuse_unknown(target)
    if find_converter(name_of(found)) is None:
        refuse(f"a node calls {shortened(target)}, an operator on graphs that has no converter")


def _check_overload(target: str, namespace: str, operator: str, overload: str | None) -> None:
    import torch

    try:
        found: Any = getattr(getattr(getattr(torch.ops, namespace), operator), overload or "")
    except AttributeError:
        found = None
    if not isinstance(found, torch._ops.OpOverload):
        _refuse_unknown(target)
    name = name_of(found)
    if any(find(each) for find in (find_converter, find_complex_converter) for each in (name, functional_name(found))):
        return
    if namespace not in _COMPUTING:
        refuse(
            f"a node calls the operator {name}, which has no converter",
            f'teach it before the file is read: @rx.register_torch("{name}")',
        )
    # Functions of TorchScript, such as aten::save, have no kernels: torch calls them past all of its modes.
    is_kernel = torch._C._dispatch_has_kernel(name.removesuffix(".default"))
    if not is_kernel or name.rpartition(".")[0] in _TOUCHING:
        refuse(f"a node calls {name}, which is not an operator on tensors")


def _refuse_unknown(target: str) -> None:
    refuse(
        f"a node calls {shortened(target)}, an operator that torch does not know in this process",
        "import the package that registers the operator first; relax-compile does so by --load-plugin",
    )
