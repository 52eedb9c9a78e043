# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that exchange data between ranks: the dialect `ccl`.

`groups` lists the ranks of all groups, one group after the other. Each group has `group_size` ranks, and part i of a
tensor belongs to rank i of a group. Parts have the size of the first one: a last part that is shorter ends with copies
of its last element, on which all elementwise operators are defined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy
import relax_mlir as rx
from relax_mlir.bindings.diagnostics import made_at
from relax_mlir.bindings.ir import Value
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.core.symbols import Dim, SymExpr, ceildiv, dim_mul

from . import exchanges
from .mesh import Mesh, parse

Size: TypeAlias = "int | SymExpr"

ccl = rx.Dialect("ccl", doc="Collectives between the ranks of a program.")

#: Operator between the whole module and a part of it that is written for one rank.
VIEW = "ccl.view"
#: Ways to combine the parts of several ranks, in the order of the group.
KINDS = ("sum", "prod", "max", "min")

_GROUPS: dict[str, Any] = {
    "groups": rx.attrs.Ints(doc="ranks of all groups, one group after the other"),
    "group_size": rx.attrs.Int(doc="number of ranks in a group"),
}
_KIND = rx.attrs.Str("sum", choices=KINDS, doc="how parts are combined, in the order of the group")
_SIZE = rx.attrs.Int(-1, doc="size of the whole dimension; -1: all parts are full")


def _check_groups(call: Call) -> None:
    count, ranks = call.group_size, call.groups
    call.require(count > 0 and len(ranks) % max(count, 1) == 0, f"{call.describe('groups')} must have full groups")
    is_partition = sorted(ranks) == list(range(len(ranks)))
    call.require(is_partition, f"{call.describe('groups')} must contain each rank from 0 up once")


def _axis(call: Call, name: str) -> int:
    axis, rank = getattr(call, name), call.x.rank
    if rank is None:
        raise call.fail(f"{call.describe('x')} must have a known rank")
    call.require(-rank <= axis < rank, f"{call.describe(name)} must be a dimension of {call.describe('x')}")
    return int(axis % rank)


def _with_sizes(call: Call, **sizes: Dim) -> rx.TensorInfo:
    shape = list(call.x.shape)
    for name, size in sizes.items():
        shape[_axis(call, name)] = size
    return call.x.with_shape(shape)


def _infer_same(call: Call) -> rx.TensorInfo:
    _check_groups(call)
    return call.x


def _infer_gather(call: Call) -> rx.TensorInfo:
    _check_groups(call)
    size = dim_mul(call.x.shape[_axis(call, "axis")], call.group_size) if call.size < 0 else call.size
    return _with_sizes(call, axis=size)


def _infer_part(call: Call) -> rx.TensorInfo:
    _check_groups(call)
    return _with_sizes(call, axis=ceildiv(call.x.shape[_axis(call, "axis")], call.group_size))


def _infer_all_to_all(call: Call) -> rx.TensorInfo:
    _check_groups(call)
    split, concatenated = _axis(call, "split_axis"), _axis(call, "concat_axis")
    call.require(
        split != concatenated, f"{call.describe('split_axis')} must differ from {call.describe('concat_axis')}"
    )
    size = dim_mul(call.x.shape[concatenated], call.group_size) if call.size < 0 else call.size
    return _with_sizes(call, split_axis=ceildiv(call.x.shape[split], call.group_size), concat_axis=size)


def _infer_permute(call: Call) -> rx.TensorInfo:
    pairs = list(zip(call.pairs[::2], call.pairs[1::2], strict=False))
    is_valid = len(call.pairs) % 2 == 0 and len({to for _, to in pairs}) == len(pairs)
    call.require(is_valid, f"{call.describe('pairs')} must be a source and a target for each pair, and targets differ")
    return call.x


def _reference(name: str) -> Any:
    def reference(call: Call, x: numpy.ndarray) -> numpy.ndarray:
        return exchanges.run(name, numpy.asarray(x), dict(call.attributes))

    return reference


def _operator(name: str, infer: Any, doc: str, **attrs: Any) -> None:
    ccl.op(name, "x", attrs=attrs, infer=infer, doc=doc, reference=_reference(name))

    @rx.rules.register_legalize(f"ccl.{name}")
    def legalize(call: Any) -> Any:
        """Call the function of `exchanges`. It knows the engine of its thread."""
        place = made_at(f"ccl.{name}", call.op.location)
        words = exchanges.encode({key: getattr(call.op, key) for key in attrs}, place)
        packed = relax.const(numpy.frombuffer(words, "uint8").copy())
        return relax.call_dps_packed(f"ccl.{name}", [call.op.x, packed], out_ty=call.op.result.type)


_operator(
    "all_reduce", _infer_same, "Combines the tensors of a group; each rank gets the result.", kind=_KIND, **_GROUPS
)
_operator("all_gather", _infer_gather, "Joins the parts of a group along an axis.",
          axis=rx.attrs.Int(0), size=_SIZE, **_GROUPS)  # fmt: skip
_operator("reduce_scatter", _infer_part, "Combines the tensors of a group; each rank gets its part along an axis.",
          axis=rx.attrs.Int(0), kind=_KIND, **_GROUPS)  # fmt: skip
_operator("all_to_all", _infer_all_to_all,
          "Divides along an axis, and joins the parts for this rank along another one.",
          split_axis=rx.attrs.Int(0), concat_axis=rx.attrs.Int(1), size=_SIZE, **_GROUPS)  # fmt: skip
_operator("permute", _infer_permute,
          "Sends the tensor from source to target ranks. Ranks that are no target get zeros.",
          pairs=rx.attrs.Ints(doc="a source and a target for each pair"))  # fmt: skip
_operator("broadcast", _infer_same, "The tensor of one rank of each group.",
          root=rx.attrs.Int(0, doc="index in the group"), **_GROUPS)  # fmt: skip
_operator("part", _infer_part, "This rank's part, along an axis, of a tensor that all ranks of a group have.",
          axis=rx.attrs.Int(0), **_GROUPS)  # fmt: skip


def _infer_view(call: Call) -> rx.TensorInfo:
    mesh, source, target = Mesh.parse(call.mesh), parse(call.source), parse(call.target)
    for name, sharding in (("source", source), ("target", target)):
        call.require(len(sharding) == call.x.rank, f"{call.describe(name)} must have the rank of {call.describe('x')}")
        mesh.check(sharding, call.describe(name))
    if source == target:
        return call.x
    local = mesh.local_shape(call.x.shape, source)
    return call.x.with_shape([dim_mul(size, mesh.count(axes)) for size, axes in zip(local, target, strict=True)])


_SHARDING = rx.attrs.Str(doc="axes of each dimension, such as (dp, _)")
_VIEW_ATTRS = {"mesh": rx.attrs.Str(doc="axes and sizes"), "source": _SHARDING, "target": _SHARDING}
ccl.op(
    "view", "x", attrs=_VIEW_ATTRS, infer=_infer_view, doc="The parts of x, as parts of a tensor that `target` divides."
)


@rx.rules.register_legalize(VIEW)
def legalize_view(call: Any) -> Any:
    """Return x if its division is a hint. Programs of ranks have no views."""
    if call.op.source != call.op.target:
        raise rx.RelaxError(
            f"{VIEW}: the program of one rank begins here, so divide the module first: rx.shard(module)"
        )
    return call.op.x


def known_sizes(x: Value) -> list[Size]:
    """Return the sizes of a tensor. Raise RelaxError if one is unknown."""
    info = decode(x.type)
    shape = info.shape if isinstance(info, TensorInfo) else None
    sizes = [size for size in shape or () if size is not None]
    if shape is None or len(sizes) < len(shape):
        raise rx.RelaxError(f"a collective needs named sizes, and a tensor has the shape {shape}")
    return sizes


def exchange_along(x: Value, axis: int, *, groups: Sequence[int], group_size: int) -> Value:
    """Return `all_to_all` that divides and joins one axis: its parts are put to a dimension of their own."""
    shape = known_sizes(x)
    parts = relax.reshape(x, [*shape[:axis], group_size, shape[axis] // group_size, *shape[axis + 1 :]])
    moved = ccl.all_to_all(parts, split_axis=axis, concat_axis=axis + 1, groups=groups, group_size=group_size)
    return relax.reshape(moved, shape)
