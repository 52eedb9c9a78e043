# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Delayed logs of one thread and one package, at all of its loggers."""

from __future__ import annotations

import logging
import threading

import pytest
from relax_mlir.support.quiet import holding_logs


def test_logs_of_a_package_are_held_and_shown_later(caplog: pytest.LogCaptureFixture) -> None:
    with holding_logs("relax_mlir_test") as held:
        logging.getLogger("relax_mlir_test.inner").warning("first %d", 1)
        logging.getLogger("relax_mlir_tests").warning("of another package")
        logging.getLogger("relax_mlir_test").info("details")
        thread = threading.Thread(target=logging.getLogger("relax_mlir_test").warning, args=("of another thread",))
        thread.start()
        thread.join()
        assert held.texts() == ["first 1"]
        assert {each.getMessage() for each in caplog.records} >= {"of another package", "of another thread"}
        assert "first 1" not in caplog.text
    held.show()
    assert "first 1" in caplog.text


def test_loggers_with_handlers_of_their_own_are_held() -> None:
    shown: list[logging.LogRecord] = []
    handler, logger = logging.Handler(), logging.getLogger("relax_mlir_test.own")
    handler.emit = shown.append  # type: ignore[method-assign]
    logger.addHandler(handler)
    logger.propagate = False
    try:
        with holding_logs("relax_mlir_test") as held:
            logger.error("failed", exc_info=ValueError("no\nnumber"))
            logger.error("%s of %s", "one")
        assert held.texts() == ["failed: ValueError: no number", "%s of %s"]
        assert not shown
        logger.error("after")
        assert len(shown) == 1
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
