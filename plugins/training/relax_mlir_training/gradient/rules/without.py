# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators without derivative, and the reasons."""

from __future__ import annotations

from relax_mlir.passes.graph.gradient_rules import no_gradient


def _relax(names: str) -> list[str]:
    return [f"relax.{name}" for name in names.split()]


no_gradient(
    _relax(
        "argmax argmin argsort bitwise_and bitwise_not bitwise_or bitwise_xor bucketize equal greater greater_equal "
        "isfinite isinf isnan left_shift less less_equal logical_and logical_not logical_or logical_xor "
        "multinomial_from_uniform nonzero not_equal right_shift shape_expr shape_of shape_to_tensor size "
        "tensor_to_shape"
    ),
    "its results are truth values, positions, integers or shapes, which are not continuous",
)
no_gradient(
    _relax("constant eye ones prim_value zeros"),
    "it takes numbers and shapes, and only tensors are differentiated",
)
no_gradient(
    _relax("append_pages append_pages_quantized paged_attention"),
    "pages are state of a generation: differentiate nn.attention_var_len for packed sequences",
)
no_gradient(
    [f"relax.linalg.{name}" for name in (
        "cholesky eig eigh hessenberg ldl_factor ldl_solve lu_factor multiply_q pivoted_qr qr_factor schur "
        "solve_triangular solve_tridiagonal svd tridiagonal").split()],
    "decompositions have no rule here: torch and jax differentiate theirs",
)  # fmt: skip
no_gradient(_relax("assert_op print"), "it has no result")
no_gradient(_relax("random_key"), "it draws a new number at each call, without operands")
no_gradient(_relax("bitcast"), "it reinterprets the bits of numbers")
no_gradient(
    _relax("call_dps_packed call_external call_inplace_packed call_packed call_pure_packed call_tir call_tir_inplace"),
    "the computation of the function is not known: differentiate before operators become calls",
)
no_gradient(
    _relax("vision.all_class_non_max_suppression vision.get_valid_counts vision.non_max_suppression"),
    "it chooses boxes by comparing them, and its results change in steps",
)
no_gradient(_relax("requantize"), "it takes integers: differentiate before relax-requantize")
no_gradient(_relax("matmul_nbits_panels"), "it is a target's form of matmul_nbits, which is differentiated before")
no_gradient(_relax("nn.conv2d_winograd"), "it is a target's form of nn.conv2d, which is differentiated before")
