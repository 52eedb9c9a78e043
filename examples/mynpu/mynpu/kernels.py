# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stand-in for the vendor's library. It may be in any language with a tvm-ffi binding."""

import numpy
import tvm_ffi


@tvm_ffi.register_global_func("mynpu.softmax", override=True)
def softmax(x, out):
    values = numpy.from_dlpack(x)
    powers = numpy.exp(values - values.max(-1, keepdims=True))
    numpy.from_dlpack(out)[...] = powers / powers.sum(-1, keepdims=True)
