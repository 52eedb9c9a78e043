# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of requests, with their HTTP statuses."""

from __future__ import annotations

#: OpenAI's name of the kind of error for each status.
_TYPES = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
_FIRST_SERVER_ERROR = 500


class ApiError(Exception):
    """Refusal of a request, in one sentence for the user."""

    def __init__(self, status: int, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        #: Field of the request that is wrong.
        self.param = param
        #: Short name of the error, for programs.
        self.code = code

    @property
    def type(self) -> str:
        """Return OpenAI's name of the kind of error."""
        other = "server_error" if self.status >= _FIRST_SERVER_ERROR else "invalid_request_error"
        return _TYPES.get(self.status, other)

    def content(self) -> dict[str, object]:
        """Return the body of the answer in OpenAI's form."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}


def invalid(message: str, param: str | None = None) -> ApiError:
    """Return the error of a request with a wrong field."""
    return ApiError(400, message, param=param, code="invalid_value" if param else None)


def shown(value: object) -> str:
    """Return the representation of a value, cut to a short text."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
