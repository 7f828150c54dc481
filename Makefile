# Two commands do all the set-up: `make demo` runs the main job on embedded data, `make test` passes the tests.
PYTHON ?= python3.11
BIN := .venv/bin

.PHONY: demo test lint clean

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch .venv/ready

demo: .venv/ready
	$(BIN)/whence demo --out runs/demo

test: .venv/ready
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet -ll --configfile pyproject.toml --recursive src

clean:
	rm -rf .venv runs
