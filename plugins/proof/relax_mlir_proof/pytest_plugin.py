# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pytest plug-in: `pytest --relax-check mynpu` runs each case of the conformance kit as a test.

pytest imports this module in every run if the package is installed. The module therefore imports large modules on
demand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .testing.core.cases import Case
    from .testing.trial import Subject
    from .testing.verdicts import Verdict


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("relax-mlir")
    group.addoption(
        "--relax-check", action="append", default=[], metavar="NAME", help="test this codegen or target of relax-mlir"
    )
    group.addoption(
        "--relax-only", action="append", default=[], metavar="CASES", help="run these cases only: a name or a pattern"
    )


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    for name in config.getoption("relax_check"):
        items.extend(_Checks.from_parent(session, name=f"relax-check[{name}]", nodeid=f"relax-check[{name}]").collect())


class _Checks(pytest.Collector):
    """Collector of the conformance cases of a codegen or a target."""

    def collect(self) -> Iterator[_Check]:
        from relax_mlir.support.errors import RelaxError

        from .testing.case_lists import all_cases, is_chosen
        from .testing.checking import subject_of

        name = self.name.partition("[")[2].rstrip("]")
        try:
            subject = subject_of(name)
            cases = [case for case in all_cases(subject) if is_chosen(case, self.config.getoption("relax_only"))]
        except RelaxError as error:
            raise pytest.UsageError(str(error)) from None
        for case in cases:
            yield _Check.make(self, subject, case)


class _Check(pytest.Item):
    """Test of one conformance case."""

    _subject: Subject
    _case: Case

    @classmethod
    def make(cls, parent: _Checks, subject: Subject, case: Case) -> _Check:
        check: _Check = cls.from_parent(parent, name=case.name)
        check._subject, check._case = subject, case
        return check

    def runtest(self) -> None:
        from .testing.checking import verdict_of

        if (verdict := verdict_of(self._subject, self._case, seed=0)) is None:
            pytest.skip("the operator has no such case: shape inference refuses the sizes")
        if verdict.verdict in ("not taken", "refused", "unchecked"):
            pytest.skip(f"{verdict.verdict}: {verdict.reason}")
        if verdict.is_fault:
            raise _Fault(verdict)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        return str(excinfo.value) if isinstance(excinfo.value, _Fault) else str(excinfo.getrepr())

    def reportinfo(self) -> tuple[str, int | None, str]:
        return "relax-check", None, self.name


class _Fault(Exception):
    def __init__(self, verdict: Verdict) -> None:
        super().__init__(f"{verdict.verdict}: {verdict.reason}")
