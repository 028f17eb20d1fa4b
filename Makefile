# The doors of the project. Each works on a machine with only Python 3.11+, Java 17+ and make.
#   make check   lint, format, types, imports: seconds
#   make test    check, then every test, on the real broker and real Spark
#   make demo    the whole engine on synthetic stocks; ends by itself (SERVE=1: it serves on)
#   make demo-federation   three engines, each with a broker of its own, answer as one
#   make serve   the service until Ctrl-C
#   make dist    a wheel and a source archive, in dist/
#   make dist-check   the wheel in clean environments: the client alone, then with an engine
#   make bench   the measurements behind the README's figures (about two hours)
#   make bench-quick   a few of them, beside the committed results: minutes

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help check test demo demo-federation serve dist dist-check bench bench-quick jars clean

VENV := .venv
BIN := $(VENV)/bin
# The first interpreter that is new enough and can make virtual environments.
USABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
	"$$p" -c '$(USABLE)' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
# Spark starts Python workers: they must be the interpreter with our packages.
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
export PYSPARK_DRIVER_PYTHON := $(PYSPARK_PYTHON)

# Stamps: a step is done again only when what it was made from has changed.
PYTHON_READY := $(VENV)/bin/python
ENGINE_READY := $(VENV)/.engine-installed
DEV_READY := $(VENV)/.dev-installed
KERNELS_READY := $(VENV)/.kernels-compiled
CHECKED_READY := $(VENV)/.checked-kernels-compiled
KERNELS := $(shell grep -rlE '^(import|from) (numba|sde\.kernels)' --include='*.py' synopses sde service)
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e

help:
	@sed -n 's/^#   //p' Makefile

check: $(DEV_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Three processes on two cores: engines mostly wait (see tests/conftest.py).
test: check jars $(KERNELS_READY) $(CHECKED_READY)
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder

demo: $(ENGINE_READY) jars $(KERNELS_READY)
	$(BIN)/sde demo $(if $(SERVE),--serve)

demo-federation: $(ENGINE_READY) jars $(KERNELS_READY)
	$(BIN)/python -m bench.federation.demo

serve: $(ENGINE_READY) jars $(KERNELS_READY)
	$(BIN)/sde serve

# setuptools would put what is left in build/ from an earlier run into the wheel.
dist: $(DEV_READY)
	rm -rf build dist
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m build --outdir dist .

dist-check: dist jars
	$(BIN)/python -m tests.check_wheel dist

bench: $(DEV_READY) jars $(KERNELS_READY)
	$(BIN)/python -m bench.decode
	$(BIN)/python -m bench.one_field
	$(BIN)/python -m bench.kernels
	$(BIN)/python -m bench.accuracy
	$(BIN)/python -m bench.windows
	$(BIN)/python -m bench.watches
	$(BIN)/python -m bench.scale
	$(BIN)/python -m bench.faults --kills 30
	$(BIN)/python -m bench.throughput
	$(BIN)/python -m bench.profile
	$(BIN)/python -m bench.latency
	$(BIN)/python -m bench.correlation
	$(BIN)/python -m bench.plugins
	$(BIN)/python -m bench.federation

bench-quick: $(DEV_READY) jars $(KERNELS_READY)
	$(BIN)/python -m bench.quick

jars: $(ENGINE_READY)
	@$(BIN)/python -m service.broker.jars

clean:
	rm -rf $(VENV) build dist *.egg-info .hypothesis .import_linter_cache .mypy_cache \
		.pytest_cache .ruff_cache spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Java is looked for before anything is downloaded, with the plain interpreter.
$(PYTHON_READY):
	@if [ -z "$(PYTHON)" ]; then \
		echo "No Python 3.11 or newer with the venv module was found:" \
			"install one, or name it with 'make PYTHON=/path/to/python3.11 ...'." >&2; exit 1; fi
	@"$(PYTHON)" -c '$(USABLE)' || { \
		echo "$(PYTHON) is not Python 3.11 or newer with the venv module:" \
			"install one, or name it with 'make PYTHON=/path/to/python3.11 ...'." >&2; exit 1; }
	@"$(PYTHON)" -m service.java
	"$(PYTHON)" -m venv $(VENV)

$(ENGINE_READY): pyproject.toml constraints.txt | $(PYTHON_READY)
	@echo "Installing the engine's packages (a few minutes the first time)"
	$(INSTALL) '.[engine,tables]'
	@touch $@

$(DEV_READY): pyproject.toml constraints.txt | $(ENGINE_READY)
	@echo "Installing the development packages"
	$(INSTALL) '.[engine,tables,dev]'
	@touch $@

$(KERNELS_READY): $(KERNELS) | $(ENGINE_READY)
	@echo "Compiling the kernels (about a minute the first time)"
	$(BIN)/python -m service.install.warm_kernels
	@echo "Archiving the classes of Spark and Kafka (about a minute, once)"
	$(BIN)/python -m service.install.warm_classes
	@touch $@

$(CHECKED_READY): $(KERNELS_READY)
	@echo "Compiling the kernels in their checked form, which tests fuzz"
	SDE_CHECKED_KERNELS=1 $(BIN)/python -m service.install.warm_kernels
	@touch $@
