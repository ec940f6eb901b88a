# make demo   installs into .venv and measures the CSFCube paper's tables again
# make check  installs into .venv and runs ruff, mypy and the unit tests, in about a minute
# make test   installs into .venv and runs ruff, mypy and all tests
# make lanes  runs the unit tests with every Python that irtoolkit supports; make lane-3.12 with one
# make docs   installs into .venv and builds the pages into site/, checking every link

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Real benchmark releases, when there are any beside the checkout; see README.md.
ifneq ($(wildcard ../shared/data),)
IRTOOLKIT_DATA ?= ../shared/data
endif
export IRTOOLKIT_DATA
# Nothing here fetches model weights: the tests and the demo use what is installed.
export HF_HUB_OFFLINE := 1
export TOKENIZERS_PARALLELISM := false

# Pythons that irtoolkit supports, what is installed for each, and the tests that are run.
LANES := 3.11 3.12 3.13
EXTRAS ?= dev
TESTS ?= tests/unit

.PHONY: demo check test lanes $(LANES:%=lane-%) lint docs clean

$(VENV)/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	# torch first and pinned: unpinned it brings several GB of CUDA libraries.
	$(BIN)/pip install -q --disable-pip-version-check "$$(grep '^torch==' constraints.txt)"
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

# The published release where it is on this machine or quickly downloaded, else the invented sample.
demo: $(VENV)/installed
	@$(BIN)/irtoolkit reproduce csfcube --or-sample

# On the samples alone: the real releases are read by make test.
check: lint
	env -u IRTOOLKIT_DATA $(BIN)/pytest tests/unit

test: lint
	$(BIN)/pytest

lanes: $(LANES:%=lane-%)

# uv finds a Python in PATH, or downloads one. constraints.txt says what differs between them.
$(BIN)/uv: $(VENV)/installed
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt uv

$(LANES:%=lane-%): lane-%: $(BIN)/uv
	$(BIN)/uv venv -q --allow-existing --python $* .venv-$*
	$(BIN)/uv pip install -q --python .venv-$*/bin/python -c constraints.txt -e '.[$(EXTRAS)]'
	env -u IRTOOLKIT_DATA .venv-$*/bin/python -m pytest $(TESTS)

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/installed
	$(BIN)/python docs/generate.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(LANES:%=.venv-%) site .mypy_cache .ruff_cache .pytest_cache
