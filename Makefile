# make demo, make test, make bench: each does its own set-up (.ci/environment.py) and works alone,
# on a machine that has Python 3.10 or newer, a C compiler and make.

PYTHON ?= python3
# Arguments handed on: make demo ARGS="--robot ur5e", make test ARGS="-k trajectory"
ARGS ?=

# A sourced ROS 2 is used; otherwise ROS 2 comes as Python wheels, jazzy or kilted.
ROS_DISTRO_WHEELS ?= jazzy
ifneq ($(ROS_DISTRO),)
  VENV := .venv-ros-$(ROS_DISTRO)
  FOR_DEMO := demo
  EXTRAS := demo,lint,test
else
  VENV := .venv$(if $(filter-out jazzy,$(ROS_DISTRO_WHEELS)),-$(ROS_DISTRO_WHEELS))
  FOR_DEMO := demo,$(ROS_DISTRO_WHEELS)
  EXTRAS := demo,examples,lint,peers,test,$(ROS_DISTRO_WHEELS)
endif

# Python starts hundreds of times in the tests: its bytecode is kept.
unexport PYTHONDONTWRITEBYTECODE
PYTEST = $(VENV)/bin/python -m pytest
# Tests of nodes wait as long as they compute.
BESIDE = --numprocesses $$(($$(nproc) < 6 ? 2 * $$(nproc) : 12)) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test test-all oldest wheels wheels-arm64 test-arm64 docs bench chaos fuzz sanitize hostile lint environment python clean

help:
	@echo "make demo   the arm in motion: controller and digital twin over DDS; picture in demo/"
	@echo "make test   every contract once, in about 4 minutes on two processors"
	@echo "make test-all   all there is, also studies and what has to run alone: before a release, and each night"
	@echo "make oldest   compiles with the oldest Cython and NumPy that are promised, and tries the result"
	@echo "make wheels   dist/: wheels for Python 3.10 to 3.14 and any Linux with glibc 2.28, and the sdist (ARGS=3.12)"
	@echo "make wheels-arm64   the same for ARM64, cross-compiled"
	@echo "make test-arm64   a wheel for ARM64, and test/unit with it under qemu (ARGS=test/unit/dynamics/test_batches.py); long"
	@echo "make docs   checks the book's algorithms (pytest docs/dynamics); the site, in docs/_build; warnings are errors"
	@echo "make bench  the benchmarks, with ratios to Pinocchio and MuJoCo; pictures in bench/"
	@echo "            (ARGS=--quick: does everything run? ARGS=--callgrind: count instructions)"
	@echo "make chaos  10,000 seeded faults between and in controller and twin, in simulated time: does the arm stay"
	@echo "            safe? a table, and chaos/episodes.csv, in minutes (ARGS=\"--episodes 100000 --seed 100\")"
	@echo "make lint   ruff; types by mypy, and of the compiled core by its stubtest"
	@echo "make fuzz   mutated messages and URDFs, read under AddressSanitizer and UBSan; 200,000 in all"
	@echo "            (ARGS=\"--executions 10000000 --seed 1\": so many, from another beginning)"
	@echo "make sanitize  test/unit and test/fuzz under the same sanitizers; built aside, takes long"
	@echo "make hostile  what hostile neighbours do to the nodes"
	@echo "make clean  removes all that make and the builds have made"
	@echo "ARGS=... is handed on; ROS_DISTRO_WHEELS=kilted takes ROS 2 Kilted's wheels, not Jazzy's."

# No more than it needs: the others add what they need.
demo: python
	@$(PYTHON) .ci/environment.py $(VENV) $(FOR_DEMO) native
	@$(VENV)/bin/featherstone-ros demo $(ARGS)

test: environment
	@$(PYTEST) $(BESIDE) $(ARGS)

test-all: environment
	@$(PYTEST) --numprocesses 1 -m alone $(ARGS); alone=$$?; \
	$(PYTEST) $(BESIDE) -m "not alone" $(ARGS); beside=$$?; \
	case $$alone-$$beside in \
	0-0 | 5-0 | 0-5) ;; \
	0-* | 5-*) exit $$beside ;; \
	*) echo "of the tests that run alone some have failed, see above" >&2; exit $$alone ;; \
	esac

oldest:
	@$(PYTHON) .ci/oldest.py .venv-oldest

wheels:
	@$(PYTHON) .ci/wheels.py .venv-wheels $(ARGS)

wheels-arm64:
	@$(PYTHON) .ci/wheels.py --arm64 .venv-wheels $(ARGS)

test-arm64:
	@$(PYTHON) .ci/wheels.py --arm64 .venv-wheels 3.11
	@$(PYTHON) .ci/arm64.py .venv-wheels $(ARGS)

docs: python
	@$(PYTHON) .ci/environment.py $(VENV) $(EXTRAS),docs native
	@$(PYTEST) -q docs/dynamics
	@$(VENV)/bin/sphinx-build -q -W --keep-going docs docs/_build $(ARGS) && echo "docs/_build/index.html"

bench: environment
	@$(VENV)/bin/python -m benchmarks $(ARGS)

fuzz: environment
	@$(VENV)/bin/python .ci/sanitized.py test/fuzz $(ARGS)

# Under sanitizers a test takes many times as long.
sanitize: environment
	@$(VENV)/bin/python .ci/sanitized.py -m pytest --timeout 3600 -m "" test/unit test/fuzz $(ARGS)

hostile: environment
	@$(PYTEST) -m alone -s test/ros/test_neighbour.py $(ARGS)

chaos: environment
	@$(VENV)/bin/python test/chaos/replica.py $(ARGS)

lint: environment
	@$(VENV)/bin/ruff check .
	@! grep -rnE '^.{101}' cython_core --include='*.p[xy]*' --include='*.h'
	@$(VENV)/bin/mypy
	@$(VENV)/bin/stubtest --mypy-config-file pyproject.toml featherstone_ros._core

environment: python
	@$(PYTHON) .ci/environment.py $(VENV) $(EXTRAS)

python:
	@command -v $(PYTHON) >/dev/null || { echo "featherstone_ros: there is no $(PYTHON); install Python 3.10 or newer" >&2; exit 1; }

clean:
	rm -rf docs/_build docs/reference .venv .venv-* build dist install log bench chaos demo monte_carlo shadow featherstone_ros.egg-info featherstone_ros/_*.so
	rm -f cython_core/*/*.c cython_core/*/*.html
