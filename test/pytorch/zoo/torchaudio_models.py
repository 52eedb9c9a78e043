# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures and transforms of torchaudio."""

from __future__ import annotations

from typing import Any

import torch

from .cases import BATCH, ZOO, Case, case


def _transform(name: str, argument: torch.Tensor, **options: Any) -> None:
    def build() -> Case:
        import torchaudio

        return Case(getattr(torchaudio.transforms, name)(**options), (argument,), {}, (BATCH,))

    ZOO[f"torchaudio {name}"] = build


_WAVE = torch.sin(torch.arange(2 * 800) ** 1.3 / 40).reshape(2, 800)
_transform("MelSpectrogram", _WAVE, n_fft=64, n_mels=8)
_transform("Resample", _WAVE, orig_freq=16000, new_freq=12000)


@case("torchaudio Conformer")
def conformer() -> Case:
    from torchaudio.models import Conformer

    model = Conformer(16, 4, 32, 2, 5)
    return Case(model, (torch.randn(2, 9, 16), torch.tensor([9, 6])), {}, (BATCH, BATCH))


@case("torchaudio Wav2Letter")
def wav2letter() -> Case:
    from torchaudio.models import Wav2Letter

    return Case(Wav2Letter(num_classes=10, input_type="mfcc", num_features=8), (torch.randn(2, 8, 40),), {}, (BATCH,))


@case("torchaudio ConvTasNet")
def conv_tasnet() -> Case:
    from torchaudio.models import ConvTasNet

    model = ConvTasNet(enc_num_feats=16, msk_num_feats=8, msk_num_hidden_feats=16, msk_num_layers=2, msk_num_stacks=2)
    return Case(model, (torch.randn(2, 1, 320),), {}, (BATCH,))


@case("torchaudio HDemucs")
def hdemucs() -> Case:
    from torchaudio.models import HDemucs

    model = HDemucs(["drums", "other"], channels=8, nfft=256, depth=4)
    return Case(model, (torch.randn(1, 2, 4096),))


@case("torchaudio Emformer")
def emformer() -> Case:
    from torchaudio.models import Emformer

    model = Emformer(16, 4, 32, 2, segment_length=4, right_context_length=2)
    return Case(model, (torch.randn(2, 14, 16), torch.tensor([12, 9])), {}, (BATCH, BATCH))


@case("torchaudio Tacotron2")
def tacotron2() -> Case:
    from torchaudio.models import Tacotron2

    model = Tacotron2(
        n_mels=8, n_symbol=20, symbol_embedding_dim=16, encoder_embedding_dim=16, encoder_n_convolution=1,
        decoder_rnn_dim=16, attention_rnn_dim=16, attention_hidden_dim=16, attention_location_n_filter=4,
        attention_location_kernel_size=3, prenet_dim=16, postnet_n_convolution=2, postnet_embedding_dim=16,
    )  # fmt: skip
    text, mel = torch.randint(0, 20, (2, 6)), torch.randn(2, 8, 5)
    return Case(model, (text, torch.tensor([6, 4]), mel, torch.tensor([5, 3])))
