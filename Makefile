# Everything runs in .venv, which `make setup` builds from pyproject.toml and constraints.txt.
# Another Python: make setup PYTHON=python3.12

ifndef PYTHON
PYTHON := $(shell command -v python3)
endif
BIN := .venv/bin
OUT := out
WORKERS := 2
PYTEST := $(BIN)/python -m pytest -n $(WORKERS)
MINUTES := 20
# nbgrader calls other programs of .venv by name.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# An environment that is active in the shell is not the one of this checkout.
unexport VIRTUAL_ENV PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: help setup lab test quick test-long test-all lint docs exercises grade-demo ladder tune book linkcheck pins doctor rules bench gpu clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' Makefile

# pip's words, as a running count of what it fetches; "failed" ends the line of programs with 1.
COUNTED = awk '/^failed$$/ { failed = 1 } \
  / (Downloading|Using cached) .*[(][0-9.]+ [kMG]B[)]/ { file = $$(NF-2); sub(/.*\//, "", file); \
    size = substr($$(NF-1), 2) * ($$NF ~ /k/ ? 0.001 : $$NF ~ /G/ ? 1000 : 1); total += size; files++; \
    if (size >= 5) printf "%6.0f MB  %s\n", total, file; fflush() } \
  /^Installing collected packages/ { printf "%6.0f MB  fetched; unpacking\n", total; fflush() } \
  END { exit failed }'
INSTALL = { $(BIN)/python -m pip install -c constraints.txt --progress-bar off -e

setup: .venv/.ready ## set up .venv for everything, once

.venv/.lab: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing the lessons into .venv: 300 MB to fetch, 1.1 GB on disk, once."
	@$(INSTALL) '.[lab]' || echo failed; } | $(COUNTED)
	@$(CONFIGURE)
	@touch $@

.venv/.ready: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing everything into .venv: 600 MB to fetch, 2.1 GB on disk, once."
	@$(INSTALL) '.[dev]' || echo failed; } | $(COUNTED)
	@$(CONFIGURE)
	@touch .venv/.lab $@

define CONFIGURE
mkdir -p .venv/etc/jupyter; \
: "nbgrader looks here from every folder of the course"; \
ln -sfn ../../../nbgrader_config.py .venv/etc/jupyter/nbgrader_config.py; \
: "exported pages show the static form of widgets: from the terminal, and from JupyterLab's menu"; \
ln -sfn ../../../nbconvert_config.json .venv/etc/jupyter/jupyter_nbconvert_config.json; \
ln -sfn ../../../nbconvert_config.json .venv/etc/jupyter/jupyter_server_config.json
endef

$(BIN)/python:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "The course needs Python 3.11 or newer; '$(PYTHON)' is $$("$(PYTHON)" --version 2>&1)."; \
	  echo "Name another one: make setup PYTHON=python3.12"; exit 1; }
	"$(PYTHON)" -m venv --clear .venv || { rm -rf .venv; exit 1; }

lab: .venv/.lab ## open the lessons in JupyterLab, or print the address
	@$(BIN)/mlc-course lab

test: lint ## every kind of test: lint, types, unit tests, notebooks, browser; 45 minutes
	$(PYTEST)

quick: setup ## the tests that answer soonest; a quarter of an hour
	$(PYTEST) -m 'not slow and not notebook and not browser'

test-long: setup ## what draws its cases, with fresh seeds, for MINUTES=20; prints how many it tried
	$(PYTEST) --minutes $(MINUTES)

test-all: lint ## every count whole, as recorded in benchmarks/results/test_all.json
	$(PYTEST) --full --record=benchmarks/results/test_all.json

lint: setup ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

grade-demo: setup ## grade the honest and the cheating submissions of the tests, and print the table
	@rm -rf $(OUT)/grade-demo
	@$(BIN)/python tests/corpus/build.py $(OUT)/grade-demo/class
	@$(BIN)/mlc-course grade $(OUT)/grade-demo/class --solutions tests/corpus/solutions \
	  --out $(OUT)/grade-demo/marks.csv

docs: setup ## fill the sample output in README.md and docs/ from real runs and recorded results
	@$(BIN)/python docs/samples.py
	@$(BIN)/python docs/start_page.py

exercises: setup ## generate exercises/ from solutions/, and tell the gradebook what is graded
	@$(BIN)/python -m mlc_course.grading.nbgrader.exercise_release

ladder: .venv/.lab ## climb the CPU ladder; JSON and a picture in out/
	@mkdir -p $(OUT)
	@$(BIN)/mlc-course ladder matmul_exp_matmul --json $(OUT)/ladder.json --plot $(OUT)/ladder.png

tune: .venv/.lab ## search the schedule space of the ladder's workload
	@$(BIN)/mlc-course tune matmul_exp_matmul

book: setup ## every lesson with its outputs, docs and library as web pages in out/book; FRESH=1 runs all
	@$(BIN)/python docs/book/build.py $(if $(FRESH),--fresh)

linkcheck: setup ## do the book's links to other sites answer? Needs a network
	@$(BIN)/python docs/book/build.py --links

pins: setup ## which pins can move? Tries the newest of everything apart from .venv; 10 minutes
	@$(BIN)/python benchmarks/pins.py --json $(OUT)/pins.json

doctor: .venv/.lab ## is this machine ready?
	@$(BIN)/mlc-course doctor

rules: setup ## search for the recorded vector instructions of the catalogue anew; some minutes
	$(BIN)/python -m mlc_course.instruction_selection.search.record

bench: setup ## every benchmark, held against the numbers it was built for; JSON and pictures in out/
	@mkdir -p $(OUT)
	@status=0; for name in lessons lecture memory ladder intervals tiles tune grading evidence verify superoptimize codegen_cpu; do \
	  script=benchmarks/$$name.py; echo "$$script"; \
	  $(BIN)/python "$$script" --check --json "$(OUT)/$$name.json" --plot "$(OUT)/$$name.svg" \
	    || status=1; done; exit $$status

gpu: setup ## on an NVIDIA GPU: kernels checked, and timed beside CuPy and PyTorch
	@$(BIN)/python benchmarks/codegen_gpu.py --check

clean: ## remove .venv and everything else that make or a tool built
	rm -rf .venv $(OUT) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
