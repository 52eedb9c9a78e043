# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Node of torch.fx for converters: arguments by name in the operator's schema or by position, and errors.

@register_torch("aten::leaky_relu")
def leaky_relu(node):
    return relax.nn.leakyrelu(node.tensor("self"), alpha=node.float("negative_slope"))
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import SymExpr
from relax_mlir.frontends.core import sizes
from relax_mlir.frontends.core.node import Node as CoreNode
from relax_mlir.frontends.core.sizes import Size
from relax_mlir.frontends.core.values import ComplexValue, Held, Tensor, Value

from .dtypes import dtype_of
from .element_conversions import as_scalar, cast
from .fx_operators import arguments_of, listed
from .fx_scope import FxScope
from .symbolic_sizes import Expressions

if TYPE_CHECKING:
    from torch.fx import Node as FxNode


Key = str | int


class TorchNode(CoreNode):
    """One use of an operator of torch."""

    def __init__(self, fx: FxNode, name: str, op: str, arguments: Mapping[str, object], graph: FxScope):
        """Create a node. `arguments` has all arguments of the schema, absent ones with their defaults."""
        super().__init__(name, op, list(arguments.values()), graph, list(arguments))  # type: ignore[arg-type]
        self.fx = fx
        #: torch's metadata of each present argument: a fake tensor or a number.
        self.metas = {
            name: getattr(argument, "meta", {"val": argument}).get("val") for name, argument in arguments_of(fx).items()
        }
        #: The graph that contains the node, for operators with subgraphs.
        self.graph: FxScope = graph
        self.arguments = dict(arguments)

    @property
    def expressions(self) -> Expressions:
        return self.graph.expressions

    def common_dtype(self, *keys: str) -> str:
        """Return the element type in which torch computes with these arguments.

        torch ranks tensors with dimensions before 0-D tensors, and these before numbers.
        """
        import torch

        given: list[Any] = [self.metas[key] for key in keys if self.metas.get(key) is not None]
        found = torch.result_type(*[_as_number(each) for each in given[:2]]) if len(given) > 1 else given[0].dtype
        for each in given[2:]:
            found = torch.promote_types(found, torch.result_type(_as_number(each), _as_number(given[0])))
        return dtype_of(found)

    @property
    def is_complex(self) -> bool:
        """Check whether an argument or a result is complex."""
        results = listed(self.fx.meta.get("val"))
        return any(getattr(getattr(result, "dtype", None), "is_complex", False) for result in results) or any(
            isinstance(each, (ComplexValue, complex))
            for argument in self.arguments.values()
            for each in listed(argument)
        )

    def part(self, of: Callable[[Any], Any]) -> TorchNode:
        """Return the same node with `of(each)` in place of each argument, also in lists."""
        changed = {name: _map(argument, of) for name, argument in self.arguments.items()}
        return TorchNode(self.fx, self.name, self.op, changed, self.graph)

    # ---- results, as torch has inferred them ----

    @property
    def results(self) -> list[TensorInfo | None]:
        """Return the type of each result.

        A result that is not a tensor is None, and so is a size that is not defined yet.
        """
        return [self.graph.info_of(each) for each in listed(self.fx.meta.get("val"))]

    @property
    def info(self) -> TensorInfo:
        """Return the type of the only or first result."""
        if (found := self.results[0]) is None:
            raise self.fail("its result is not a tensor")
        return found

    @property
    def dtype(self) -> str:
        """Return the element type of the only or first result."""
        return self.info.dtype

    def dtype_of_result(self, index: builtins.int) -> str:
        """Return the element type of one of several results."""
        if (found := self.results[index]) is None:
            raise self.fail(f"result #{index} is not a tensor")
        return found.dtype

    @property
    def sizes_of_result(self) -> list[Size]:
        """Return the sizes of the only or first result."""
        return self.result_sizes(0)

    def result_sizes(self, index: builtins.int) -> list[Size]:
        """Return the sizes of one of several results. Sizes that the program computes are tensors."""
        return self._sizes_of(listed(self.fx.meta.get("val"))[index].shape)

    def _sizes_of(self, shape: Sequence[object]) -> list[Size]:
        if not all(map(self.graph.is_known, shape)):
            raise self.fail("a size of its result depends on data")
        return [self.expressions.size(each) for each in shape]

    @property
    def is_wanted(self) -> list[bool]:
        """Return, for each result, whether something uses it."""
        used = [False] * len(self.results)
        for user in self.fx.users:
            if _is_item(user):
                used[user.args[1]] |= _is_read(user)
            else:
                return [True] * len(used)
        return used

    # ---- arguments ----

    def get(self, key: Key, default: object = None) -> Any:
        """Return an argument: a Value, a number, a size, a string, a list of these, or None."""
        if isinstance(key, str):
            return self.arguments.get(key, default)
        return self.inputs[key] if key < len(self.inputs) else default

    def has(self, key: Key) -> bool:
        """Check whether an optional argument is present."""
        return self.get(key) is not None

    def held(self, key: Key) -> Held:
        if (held := self.get(key)) is None:
            raise self.fail(f"argument {_show(key)} is missing")
        return held

    def value(self, key: Key) -> Value:
        """Return a tensor argument. Numbers and sizes become 0-D tensors of torch's default types."""
        held: Any = self.held(key)
        if isinstance(held, Value):
            return held
        if isinstance(held, (bool, int, float, SymExpr)) or hasattr(held, "type"):
            dtype = "i1" if isinstance(held, bool) else "f32" if isinstance(held, float) else "i64"
            return Value(ssa=sizes.as_scalar(held, dtype))
        raise self.fail(f"argument {_show(key)} is not a tensor")

    def tensor(self, key: Key, dtype: str = "") -> Tensor:
        """Return an argument as a tensor of the graph, cast to `dtype` if it is stated."""
        ssa = self.value(key).ssa
        return cast(ssa, dtype) if dtype else ssa

    def optional(self, key: Key, dtype: str = "") -> Tensor | None:
        """Return an optional argument as a tensor of the graph, or None."""
        return self.tensor(key, dtype) if self.has(key) else None

    def values(self, key: Key) -> list[Value]:
        """Return an argument that is a list of tensors."""
        return [self._as_value(each) for each in self.get(key) or ()]

    def optional_values(self, key: Key) -> list[Value | None]:
        """Return an argument that is a list of tensors and None."""
        return [None if each is None else self._as_value(each) for each in self.get(key) or ()]

    def tensors(self, key: Key, dtype: str = "") -> list[Tensor]:  # type: ignore[override]
        """Return an argument that is a list of tensors, as tensors of the graph."""
        return [cast(each.ssa, dtype) if dtype else each.ssa for each in self.values(key)]

    def _as_value(self, each: object) -> Value:
        if not isinstance(each, Value):
            raise self.fail("an item of a list is not a tensor")
        return each

    def operand(self, key: Key, dtype: str) -> Tensor:
        """Return a tensor, number or size as a tensor of an element type. Numbers become 0-D tensors."""
        held = self.held(key)
        return cast(held.ssa, dtype) if isinstance(held, Value) else as_scalar(held, dtype)

    def rank(self, key: Key) -> builtins.int:
        if (rank := self.value(key).rank) is None:
            raise self.fail(f"the rank of argument {_show(key)} is not known")
        return rank

    def int(self, key: Key, default: builtins.int | None = None) -> Any:
        """Return an integer that must be known at import."""
        if (held := self.get(key)) is None:
            return default
        if isinstance(held, Value):
            held = sizes.of_scalar(held)
        if not isinstance(held, (builtins.int, builtins.bool)):
            raise self.fail(f"argument {_show(key)} must be known while the model is imported, it depends on sizes")
        return builtins.int(held)

    def float(self, key: Key, default: builtins.float | None = None) -> Any:
        """Return a number that must be known at import."""
        if (held := self.get(key)) is None:
            return default
        if not isinstance(held, (builtins.int, builtins.float)):
            raise self.fail(f"argument {_show(key)} must be known while the model is imported")
        return builtins.float(held)

    def bool(self, key: Key, default: builtins.bool = False) -> builtins.bool:
        if (held := self.get(key)) is None:
            return default
        if not isinstance(held, (builtins.bool, builtins.int)):
            raise self.fail(f"argument {_show(key)} must be known while the model is imported")
        return builtins.bool(held)

    def string(self, key: Key, default: str = "") -> str:
        held = self.get(key)
        return default if held is None else str(held)

    def size(self, key: Key) -> Size:
        """Return a size argument: a number, an expression or a tensor of one element."""
        return self._as_size(self.held(key))

    def sizes(self, key: Key) -> list[Size]:  # type: ignore[override]
        """Return an argument that lists sizes."""
        return [self._as_size(each) for each in listed(self.held(key))]

    def ints(self, key: Key, default: Sequence[builtins.int] | None = None) -> Any:
        """Return an argument that lists integers, which must be known at import."""
        if not self.has(key):
            return default
        found = self.sizes(key)
        if not all(isinstance(each, builtins.int) for each in found):
            raise self.fail(f"argument {_show(key)} must be known while the model is imported, it depends on sizes")
        return found

    def floats(self, key: Key) -> list[builtins.float] | None:
        return None if not self.has(key) else [builtins.float(each) for each in listed(self.held(key))]

    def _as_size(self, held: object) -> Size:
        if isinstance(held, Value):
            return sizes.of_scalar(held)
        if isinstance(held, builtins.float):
            return builtins.int(held)
        return held

    def torch_dtype(self, key: Key, default: str = "") -> str:
        """Return the dialects' name of an argument that is a torch.dtype."""
        held = self.get(key)
        return default if held is None else dtype_of(held)

    def axis(self, key: Key, rank: builtins.int, default: builtins.int | None = None) -> builtins.int:
        """Return a dimension argument, counted from the front. A 0-D tensor counts as 1-D."""
        return self.axis_of(self.int(key, default), max(rank, 1))

    def axes(self, key: Key, rank: builtins.int) -> list[builtins.int]:
        """Return an argument that lists dimensions, or all dimensions if it is absent or empty."""
        return [self.axis_of(number, max(rank, 1)) for number in self.ints(key, ())] or list(range(rank))


def _is_item(fx: FxNode) -> bool:
    return fx.op == "call_function" and getattr(fx.target, "__name__", "") == "getitem"


def _is_read(fx: FxNode) -> bool:
    """Check whether a node or an item of it has users other than nodes that take items."""
    return any(not _is_item(user) or _is_read(user) for user in fx.users)


def _map(held: object, of: Callable[[Any], Any]) -> object:
    return [_map(each, of) for each in held] if isinstance(held, (list, tuple)) else of(held)


def _as_number(value: object) -> Any:
    """Return a size as a number of its kind, and other values unchanged."""
    return {"SymInt": 1, "SymFloat": 1.0, "SymBool": True}.get(type(value).__name__, value)


def _show(key: Key) -> str:
    return f"'{key}'" if isinstance(key, str) else f"#{key}"
