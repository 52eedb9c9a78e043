# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The driver by ctypes: the versions of its functions, and its errors as exceptions."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest
from fake_driver import FakeDriver
from relax_mlir.runtime import ArtifactError
from relax_mlir.runtime.cuda import driver as driver_module
from relax_mlir.runtime.cuda.driver import DeviceError, DriverError, driver, use_library


def test_the_driver_reports_version_and_devices() -> None:
    library = FakeDriver(devices=3)
    with use_library(library) as found:
        assert driver() is found
        assert found.version() == (12, 4) and found.device_count() == 3
        device = found.device(2)
        assert (str(device), device.arch, device.handle, device.name) == ("cuda:2", "sm_86", 42, "Fake")
        assert found.address("cuLaunchKernel") == ctypes.cast(library.cuLaunchKernel, ctypes.c_void_p).value


def test_the_present_form_of_a_function_is_called() -> None:
    """Call the versioned name: a library keeps the version of CUDA 3, with 32-bit addresses, under the plain name."""
    library = FakeDriver()
    library.cuMemAlloc = library.cuInit
    with use_library(library) as found:
        place = ctypes.c_void_p()
        found.call("cuMemAlloc", ctypes.byref(place), 16)
        assert place.value and library.calls[-1] == "cuMemAlloc_v2"
        found.call("cuMemFree", place)
    assert not library.leaks


def test_errors_have_name_and_text() -> None:
    library = FakeDriver()
    with use_library(library) as found:
        library.failing = {"cuCtxSynchronize": 719}
        with pytest.raises(DriverError) as caught:
            found.call("cuCtxSynchronize")
        assert str(caught.value) == "cuCtxSynchronize: CUDA_ERROR_LAUNCH_FAILED: LAUNCH_FAILED is what failed"
        assert caught.value.status == 719 and isinstance(caught.value, ArtifactError)
        assert found.error_text(12345) == "unknown error 12345"
        with pytest.raises(DeviceError, match="has no cuMemAllocFromPoolAsync: it is too old"):
            found.address("cuMemAllocFromPoolAsync")


def test_a_context_is_retained_once_and_left() -> None:
    library = FakeDriver()
    with use_library(library) as found:
        contexts = [found.context(40), found.context(41), found.context(40)]
        assert contexts == [1040, 1041, 1040] and library.calls.count("cuDevicePrimaryCtxRetain") == 2
        with pytest.raises(KeyError), found.current(contexts[0]):
            assert library.contexts == [1040]
            raise KeyError
        assert not library.contexts


def test_libraries_are_one_in_the_others_place() -> None:
    with use_library(FakeDriver(devices=1)) as outer:
        with use_library(FakeDriver(devices=2)) as inner:
            assert driver() is inner
        assert driver() is outer


def test_a_missing_driver_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "LIBRARY", "libof_another_name.so.1")
    driver_module._load_system_driver.cache_clear()
    with pytest.raises(DeviceError, match=r"^no NVIDIA driver: libof_another_name\.so\.1 cannot be loaded: .*name"):
        driver()


def test_importing_the_runtime_does_not_load_the_driver() -> None:
    """Check that importing the runtime does not import the folder `runtime/cuda`, which opens the library."""
    code = "import sys, relax_mlir.runtime; print([name for name in sys.modules if 'runtime.cuda.' in name])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    assert result.stdout == "[]\n"
