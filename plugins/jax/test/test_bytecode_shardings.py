# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Portable artifacts of jax with attributes of a dialect that the bindings lack."""

from __future__ import annotations

import base64

import numpy
import relax_mlir as rx
from relax_mlir_jax.stablehlo.bytecode_shardings import without_shardings

#: Output of jax.export 0.10.2 for `lambda x: jnp.linalg.svd(x)[1]` with f32 [4, 4]: `lapack_sgesdd_ffi` with a sharding
#: rule.
ARTIFACT = base64.b64decode(
    """
TUzvUg1TdGFibGVITE9fdjEuMTUuMAABJQcBBQkTAQMPAxETFxsfIycrLwPppysBQQ8HDw8LDyMLDwsLCw8LDwsPCyMLGwsjCwsLDwsPCw8LA0dPDw8LCw
sPEwsLCwsLHx8TCw8TCwsLCwsLCw8PFx8vDwsLLwUhYxMPDxMPDw8PEw8PEw8PCwEFCw8DJxcTDwcHBw8HFwcHExMTEw8TExMCugUdKwMfEQMFFSELBRkd
JykDBw8REwUVBQUbEQEABR0FHwUhHRsdBSMdHwcFJR0jJQUnLQkHCS4DcgMFKS0JBw8NRQUrAwcvXzFlM4cFLQUvBTEdNwMFMx07BwU1HT8LBTcfGyEAAA
AAAAAAAAEAAAAAAAAAAwNLHyEBIxUdKw0BAwNPDQNRUx05HTsdPR0/HUEfEQkAAMB/HwkJAAAAAA0DYWMdQxMZQQ0DZ2kdRR1HCwMdSR1LAwEFAQMDQQMD
eRUDAQEBAwtBfUFBfx8dEQAAAAAAAAAAHx8BCQcHAR8pEQAAAAAAAAAAFRMREREREREREREDiQuPlZmfpQEBAQEBEwWLjREDAREDBRMFkZMRAwkRAw0TA5
cRAxETBZudEQMVEQMZEwWhoxEDHREDIRMBAQkBAgIpBRERCykDEQspARcJEwEpAQsdEQMFAwcbISkDCQ0pAwUNKQMBDSkDARMpAQ8pAwUPKQMRDykDBRME
EgIFAVEDDQEHBPcDAQkFUAMDBwQpAwULAws1ABFGOQUDBwMBCQQ9AwMFUBkHBwStAx0rAwkAB0IDCQMRB0IBCwMJC0cBLQ0LBQcFBQkDAQNGAQ8DCQMFDU
YBEQMjBQ8RA0YBDwMlAxMDRgEPAwcDAwNGARMDJwMVDwYBAwcHGQkXCQQDAxsGAwEFAQB2B00lAwUfCxEPCw8hHS8FJTMpCRMTJQsZJSk5FxEVFx8VGREp
DwkLEWJ1aWx0aW4AdmhsbwBzZHkAbW9kdWxlAGJyb2FkY2FzdF9pbl9kaW1fdjEAZnVuY192MQBjb25zdGFudF92MQByZXR1cm5fdjEAY3VzdG9tX2NhbG
xfdjEAY29tcGFyZV92MQBzZWxlY3RfdjEAY2FsbF92MQAvdG1wL2xhLnB5AGpheC51c2VzX3NoYXBlX3BvbHltb3JwaGlzbQBtaGxvLm51bV9wYXJ0aXRp
b25zAG1obG8ubnVtX3JlcGxpY2FzAGppdF9fbGFtYmRhAGppdDoAaml0KDxsYW1iZGE+KS9qaXQAPGxhbWJkYT4APG1vZHVsZT4Ac3ZkAG1obG8uYmFja2
VuZF9jb25maWcAbWhsby5mcm9udGVuZF9hdHRyaWJ1dGVzAHNkeS5zaGFyZGluZ19ydWxlAHgAaml0KDxsYW1iZGE+KS9qaXQoc3ZkKQBqaXQoPGxhbWJk
YT4pAGpheC5yZXN1bHRfaW5mbwByZXN1bHQAbWFpbgBwdWJsaWMAcHJpdmF0ZQBtb2RlAG51bV9iYXRjaF9kaW1zADAAAGxhcGFja19zZ2VzZGRfZmZpAA
hNFQUvAQtDR01VVwNJC0NHQ0lZA1sDXRFrbW9xc3V3ewNFBYGDA4U=
"""
)


def test_rules_of_sharding_are_left_out() -> None:
    changed = without_shardings(ARTIFACT)
    assert changed != ARTIFACT and len(changed) == len(ARTIFACT)
    assert without_shardings(changed) == changed
    x = numpy.random.default_rng(0).normal(size=(4, 4)).astype("float32")
    made = rx.compile(rx.from_stablehlo(ARTIFACT))["main"](x)
    numpy.testing.assert_allclose(made, numpy.linalg.svd(x)[1], rtol=1e-5)


def test_bytes_that_are_no_artifact_stay_unchanged() -> None:
    for data in (b"", b"ML\xefR", ARTIFACT[:40], ARTIFACT[:400], bytes(100)):
        assert without_shardings(data) == data
