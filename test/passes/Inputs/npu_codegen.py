# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen for large convolutions, whose code is the text of its module."""

import relax_mlir as rx
from relax_mlir.patterns import Match, is_const, is_op, wildcard


def is_large(match: Match) -> bool | str:
    return match["w"].type.shape[0] == 3 or "the unit has windows of 3"


@rx.register_codegen("npu")
class Npu(rx.Codegen):
    """Test codegen for convolutions with windows of 3."""

    patterns = (("npu.conv", is_op("relax.nn.conv2d")(wildcard(), is_const().named("w")), is_large),)
    options = {"refuse": "the part that is declined", "needs": "what runs its code"}

    def compile(self, module, options):
        (name,) = self.functions(module)
        if options["refuse"] == name:
            raise rx.RelaxError("was asked to refuse")
        return f"needs {options['needs']}".encode() if options["needs"] else str(module).encode()

    def requires(self, data):
        text = bytes(data).decode()
        return f"it {text}" if text.startswith("needs ") else ""

    def load(self, data):
        raise NotImplementedError("its code is text")
