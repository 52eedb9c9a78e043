# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `cublas`: selects matrix products, with an optional bias and activation, for NVIDIA's cuBLAS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from relax_mlir import TensorInfo
from relax_mlir.codegens import Codegen, CodegenOption, Steps, register_codegen
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.dialects.relax.values import tensor_info
from relax_mlir.passes.graph.parts.operator_checks import refuse_quantized
from relax_mlir.patterns import GraphPattern, Match, is_op, wildcard
from relax_mlir.rewriting import Operation
from relax_mlir.runtime import packed

from .cublas_runtime import ProductStep
from .libraries import WORKSPACE

#: Supported element types of the operands and of the result.
ELEMENTS = [("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("bf16", "bf16"), ("f16", "f32"), ("bf16", "f32"),
            ("i8", "i32")]  # fmt: skip
#: Element types of products for which cuBLAS has no epilogue.
_PLAIN = ("f64", "i8")
FUNCTIONS = {"relax.nn.relu": "relu", "relax.nn.gelu_tanh": "gelu_tanh"}
#: Byte products need sizes that are multiples of this number.
_BYTES_STEP = 4


def _swaps(axes: Sequence[int] | None) -> bool:
    """Check whether a permutation swaps the last two axes and keeps the other axes in place."""
    if axes is None or len(axes) < 2:
        return False
    rank = len(axes)
    return [axis % rank for axis in axes] == [*range(rank - 2), rank - 1, rank - 2]


def _transposed(name: str) -> GraphPattern:
    """Return the pattern of a tensor with transposed matrices that has no other user."""
    tensor, permute = wildcard().named(name), is_op("relax.permute_dims")
    swapped = permute.has_attr(axes=_swaps)(tensor) | permute.has_attr(axes=None)(tensor).has_rank(2)
    return swapped.used_inside_only().named(f"{name}_transposed")


def _layer(a: GraphPattern, b: GraphPattern) -> GraphPattern:
    """Return the pattern of a product with an optional bias and activation."""
    product = is_op("relax.matmul")(a, b).named("product")
    biased = product.optional(lambda y: is_op("relax.add")(y.used_inside_only(), wildcard().named("bias")))
    return biased.optional(lambda y: is_op(*FUNCTIONS)(y.used_inside_only()).named("function"))


_A, _B = wildcard().named("a"), wildcard().named("b")


def check(match: Match) -> bool | str:
    """Return True if cuBLAS can compute a match, else the reason why not."""
    a, b, out = (tensor_info(match[name]) for name in ("a", "b", "product"))
    elements = a.dtype, out.dtype
    if b.dtype != a.dtype or elements not in ELEMENTS:
        return f"cuBLAS does not support products of {a.dtype} and {b.dtype} with a result of {out.dtype}"
    if a.shape is None or b.shape is None or len(a.shape) < 2 or len(b.shape) < 2:
        return "the codegen takes products of matrices and of batches of matrices, not of vectors"
    if quantized := refuse_quantized(match.op("product").operation):
        return quantized
    if a.dtype in _PLAIN and ("bias" in match or "function" in match):
        return f"cuBLAS has no epilogue for products of {a.dtype}"
    n, k = _sizes(match, a, b)
    if k == 0 or ("bias" in match and not isinstance(k, int)):
        return "the summed axis may have size 0, which excludes a bias" if k != 0 else "the summed axis has size 0"
    if a.dtype == "i8":
        return _refuse_bytes(match, n, k) or True
    return _refuse_bias(match, n) or True


def _sizes(match: Match, a: TensorInfo, b: TensorInfo) -> tuple[Dim, Dim]:
    """Return the number of columns of the result, and the size of the summed axis."""
    assert a.shape is not None and b.shape is not None
    return b.shape[-2 if "b_transposed" in match else -1], a.shape[-2 if "a_transposed" in match else -1]


def _refuse_bytes(match: Match, n: Dim, k: Dim) -> str:
    """Return the reason to refuse a byte product, or an empty text.

    cuBLAS supports one layout of row-major tensors for bytes: a plain first and a transposed second operand.
    """
    if "a_transposed" in match or "b_transposed" not in match:
        return "cuBLAS multiplies bytes only by a transposed second operand: matmul(a, permute_dims(b))"
    if all(isinstance(size, int) and size % _BYTES_STEP == 0 for size in (n, k)):
        return ""
    return f"products of bytes need columns and a summed size that are multiples of {_BYTES_STEP}, not {n} and {k}"


def _refuse_bias(match: Match, n: Dim) -> str:
    if "bias" not in match:
        return ""
    bias, out = tensor_info(match["bias"]), tensor_info(match["product"])
    shape = bias.shape
    is_row = shape is not None and len(shape) <= len(out.shape or ()) and shape[-1:] == (n,)
    if not is_row or any(size != 1 for size in (shape or ())[:-1]):
        return f"a bias is a vector of {n} elements along the last axis, not {bias}"
    return ""


@register_codegen("cublas")
class Cublas(Codegen):
    """Codegen for matrix products by cuBLAS, which only the machine that runs the program needs."""

    patterns = (
        ("cublas.both_transposed", _layer(_transposed("a"), _transposed("b")), check),
        ("cublas.left_transposed", _layer(_transposed("a"), _B), check),
        ("cublas.right_transposed", _layer(_A, _transposed("b")), check),
        ("cublas.matmul", _layer(_A, _B), check),
    )
    devices: ClassVar[tuple[str, ...]] = ("cuda",)
    separate: ClassVar[bool] = True
    options: ClassVar[Mapping[str, CodegenOption]] = {
        "tf32": CodegenOption("compute f32 products on tensor cores, which read 10 bits of the fraction", bool, False)
    }

    def workspace(self, function: Operation) -> int:
        """Return the workspace size that NVIDIA recommends for its newer devices."""
        del function
        return WORKSPACE

    def compile(self, module: object, options: Mapping[str, Any]) -> bytes:
        """Return the bytes of one step per function."""
        parts = self.steps(module)
        return packed("cublas", {name: _step(part, options["tf32"]) for name, part in parts.items()})


def _step(part: Steps, tf32: bool) -> ProductStep:
    """Return the step for a part's only match. The part's second output is the workspace."""
    step = part.steps[0]
    product = step.op("product").operation
    transposed = "a_transposed" in step.names, "b_transposed" in step.names
    after = FUNCTIONS[step.operation.name] if "function" in step else ""
    elements = tensor_info(product.operands[0]).dtype, tensor_info(product.results[0]).dtype
    read = step["a"], step["b"], step.get("bias")
    return ProductStep(len(part.inputs), *read, transposed, after, elements, tf32, len(part.outputs) > 1)
