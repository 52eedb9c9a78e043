# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of special functions: error and gamma functions, Bessel functions, orthogonal polynomials."""

from __future__ import annotations

from relax_mlir.emit.elementwise import ScalarFunction
from relax_mlir.emit.special.bessel_functions import airy_ai, bessel_j, bessel_y, modified_i, modified_k, spherical_j0
from relax_mlir.emit.special.error_functions import entr, erfcx, erfinv, log_ndtr, ndtr, ndtri
from relax_mlir.emit.special.gamma_functions import digamma, incomplete_gamma, polygamma, trigamma, zeta
from relax_mlir.emit.special.polynomials import chebyshev, hermite, laguerre, legendre

from ..prelude import Convert, Outputs, TorchNode, elementwise, intrinsic_of, register_rows, register_torch
from .elementwise import in_wide


def _make_unary(function: ScalarFunction, *parameters: object) -> Convert:
    return lambda node: elementwise(node, function, [node.operand(0, node.dtype)], *parameters)


def _make_binary(function: ScalarFunction, *parameters: object) -> Convert:
    return lambda node: elementwise(
        node, function, [node.operand(0, node.dtype), node.operand(1, node.dtype)], *parameters
    )


def _make_tir_converter(name: str) -> Convert:
    return lambda node: in_wide(node, lambda x: intrinsic_of(node, name, [x]), node.operand(0, node.dtype))


register_rows(
    {
        "aten::erfc aten::special_erfc": _make_tir_converter("erfc"),
        "aten::lgamma aten::special_gammaln": _make_tir_converter("lgamma"),
        "aten::special_erfcx": _make_unary(erfcx),
        "aten::erfinv aten::special_erfinv": _make_unary(erfinv),
        "aten::special_ndtr": _make_unary(ndtr),
        "aten::special_ndtri": _make_unary(ndtri),
        "aten::special_log_ndtr": _make_unary(log_ndtr),
        "aten::special_entr": _make_unary(entr),
        "aten::digamma aten::special_digamma aten::special_psi": _make_unary(digamma),
        "aten::special_zeta": _make_binary(zeta),
        "aten::igamma aten::special_gammainc": _make_binary(incomplete_gamma, False),
        "aten::igammac aten::special_gammaincc": _make_binary(incomplete_gamma, True),
        "aten::i0 aten::special_i0 aten::special_modified_bessel_i0": _make_unary(modified_i, 0, False),
        "aten::special_i1 aten::special_modified_bessel_i1": _make_unary(modified_i, 1, False),
        "aten::special_i0e": _make_unary(modified_i, 0, True),
        "aten::special_i1e": _make_unary(modified_i, 1, True),
        "aten::special_modified_bessel_k0": _make_unary(modified_k, 0, False),
        "aten::special_modified_bessel_k1": _make_unary(modified_k, 1, False),
        "aten::special_scaled_modified_bessel_k0": _make_unary(modified_k, 0, True),
        "aten::special_scaled_modified_bessel_k1": _make_unary(modified_k, 1, True),
        "aten::special_bessel_j0": _make_unary(bessel_j, 0),
        "aten::special_bessel_j1": _make_unary(bessel_j, 1),
        "aten::special_bessel_y0": _make_unary(bessel_y, 0),
        "aten::special_bessel_y1": _make_unary(bessel_y, 1),
        "aten::special_spherical_bessel_j0": _make_unary(spherical_j0),
        "aten::special_airy_ai": _make_unary(airy_ai),
        "aten::special_laguerre_polynomial_l": _make_binary(laguerre),
        "aten::special_legendre_polynomial_p": _make_binary(legendre),
    }
)
for _kind in "tuvw":
    register_torch(f"aten::special_chebyshev_polynomial_{_kind}")(_make_binary(chebyshev, _kind, False))
    register_torch(f"aten::special_shifted_chebyshev_polynomial_{_kind}")(_make_binary(chebyshev, _kind, True))


@register_torch("aten::special_hermite_polynomial_h", "aten::special_hermite_polynomial_he")
def hermite_polynomial(node: TorchNode) -> Outputs:
    """Convert Hermite polynomials, which are NaN from a degree on that depends on the type, as in torch."""
    limit = 512 if node.dtype == "f64" else 128
    return _make_binary(hermite, not node.op.startswith("aten::special_hermite_polynomial_he"), limit)(node)


@register_torch("aten::polygamma", "aten::special_polygamma")
def polygamma_of_order(node: TorchNode) -> Outputs:
    """Convert polygamma: the derivative of this order of digamma."""
    order = node.int("n")
    function = (digamma, trigamma)[order] if order < 2 else polygamma
    parameters = () if order < 2 else (order,)
    return elementwise(node, function, [node.operand("self", node.dtype)], *parameters)
