# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that nodes of a .pt2 archive may call.

torch resolves a name such as `torch.ops.load_library` by walking through its modules, and calls the function with the
node's arguments when it decomposes the program. Only operators that compute are accepted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

from .refusals import refuse, shortened
from .registrations import import_hint, register_operators

#: Check whether an operator of torch has a converter.
HasConverter: TypeAlias = Callable[[Any], bool]

_OPERATOR = re.compile(r"torch\.ops\.(\w+)\.(\w+)(?:\.(\w+))?")
_HIGHER_ORDER = "higher_order"
#: Namespaces of torch with only computations, which also work on tensors without elements.
_COMPUTING = ("aten", "prims")
#: Operators of these namespaces with effects outside of the program.
_TOUCHING = ("aten::from_file",)
#: Operator that reads a tensor of a parameter which is a subclass of torch.Tensor.
READS_SUBCLASS = "export::access_subclass_inner_tensor"
#: Python functions that exported programs call: parts of torch.vmap and forward derivatives, and options.
_FUNCTIONS = frozenset(
    [
        f"torch._functorch.predispatch.{name}"
        for name in "lazy_load_decompositions _vmap_increment_nesting _vmap_decrement_nesting _add_batch_dim "
        "_remove_batch_dim _make_dual _unpack_dual _jvp_increment_nesting _jvp_decrement_nesting _unwrap_for_grad "
        "_enter_dual_level _exit_dual_level".split()
    ]
    + ["torch._higher_order_ops._invoke_quant.InvokeQuant"]
)


def check_target(target: str, has_converter: HasConverter) -> str:
    """Return the name of an operator. Raise UnreadableError if calling the operator may do more than compute."""
    if target in _FUNCTIONS or target in _size_functions():
        return target
    if (match := _OPERATOR.fullmatch(target)) is None:
        refuse(f"a node calls {shortened(target)}, which is not an operator of torch")
    namespace, operator, overload = match.groups()
    if namespace == _HIGHER_ORDER and overload is None:
        _check_higher_order(target, operator, has_converter)
    else:
        _check_overload(target, namespace, operator, overload, has_converter)
    return target


def _size_functions() -> frozenset[str]:
    """Return the names of Python functions with which programs compute sizes."""
    from torch._export.serde import serialize

    return frozenset(f"{op.__module__}.{op.__name__}" for op in serialize._SYM_OPS)


def _check_higher_order(target: str, operator: str, has_converter: HasConverter) -> None:
    import torch

    found = getattr(torch.ops.higher_order, operator, None)
    if not isinstance(found, torch._ops.HigherOrderOperator):
        _refuse_unknown(target, "")
    if not has_converter(found):
        refuse(f"a node calls {shortened(target)}, an operator on graphs that has no converter")


def _check_overload(
    target: str, namespace: str, operator: str, overload: str | None, has_converter: HasConverter
) -> None:
    if (found := _overload(namespace, operator, overload)) is None:
        register_operators(namespace)
        found = _overload(namespace, operator, overload)
    if found is None:
        _refuse_unknown(target, namespace)
    if has_converter(found):
        return
    if (name := found._schema.name) == READS_SUBCLASS:
        refuse(
            "parameters are subclasses of torch.Tensor, as torchao's weights, which are pickles, and pickles are code",
            "save the program without them: torch.export.save(exported.run_decompositions({}), path)",
        )
    if namespace not in _COMPUTING:
        full_name = f"{name}.{overload}"
        refuse(
            f"a node calls the operator {full_name}, which has no converter",
            f'teach it before the file is read: @rx.register_torch("{full_name}")',
        )
    if name in _TOUCHING or not _has_kernel(found):
        refuse(f"a node calls {name}, which is not an operator on tensors")


def _overload(namespace: str, operator: str, overload: str | None) -> Any:
    """Return an overload of torch's registry, or None."""
    import torch

    try:
        found = getattr(getattr(getattr(torch.ops, namespace), operator), overload or "")
    except AttributeError:
        return None
    return found if isinstance(found, torch._ops.OpOverload) else None


def _has_kernel(operator: Any) -> bool:
    """Check for kernels.

    TorchScript functions, such as aten::save, have none: torch calls them regardless of its modes.
    """
    import torch

    schema = operator._schema
    name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    return bool(torch._C._dispatch_has_kernel(name))


def _refuse_unknown(target: str, namespace: str) -> NoReturn:
    refuse(
        f"a node calls {shortened(target, 120)}, an operator that torch does not know in this process",
        import_hint("operator", namespace if namespace not in _COMPUTING else ""),
    )
