# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of an interrupted calibration in a file: statistics of the samples so far."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from relax_mlir.dialects.core.elements import hash_of, print_by_content
from relax_mlir.frontends.module import Module
from relax_mlir.support.errors import OptionError
from relax_mlir.support.files import write_whole

if TYPE_CHECKING:
    from numpy import ndarray

#: Samples between two writes of the file.
_SAVED_EVERY = 16
_FINGERPRINT, _COUNT, _DIGEST = "fingerprint", "count", "digest"


def fingerprint_of(module: Module, places: Sequence[object], count: int, first: Sequence[object]) -> str:
    """Return a hash of a module with its weights, the observed tensors, the number of samples and the first sample."""
    import numpy

    parts = [print_by_content(module.operation, hash_of), repr(list(places)), str(count)]
    made = hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape"))
    for array in first:
        made.update(numpy.asarray(array).tobytes())
    return made.hexdigest()


class Statistics(Protocol):
    """Running statistics of a tensor."""

    def state(self) -> dict[str, ndarray]:
        """Return the statistics as arrays."""

    def restore(self, state: Mapping[str, ndarray]) -> None:
        """Continue with earlier statistics."""


class CalibrationState:
    """Statistics in a file, which the next run with the same model and samples continues."""

    def __init__(self, path: str | Path, fingerprint: str, statistics: Sequence[Statistics]):
        self._path, self._fingerprint, self._statistics = str(path), fingerprint, statistics
        #: Copy after the last whole sample: an interrupt may arrive between two tensors.
        self._kept: dict[str, ndarray] | None = None

    def load(self) -> int:
        """Restore the statistics, and return the number of samples they contain: 0 if there is no file."""
        if not Path(self._path).exists():
            return 0
        kept = _read(self._path)
        if str(kept[_FINGERPRINT]) != self._fingerprint:
            raise OptionError(
                f"resume: {self._path} belongs to another model, recipe or data",
                notes=["name another file, or remove this one to start again"],
            )
        for number, statistic in enumerate(self._statistics):
            head = f"{number}:"
            statistic.restore({name.removeprefix(head): array for name, array in kept.items() if name.startswith(head)})
        return int(kept[_COUNT])

    def see(self, count: int) -> None:
        """Keep the state after a sample. Every few samples the file is written."""
        import numpy

        self._kept = {_FINGERPRINT: numpy.array(self._fingerprint), _COUNT: numpy.array(count)}
        for number, statistic in enumerate(self._statistics):
            self._kept |= {f"{number}:{name}": array for name, array in statistic.state().items()}
        if count % _SAVED_EVERY == 0:
            self.save()

    def save(self) -> None:
        """Write the file, unless no sample was seen."""
        import numpy

        if self._kept is not None:
            file = io.BytesIO()
            content = {**self._kept, _DIGEST: numpy.array(_digest(self._kept))}
            numpy.savez_compressed(file, **content)  # type: ignore[arg-type]  # of numpy's other keywords
            write_whole(self._path, file.getvalue())


def _read(path: str) -> dict[str, ndarray]:
    """Return the arrays of a file that `CalibrationState.save` wrote. Raise OptionError for any other content."""
    import numpy

    try:
        with numpy.load(path, allow_pickle=False) as file:
            kept = {name: file[name] for name in file.files}
        if str(kept.pop(_DIGEST, "")) != _digest(kept):
            raise ValueError("its arrays are not those that were written")
    except Exception as error:  # of any class: numpy, zipfile and zlib raise a dozen for damaged bytes
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise OptionError(
            f"resume: {path} is no state of a calibration: {reason}; remove the file to start again, or name another"
        ) from None
    return kept


def _digest(kept: Mapping[str, ndarray]) -> str:
    """Return a hash of the arrays with their names, types and shapes."""
    made = hashlib.sha256()
    for name, array in sorted(kept.items()):
        made.update(f"{name} {array.dtype.str} {array.shape}\n".encode("utf-8", "surrogateescape") + array.tobytes())
    return made.hexdigest()
