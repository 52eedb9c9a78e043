# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speech that eSpeak NG synthesizes, among noise, tones and silence, with a label per frame."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from functools import cache

import numpy

RATE = 16000
#: Samples of a frame, and the samples before the frame that the net reads too.
FRAME, CONTEXT = 512, 64
#: Frames of one recording.
FRAMES = 256
_SYNCHRONOUS = 2
_UTF8 = 1
_VOICES = ("en-us", "en-gb", "de", "fr", "es", "it", "pl", "sv")
_SENTENCES = (
    "The weather will be clear in the morning.", "Please leave your message after the tone.",
    "Seven engines were tested on Monday.", "Where is the next station?", "She sells small lamps near the river.",
    "Call me again before five.", "This is number four thousand and twelve.", "Nobody saw the quick brown fox.",
)  # fmt: skip

_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


class _Speaker:
    """The synthesizer. It speaks in one thread."""

    def __init__(self) -> None:
        import espeakng_loader

        self._library = ctypes.CDLL(espeakng_loader.get_library_path())
        path = str(espeakng_loader.get_data_path()).encode()
        self._rate = self._library.espeak_Initialize(_SYNCHRONOUS, 0, path, 0)
        assert self._rate > 0, f"eSpeak NG finds no data in {path.decode()}"
        self._parts: list[numpy.ndarray] = []
        self._callback = _Callback(self._keep)
        self._library.espeak_SetSynthCallback(self._callback)

    def _keep(self, samples: ctypes._Pointer[ctypes.c_short], count: int, events: object) -> int:
        if samples and count:
            self._parts.append(numpy.ctypeslib.as_array(samples, (count,)).copy())
        return 0

    def speech(self, text: str, voice: str, speed: int, pitch: int) -> numpy.ndarray:
        """Return the speech of a text, with 16,000 samples per second between -1 and 1."""
        from scipy.signal import resample_poly

        self._parts.clear()
        self._library.espeak_SetVoiceByName(voice.encode())
        for parameter, value in ((1, speed), (3, pitch)):
            self._library.espeak_SetParameter(parameter, value, 0)
        data = text.encode()
        self._library.espeak_Synth(data, len(data) + 1, 0, 0, 0, _UTF8, None, None)
        self._library.espeak_Synchronize()
        spoken = numpy.concatenate(self._parts) / 32768
        return resample_poly(spoken, RATE, self._rate).astype("float32")


_speaker = cache(_Speaker)


def _background(draw: random.Random, generator: numpy.random.Generator, count: int) -> numpy.ndarray:
    """Return noise, hum or a melody without a voice."""
    kind, times = draw.choice(("white", "brown", "hum", "melody")), numpy.arange(count) / RATE
    if kind == "white":
        made = generator.normal(size=count)
    elif kind == "brown":
        made = numpy.cumsum(generator.normal(size=count))
        made -= numpy.convolve(made, numpy.ones(801) / 801, mode="same")
    elif kind == "hum":
        made = sum(numpy.sin(2 * numpy.pi * 50 * part * times) / part for part in (1, 2, 3, 5))
    else:
        notes = generator.integers(0, 24, count // 4000 + 1).repeat(4000)[:count]
        made = numpy.sin(2 * numpy.pi * numpy.cumsum(220 * 2 ** (notes / 12)) / RATE)
    return (made / (abs(made).max() + 1e-9) * draw.uniform(0.003, 0.06)).astype("float32")


def recordings(seed: int, count: int) -> Iterator[tuple[numpy.ndarray, numpy.ndarray]]:
    """Yield frames [FRAMES, CONTEXT + FRAME] of recordings, and whether each frame has speech."""
    draw, generator = random.Random(seed), numpy.random.default_rng(seed)
    length = FRAMES * FRAME
    for _ in range(count):
        sound, is_speech = _background(draw, generator, length), numpy.zeros(length, bool)
        at = draw.randint(4000, 24000)
        while at < length:
            voice, speed, pitch = draw.choice(_VOICES), draw.randint(130, 200), draw.randint(25, 75)
            spoken = _speaker().speech(draw.choice(_SENTENCES), voice, speed, pitch)[: length - at]
            loud = abs(spoken) > 0.01
            sound[at : at + len(spoken)] += spoken * draw.uniform(0.2, 1)
            # A pause of up to a tenth of a second belongs to speech.
            is_speech[at : at + len(spoken)] = numpy.convolve(loud, numpy.ones(1601))[800:-800] > 0.5
            at += len(spoken) + draw.randint(12000, 40000)
        padded = numpy.concatenate([numpy.zeros(CONTEXT, "float32"), sound])
        frames = numpy.stack([padded[FRAME * place :][: CONTEXT + FRAME] for place in range(FRAMES)])
        yield frames, is_speech.reshape(FRAMES, FRAME).mean(1) > 0.5
