# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codegen `cublas`: products of matrices, with a bias and a function behind them, go to NVIDIA's cuBLAS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ....bindings.ir import Operation
from ....dialects.core.infos import TensorInfo
from ....dialects.core.symbols import Dim
from ....dialects.relax.values import tensor_info
from ....passes.partition.codegen import Codegen, register_codegen
from ....passes.partition.options import CodegenOption
from ....passes.partition.steps import Steps
from ....passes.patterns.matched import Match
from ....passes.patterns.operator_patterns import is_op
from ....passes.patterns.tree import GraphPattern, wildcard
from ....runtime.external.cublas import Step
from ....runtime.external.nvidia import WORKSPACE
from ....support.external_bytes import packed
from ..core.operator_checks import refuse_quantized

#: Elements of the operands and of the result.
ELEMENTS = [("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("bf16", "bf16"), ("f16", "f32"), ("bf16", "f32"),
            ("i8", "i32")]  # fmt: skip
#: After whose products cuBLAS does nothing else.
_PLAIN = ("f64", "i8")
FUNCTIONS = {"relax.nn.relu": "relu", "relax.nn.gelu_tanh": "gelu_tanh"}
#: What sizes of products of bytes are multiples of.
_BYTES_STEP = 4


def _swaps(axes: Sequence[int] | None) -> bool:
    """Whether an order of axes is the usual one but for the last two."""
    if axes is None or len(axes) < 2:
        return False
    rank = len(axes)
    return [each % rank for each in axes] == [*range(rank - 2), rank - 1, rank - 2]


def _transposed(name: str) -> GraphPattern:
    """A tensor whose matrices are seen transposed, with no other user."""
    tensor, permute = wildcard().named(name), is_op("relax.permute_dims")
    swapped = permute.has_attr(axes=_swaps)(tensor) | permute.has_attr(axes=None)(tensor).has_rank(2)
    return swapped.used_inside_only().named(f"{name}_transposed")


def _layer(a: GraphPattern, b: GraphPattern) -> GraphPattern:
    """A product with what follows."""
    product = is_op("relax.matmul")(a, b).named("product")
    biased = product.optional(lambda y: is_op("relax.add")(y.used_inside_only(), wildcard().named("bias")))
    return biased.optional(lambda y: is_op(*FUNCTIONS)(y.used_inside_only()).named("function"))


_A, _B = wildcard().named("a"), wildcard().named("b")


def check(found: Match) -> bool | str:
    """Whether cuBLAS computes it, or in words why not."""
    a, b, out = (tensor_info(found[name]) for name in ("a", "b", "product"))
    elements = a.dtype, out.dtype
    if b.dtype != a.dtype or elements not in ELEMENTS:
        return f"cuBLAS has no products of {a.dtype} and {b.dtype} that are {out.dtype}"
    if a.shape is None or b.shape is None or len(a.shape) < 2 or len(b.shape) < 2:
        return "it is taken of matrices and batches of them, not of vectors"
    if quantized := refuse_quantized(found.op("product").operation):
        return quantized
    if a.dtype in _PLAIN and ("bias" in found or "function" in found):
        return f"cuBLAS does nothing after a product of {a.dtype}"
    n, k = _sizes(found, a, b)
    if k == 0 or ("bias" in found and not isinstance(k, int)):
        return "a bias, where maybe nothing is summed" if k != 0 else "nothing is summed"
    if a.dtype == "i8":
        return _refuse_bytes(found, n, k) or True
    return _refuse_bias(found, n) or True


def _sizes(found: Match, a: TensorInfo, b: TensorInfo) -> tuple[Dim, Dim]:
    """Columns of the result, and how many elements are summed."""
    assert a.shape is not None and b.shape is not None
    return b.shape[-2 if "b_transposed" in found else -1], a.shape[-2 if "a_transposed" in found else -1]


def _refuse_bytes(found: Match, n: Dim, k: Dim) -> str:
    """Of the layouts that cuBLAS reads only one is that of row-major tensors."""
    if "a_transposed" in found or "b_transposed" not in found:
        return "cuBLAS multiplies bytes by a transposed matrix alone: permute_dims(b) in matmul(a, ...)"
    if all(isinstance(size, int) and size % _BYTES_STEP == 0 for size in (n, k)):
        return ""
    return f"columns and what is summed have to be multiples of {_BYTES_STEP} for products of bytes, here {n} and {k}"


def _refuse_bias(found: Match, n: Dim) -> str:
    if "bias" not in found:
        return ""
    bias, out = tensor_info(found["bias"]), tensor_info(found["product"])
    shape = bias.shape
    is_row = shape is not None and len(shape) <= len(out.shape or ()) and shape[-1:] == (n,)
    if not is_row or any(size != 1 for size in (shape or ())[:-1]):
        return f"a bias is a vector of {n} elements along the last axis, not {bias}"
    return ""


@register_codegen("cublas")
class Cublas(Codegen):
    """Says what to multiply with what; the library is looked for where the program runs."""

    patterns = (
        ("cublas.both_transposed", _layer(_transposed("a"), _transposed("b")), check),
        ("cublas.left_transposed", _layer(_transposed("a"), _B), check),
        ("cublas.right_transposed", _layer(_A, _transposed("b")), check),
        ("cublas.matmul", _layer(_A, _B), check),
    )
    devices: ClassVar[tuple[str, ...]] = ("cuda",)
    separate: ClassVar[bool] = True
    options: ClassVar[Mapping[str, CodegenOption]] = {
        "tf32": CodegenOption("products of f32 by tensor cores, which read 10 bits of its fractions", bool, False)
    }

    def workspace(self, function: Operation) -> int:
        """What NVIDIA advises for its newer devices."""
        del function
        return WORKSPACE

    def compile(self, module: object, options: Mapping[str, Any]) -> bytes:
        """A step for each function."""
        parts = self.steps(module)
        return packed("cublas", {name: _step(part, options["tf32"]) for name, part in parts.items()})


def _step(part: Steps, tf32: bool) -> Step:
    """The only match of a part; behind it stands the memory to work in, the part's second output."""
    step = part.steps[0]
    product = step.op("product").operation
    transposed = "a_transposed" in step.names, "b_transposed" in step.names
    after = FUNCTIONS[step.operation.name] if "function" in step else ""
    elements = tensor_info(product.operands[0]).dtype, tensor_info(product.results[0]).dtype
    read = step["a"], step["b"], step.get("bias")
    return Step(len(part.inputs), *read, transposed, after, elements, tf32, len(part.outputs) > 1)
