# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of an interrupted calibration in a file: statistics of the samples so far."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..dialects.core.elements import hash_of, print_by_content
from ..frontends.module import Module
from ..support.errors import OptionError
from ..support.files import write_whole

if TYPE_CHECKING:
    from numpy import ndarray

#: Samples between two writes of the file.
_SAVED_EVERY = 16
_FINGERPRINT, _COUNT = "fingerprint", "count"


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
        import numpy

        if not Path(self._path).exists():
            return 0
        try:
            with numpy.load(self._path, allow_pickle=False) as file:
                kept = {name: file[name] for name in file.files}
            found, count = str(kept[_FINGERPRINT]), int(kept[_COUNT])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise OptionError(f"resume: {self._path} is no state of a calibration: {error}") from None
        if found != self._fingerprint:
            raise OptionError(
                f"resume: {self._path} belongs to another model, recipe or data",
                notes=["name another file, or remove this one to start again"],
            )
        for number, each in enumerate(self._statistics):
            each.restore(_part(kept, number))
        return count

    def see(self, count: int) -> None:
        """Keep the state after a sample. Every few samples the file is written."""
        import numpy

        self._kept = {_FINGERPRINT: numpy.array(self._fingerprint), _COUNT: numpy.array(count)}
        for number, each in enumerate(self._statistics):
            self._kept |= {f"{number}:{name}": array for name, array in each.state().items()}
        if count % _SAVED_EVERY == 0:
            self.save()

    def save(self) -> None:
        """Write the file, unless no sample was seen."""
        import numpy

        if self._kept is not None:
            file = io.BytesIO()
            numpy.savez_compressed(file, **self._kept)  # type: ignore[arg-type]  # of numpy's other keywords
            write_whole(self._path, file.getvalue())


def _part(kept: Mapping[str, ndarray], number: int) -> dict[str, ndarray]:
    head = f"{number}:"
    return {name.removeprefix(head): array for name, array in kept.items() if name.startswith(head)}
