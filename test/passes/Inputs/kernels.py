# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# schedule 1


def doubled(sch):
    B = sch.get_block("B")
    (i,) = sch.get_loops(B)
    i_0, i_1 = sch.split(i, [None, 2])
