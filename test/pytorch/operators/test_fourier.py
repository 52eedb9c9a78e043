# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms, and layers in the frequency domain."""

from __future__ import annotations

import pytest
import torch
from imported import check


def _numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def _pairs(x: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(x)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("length", [1, 7, 12, 50])
def test_of_complex_numbers(length: int, norm: str) -> None:
    check(lambda x: _pairs(torch.fft.fft(torch.view_as_complex(x), norm=norm)), _numbers(3, length, 2))
    check(lambda x: _pairs(torch.fft.ifft(torch.view_as_complex(x), dim=0, norm=norm)), _numbers(length, 3, 2))


@pytest.mark.parametrize("length", [1, 7, 12])
def test_of_real_numbers(length: int) -> None:
    check(lambda x: _pairs(torch.fft.rfft(x)), _numbers(3, length))
    check(lambda x: torch.fft.irfft(torch.fft.rfft(x), n=x.shape[-1]), _numbers(3, length))
    check(lambda x: torch.fft.hfft(torch.view_as_complex(x)), _numbers(3, length + 1, 2))


def test_of_several_dimensions() -> None:
    check(lambda x: _pairs(torch.fft.fft2(torch.view_as_complex(x))), _numbers(2, 4, 6, 2))
    check(lambda x: _pairs(torch.fft.rfftn(x, s=(5, 8), dim=(0, 2))), _numbers(5, 2, 6))
    check(lambda x: torch.fft.irfft2(torch.fft.rfft2(x)), _numbers(2, 4, 6))
    check(lambda x: _pairs(torch.fft.fftshift(torch.fft.fft(x))), _numbers(2, 5))


def test_of_any_length() -> None:
    check(lambda x: _pairs(torch.fft.rfft(x, norm="ortho")), _numbers(3, 10), dynamic=True)
    check(lambda x: torch.fft.irfft(torch.fft.rfft(x), n=x.shape[-1]), _numbers(3, 10), dynamic=True)


def test_in_f64() -> None:
    check(lambda x: _pairs(torch.fft.fft(x)), _numbers(3, 9).double())


def test_of_frames() -> None:
    window = torch.hann_window(16)

    def there_and_back(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        spectrum = torch.stft(x, 16, hop_length=4, window=window, return_complex=True)
        return _pairs(spectrum), torch.istft(spectrum, 16, hop_length=4, window=window, length=64)

    check(there_and_back, _numbers(2, 64))


class _Spectral(torch.nn.Module):
    """Fourier neural operator: weights mix some frequencies."""

    def __init__(self) -> None:
        super().__init__()
        weight = torch.view_as_complex(_numbers(3, 4, 5, 2))
        self.weight = torch.nn.Parameter(weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft(x)
        mixed = torch.zeros(x.shape[0], 4, spectrum.shape[-1], dtype=torch.cfloat)
        mixed[..., :5] = torch.einsum("bix,iox->box", spectrum[..., :5], self.weight)
        return torch.fft.irfft(mixed, n=x.shape[-1])


def test_spectral_layer() -> None:
    check(_Spectral().eval(), _numbers(2, 3, 16))
