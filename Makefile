PYTHON ?= python3
BIN := .venv/bin
# Without an NVIDIA driver: the CPU build of torch.
CONSTRAINTS := $(if $(shell command -v nvidia-smi 2>/dev/null),,--constraint constraints-cpu.txt)

# The engines of impl/peers that want gigabytes of others: an adapter loads one module of each. Those of .venv are small.
SMALL_ENGINES := mlx-vlm==0.7.10
ENGINES := $(SMALL_ENGINES) vllm==0.33.0 sglang==0.5.23
PEERS := .venv-peers/bin

# What is compiled is kept, in .venv and beside the sources: without, each of hundreds of processes compiles Hypothesis anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: test lint bench mutants matrix peers tried mutmut clean

# Runs a list of test_lists/, for example: make l0_b200 ARGS="--mask-impl eager"
l0_% nightly_%: .venv/installed
	$(BIN)/python -m pytest -m $@ $(ARGS)

# The project's own tests; what CI runs.
test: lint
	$(BIN)/python -m pytest -m l0_cpu $(ARGS)
	$(BIN)/python -m pytest -m l0_b200 --mask-impl eager --cache-impl gemma4-frames
	$(BIN)/python -m pytest -m mutants

# Known-bad implementations through the suite, as a page and as JSON.
mutants: .venv/installed
	$(BIN)/python -m harness mutants $(ARGS)

# Implementations side by side: runs/matrix/matrix.html. What is not installed is shown as not available.
NAMES ?= triton eager flex flex-blocks sdpa hf-gemma3 hf-gemma4 hf-gemma4-unified hf-packed hf-or-last hf-or-last@gemma3-sliding hf-embedding mlx tensor-lru cachetools
matrix: .venv/installed
	$(BIN)/python -m harness matrix $(NAMES) $(ARGS)

# The adapters to other engines, with the engines. Then for one of them:
#   .venv-peers/bin/python -m pytest -m l0_b200 --only masks --mask-impl vllm
peers: .venv-peers/installed
	$(PEERS)/python -m pytest suites/impl/test_peers.py $(ARGS)

# The page of all engines that were tried, docs/matrix: with those of `make peers`.
TRIED := $(NAMES) vllm sglang-gemma3 sglang-gemma4 flashinfer sglang-static vllm-manager trtllm-lru gemma4 gemma4-frames generic
tried: .venv-peers/installed
	$(PEERS)/python -m harness matrix $(TRIED) --out runs/tried
	cat docs/matrix/intro.md runs/tried/matrix.md > docs/matrix/README.md
	rm -rf docs/matrix/images
	cp -R runs/tried/images docs/matrix/images

# Every operator and constant of the oracles and of the plain parts of the harness, changed one at a time by mutmut: hours.
# For one module: make mutmut ARGS='reference.dense.*'
mutmut: .venv/installed
	$(BIN)/python -m pip install --quiet $(CONSTRAINTS) --editable '.[mutation]'
	CI=1 OMP_NUM_THREADS=1 TRITON_INTERPRET=1 $(BIN)/mutmut run $(ARGS)
	$(BIN)/mutmut results

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m harness lint

bench: .venv/installed
	$(BIN)/python -m pytest -m perf -n0 --benchmark-only $(ARGS)

.venv/installed: pyproject.toml constraints-cpu.txt
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14) and "expected Python 3.11 to 3.13, found " + sys.version.split()[0] + "; choose one with: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet $(CONSTRAINTS) --editable '.[lint,test,witness,peers]'
	$(BIN)/python -m pip install --quiet --no-deps $(SMALL_ENGINES)
	touch $@

.venv-peers/installed: pyproject.toml constraints-cpu.txt
	$(PYTHON) -m venv .venv-peers
	$(PEERS)/python -m pip install --quiet $(CONSTRAINTS) --editable '.[peers]'
	$(PEERS)/python -m pip install --quiet --no-deps $(ENGINES)
	touch $@

clean:
	rm -rf .venv .venv-peers build runs mutants *.egg-info
