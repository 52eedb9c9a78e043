# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A real model from file to answers: compiles digits.onnx, reads handwritten digits, and profiles the program.

python examples/digits/classify.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy
from relax_mlir.runtime import to_numpy

import relax_mlir as rx

HERE = Path(__file__).resolve().parent
_SHADES = " .:-=+*#%@"
#: Number of digits to draw, and the width of each in characters.
_SHOWN, _WIDTH = 6, 16


def main() -> int:
    kept = numpy.load(HERE / "digits.npz")
    pictures, labels = (kept["pictures"][:, None] / 16).astype(numpy.float32), kept["labels"]
    start = time.perf_counter()
    executable = rx.compile(rx.from_onnx(HERE / "digits.onnx"))
    classify = executable["main"]
    seconds = time.perf_counter() - start
    answers = to_numpy(classify(pictures)).argmax(axis=1)

    print(_side_by_side(_drawn(picture[0]) for picture in pictures[:_SHOWN]))
    captions = map(_caption, answers, labels[:_SHOWN])
    print("".join(caption.ljust(_WIDTH + 2) for caption in captions).rstrip())
    print(f"\n{(answers == labels).mean():.1%} of {len(labels)} pictures that it was not trained on are read rightly")
    print(f"from the model's file to native code, for any number of pictures: {seconds:.2f} s")
    _compare(classify, pictures)
    print(f"\nWhere the time of one picture goes:\n{executable.profile('main', pictures[:1], repeat=200)}")
    return 0


def _caption(answer: int, label: int) -> str:
    return f"it is a {answer}" if answer == label else f"a {answer}? it is a {label}"


def _drawn(picture: Any) -> list[str]:
    """Return the lines of a picture. Two characters per pixel are about as wide as high."""
    shades = (picture * (len(_SHADES) - 1)).round().astype(int)
    return ["".join(_SHADES[shade] * 2 for shade in row) for row in shades]


def _side_by_side(drawings: Iterable[list[str]]) -> str:
    return "\n".join("  ".join(rows).rstrip() for rows in zip(*drawings, strict=True))


def _compare(classify: Any, pictures: Any) -> None:
    """Print latencies, and onnxruntime's results and latency if it is installed."""
    theirs = _onnxruntime()
    for count in (1, len(pictures)):
        given = pictures[:count]
        told = f"{count:>4} pictures: {_microseconds(lambda given=given: classify(given)):8.1f} us"  # type: ignore[misc]
        if theirs is not None:
            apart = float(numpy.abs(to_numpy(classify(given)) - theirs(given)).max())
            took = _microseconds(lambda given=given: theirs(given))  # type: ignore[misc]
            told += f", onnxruntime {took:8.1f} us, at most {apart:.0e} apart"
        print(told)


def _onnxruntime() -> Callable[[Any], Any] | None:
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # like ours
    session = onnxruntime.InferenceSession(HERE / "digits.onnx", options, providers=["CPUExecutionProvider"])
    return lambda given: session.run(None, {"pictures": given})[0]


def _microseconds(call: Callable[[], Any]) -> float:
    """Return the median of calls within a fifth of a second."""
    times: list[float] = []
    while sum(times) < 0.2 or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(numpy.median(times)) * 1e6


if __name__ == "__main__":
    sys.exit(main())
