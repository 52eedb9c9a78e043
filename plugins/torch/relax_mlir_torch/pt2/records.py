# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records of a .pt2 archive: a zip file with uncompressed entries below one root folder."""

from __future__ import annotations

import json
import struct
import sys
import zipfile
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .refusals import refuse, shortened

if TYPE_CHECKING:
    import numpy

# Programs take constants at such addresses without another copy.
_ALIGNMENT = 64
_ENCRYPTED = 1
#: Local file header: signature, 22 bytes that the directory repeats, lengths of the name and of the extra field.
_HEADER = struct.Struct("<4s22xHH")
_SIGNATURE = b"PK\3\4"
#: Files with these names are archives of torch 2.7 and older, which consist of pickles.
_OLD_FORMAT = {"version", "serialized_exported_program.json"}


class ArchiveRecords:
    """Open archive. Every record is inside the file, uncompressed, and has a unique name."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        try:
            with zipfile.ZipFile(self._file) as directory:
                entries = directory.infolist()
            self._size = self._file.seek(0, 2)
            self._root = _root_of([entry.filename for entry in entries])
            self._entries = {entry.filename.removeprefix(self._root): entry for entry in entries}
            if len(self._entries) != len(entries):
                refuse("two records of the archive have the same name")
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> ArchiveRecords:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def names(self, folder: str) -> list[str]:
        """Return the names of the records in a folder, which ends in a slash."""
        return [name for name in self._entries if name.startswith(folder)]

    def size(self, name: str) -> int:
        """Return the size of a record in bytes."""
        return self._entry(name).file_size

    def text(self, name: str) -> str:
        """Return the content of a record of UTF-8 text."""
        return self.array(name).tobytes().decode()

    def json(self, name: str) -> Any:
        """Return the content of a JSON record."""
        return json.loads(self.text(name))

    def array(self, name: str) -> numpy.ndarray:
        """Read the bytes of a record into aligned memory that the caller owns.

        The file is not mapped: a mapping ends the process with SIGBUS if somebody saves the model to the same path
        while the module is in use.
        """
        import numpy

        start, size = self._place(name)
        memory = numpy.empty(size + _ALIGNMENT, "u1")
        first = -memory.ctypes.data % _ALIGNMENT
        found: numpy.ndarray = memory[first : first + size]
        self._file.seek(start)
        done = 0
        while done < size:
            count = self._file.readinto(found[done:])  # type: ignore[arg-type]
            if not count:
                refuse(f"the archive ends inside the record {shortened(name)}")
            done += count
        return found

    def _entry(self, name: str) -> zipfile.ZipInfo:
        if name not in self._entries:
            refuse(f"the archive has no record {shortened(name)}")
        return self._entries[name]

    def _place(self, name: str) -> tuple[int, int]:
        """Return the offset and the size of a record's bytes in the file."""
        entry = self._entry(name)
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            refuse(f"the record {shortened(name)} is compressed; torch.export.save stores records as they are")
        if entry.flag_bits & _ENCRYPTED:
            refuse(f"the record {shortened(name)} is encrypted")
        self._file.seek(entry.header_offset)
        header = self._file.read(_HEADER.size)
        if len(header) != _HEADER.size or not header.startswith(_SIGNATURE):
            refuse(f"the archive has no header of the record {shortened(name)} at byte {entry.header_offset}")
        _, name_length, extra_length = _HEADER.unpack(header)
        if self._file.read(name_length) != entry.orig_filename.encode():
            refuse(f"the header of the record {shortened(name)} has another name")
        start = entry.header_offset + _HEADER.size + name_length + extra_length
        if start + entry.file_size > self._size:
            end = start + entry.file_size
            refuse(f"the record {shortened(name)} ends at byte {end}, and the archive at byte {self._size}")
        return start, entry.file_size


def _root_of(names: list[str]) -> str:
    """Return the root folder of the records, with its slash."""
    if _OLD_FORMAT.issubset(names):
        refuse(
            "it was written by torch 2.7 or older, in a format that consists of pickles, which are code",
            "torch.export.save of torch 2.9 or newer writes a format that is data",
        )
    root = names[0].partition("/")[0] + "/" if names else ""
    if not root.strip("/") or any(not name.startswith(root) for name in names):
        refuse("its records are not in one folder, as torch.export.save writes them")
    return root


def check_format(records: ArchiveRecords) -> None:
    """Refuse archives of other formats, and with numbers in another order of bytes than this machine's."""
    if "archive_format" not in records or records.text("archive_format") != "pt2":
        refuse(
            "it is a zip file, but not an archive of torch.export: the record 'archive_format' with 'pt2' is missing"
        )
    version = records.text("archive_version").strip() if "archive_version" in records else "none"
    if version != "0":
        refuse(f"the version of the archive's format is {shortened(version)}, expected '0'")
    order = records.text("byteorder") if "byteorder" in records else sys.byteorder
    if order != sys.byteorder:
        refuse(f"its numbers are in {shortened(order)} order of bytes, and this machine's in {sys.byteorder}")
