// RUN: not relax-opt %s --relax-fuse-ops='max-ops=0' 2>&1 | FileCheck %s --check-prefix=OPS
// RUN: not relax-opt %s --relax-fuse-ops='max-parameters=-1' 2>&1 | FileCheck %s --check-prefix=PARAMETERS
// RUN: not relax-opt %s --relax-fuse-ops='epilogue=true' 2>&1 | FileCheck %s --check-prefix=OPTION
// OPS: max-ops=0: expected at least 1
// PARAMETERS: max-parameters=-1: expected at least 1
// OPTION: no option 'epilogue'; did you mean 'epilogues'

func.func @nothing_to_do(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
