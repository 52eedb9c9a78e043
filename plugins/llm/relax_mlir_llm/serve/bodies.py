# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bodies of requests: reading with a limit, and access to the fields of a JSON object with checks of types."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import NoReturn, TypeAlias

from .errors import ApiError, invalid, shown
from .limits import ServerLimits

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

#: Characters of a name that are compared with other names. The time grows with them.
_MOST_NAME = 60
_KINDS = {bool: "true or false", int: "an integer", float: "a number", str: "a text", list: "a list", dict: "an object"}


async def read_limited(chunks: AsyncIterable[bytes], stated: str | None, limit: int) -> bytes:
    """Return the whole body. `stated` is the header Content-Length. Raise ApiError 413 for more than `limit` bytes."""
    if stated is not None and stated.isdecimal() and int(stated) > limit:
        raise _too_large(stated, limit)
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > limit:
            raise _too_large(f"more than {limit}", limit)
    return bytes(body)


def _too_large(size: str, limit: int) -> ApiError:
    return ApiError(413, f"the body has {size} bytes, expected at most {limit}", code="body_too_large")


def check_values(body: bytes, limits: ServerLimits) -> None:
    """Raise ApiError for a body that may have too many values, which the characters between values bound."""
    brackets = body.count(b":") + body.count(b"[")
    found = (body.count(b","), limits.commas, "commas"), (brackets, limits.brackets, "colons and brackets")
    for count, limit, what in found:
        if count > limit:
            raise ApiError(413, f"the body has {count} {what}, expected at most {limit}", code="body_too_large")


def parse_object(body: bytes) -> dict[str, Json]:
    """Return the JSON object in a body."""
    try:
        found = json.loads(body, parse_constant=_refuse_constant)
        if b"\\ud" in body or b"\\uD" in body:  # half of a surrogate pair has no UTF-8 encoding
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ApiError(400, f"the body is no valid JSON: {error or 'it is nested too deeply'}") from None
    if not isinstance(found, dict):
        raise ApiError(400, f"the body is {shown(found)}, expected a JSON object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


class Fields:
    """Fields of a JSON object. An absent field and null are the same."""

    def __init__(self, values: Mapping[str, object], where: str = "") -> None:
        self.values = values
        self._where = where

    def path(self, name: str) -> str:
        """Return the path of a field from the body, for errors."""
        return f"{self._where}.{name}" if self._where else name

    def get(self, name: str) -> object:
        return self.values.get(name)

    def has(self, name: str) -> bool:
        return self.values.get(name) is not None

    def refuse(self, name: str, expected: str) -> ApiError:
        """Return the error of a field with a wrong value."""
        path = self.path(name)
        return invalid(f"{path} is {shown(self.values.get(name))}, expected {expected}", path)

    def _check(self, name: str, kind: type) -> object:
        value = self.values.get(name)
        kinds = (int, float) if kind is float else kind
        if value is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool)):
            raise self.refuse(name, _KINDS[kind])
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._check(name, bool)
        return default if value is None else bool(value)

    def integer(self, name: str) -> int | None:
        value = self._check(name, int)
        assert value is None or isinstance(value, int)
        return value

    def count(self, name: str, default: int, least: int, most: int) -> int:
        """Return an integer in a range."""
        if (value := self.integer(name)) is None:
            return default
        if not least <= value <= most:
            raise self.refuse(name, f"an integer from {least} to {most}")
        return value

    def text(self, name: str) -> str | None:
        value = self._check(name, str)
        assert value is None or isinstance(value, str)
        return value

    def needed_text(self, name: str) -> str:
        if (value := self.text(name)) is None:
            raise invalid(f"the field {self.path(name)} is missing, expected a text", self.path(name))
        return value

    def items(self, name: str) -> Sequence[object] | None:
        value = self._check(name, list)
        assert value is None or isinstance(value, list)
        return value

    def part(self, name: str) -> Fields | None:
        """Return the fields of an object in a field, or None."""
        value = self._check(name, dict)
        return Fields(value, self.path(name)) if isinstance(value, dict) else None

    def parts(self, name: str) -> Iterator[Fields]:
        """Yield the objects in a list. An absent field is an empty list."""
        for index, each in enumerate(self.items(name) or ()):
            yield self._item(name, index, each)

    def _item(self, name: str, index: int, value: object) -> Fields:
        path = f"{self.path(name)}.{index}"
        if not isinstance(value, dict):
            raise invalid(f"{path} is {shown(value)}, expected an object", path)
        return Fields(value, path)

    def choice(self, name: str, allowed: Collection[str]) -> str | None:
        """Return one of several texts."""
        if (value := self.text(name)) is not None and value not in allowed:
            raise self.refuse(name, f"one of {', '.join(allowed)}")
        return value

    def refuse_unknown(self, known: Iterable[str]) -> None:
        """Raise ApiError for a field with an unknown name, which is often a spelling mistake."""
        names = list(known)
        for name, value in self.values.items():
            if name not in names and value is not None:
                close = get_close_matches(name[:_MOST_NAME], names, 1)
                hint = f"; did you mean '{close[0]}'?" if close else ""
                raise invalid(f"the field '{self.path(name[:_MOST_NAME])}' is not supported{hint}", self.path(name))
