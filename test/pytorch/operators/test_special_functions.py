# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special functions, compared with torch, or with mpmath where torch's errors are larger."""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import pytest
import torch
from imported import check

INF, NAN = float("inf"), float("nan")
special = torch.special


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kin_of_the_error_function(dtype: torch.dtype) -> None:
    x = torch.tensor([-30, -3.5, -1, -0.25, 0, 0.25, 1, 3.5, 30, INF, -INF, NAN]).to(dtype)
    check(lambda x: (torch.erfc(x), special.ndtr(x), special.log_ndtr(x), special.erfcx(x.clamp(min=-5))), x)


def test_inverses_of_the_error_function() -> None:
    p = torch.tensor([0, 1e-30, 1e-5, 0.2, 0.5, 0.75, 0.999, 1, -0.1, 2, NAN], dtype=torch.float64)
    check(lambda p: (torch.erfinv(p), special.ndtri(p), special.entr(p)), p, dynamic=True)


def test_kin_of_the_gamma_function() -> None:
    x = torch.tensor([-2.5, -0.3, -0.0, 0.0, 0.25, 1, 1.46, 7, 30, 1e5, INF, NAN, -1], dtype=torch.float64)
    check(lambda x: (torch.lgamma(x), torch.digamma(x), torch.polygamma(2, x), torch.polygamma(1, x[4:12])), x)
    check(lambda x: torch.digamma(x), x.float())
    a = torch.tensor([0.0, 0.5, 1, 3, 30, 200, INF, -1], dtype=torch.float64)
    check(lambda a, x: (special.gammainc(a, x), special.gammaincc(a, x)), a[:, None], a[None])
    check(lambda a, q: special.zeta(a, q), a[1:6, None], x[None, :9])


@pytest.mark.slow
def test_bessel_functions() -> None:
    x = torch.tensor([-20, -7, -1, -0.0, 0, 0.1, 1.9, 2.1, 7.9, 8.1, 40, 600, NAN], dtype=torch.float64)
    check(lambda x: (special.i0(x), special.i1(x), special.i0e(x), special.i1e(x)), x)
    check(lambda x: (special.modified_bessel_k0(x), special.modified_bessel_k1(x)), x)
    check(lambda x: (special.scaled_modified_bessel_k0(x), special.scaled_modified_bessel_k1(x)), x)
    check(lambda x: special.spherical_bessel_j0(x), x)


@pytest.mark.slow
@pytest.mark.parametrize(
    "function, exact, least",
    [
        (special.bessel_j0, lambda x: mpmath.besselj(0, x), -40),
        (special.bessel_j1, lambda x: mpmath.besselj(1, x), -40),
        (special.bessel_y0, lambda x: mpmath.bessely(0, x), 0.01),
        (special.bessel_y1, lambda x: mpmath.bessely(1, x), 0.01),
        (special.airy_ai, mpmath.airyai, -9),
    ],
)
def test_waves(function: Callable[..., object], exact: Callable[[float], object], least: float) -> None:
    """Compare with torch's functions, which have seven digits."""
    x = torch.linspace(least, 40, 23, dtype=torch.float64)
    wanted = torch.tensor([float(exact(float(each))) for each in x], dtype=torch.float64)  # type: ignore[arg-type]
    torch.testing.assert_close(function(x), wanted, rtol=1e-5, atol=1e-6)
    check(lambda x: special.round(function(x), decimals=5), x)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *(f"chebyshev_polynomial_{kind}" for kind in "tuvw"),
        *("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"),
        "shifted_chebyshev_polynomial_t",
    ],
)
def test_orthogonal_polynomials(name: str) -> None:
    x = torch.tensor([-1.5, -1, -0.3, 0, 0.5, 1, 1.25], dtype=torch.float64)
    n = torch.tensor([-1, 0, 1, 2, 5, 9, 20], dtype=torch.float64)
    check(lambda x, n: getattr(special, name)(x, n), x[:, None], n[None])
