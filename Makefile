# The front door. CMakePresets.json defines the builds; `make check-NAME` tests the one named NAME.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
OUT ?= build/paper/report
JOBS ?= $(shell nproc)
SOURCES = $(shell find bench cli examples include mpi python serve src tests -name '*.[ch]' -o -name '*.cpp')

all:
	cmake --preset release --log-level=WARNING
	cmake --build --preset release

python:
	scripts/install-packages build python
	cmake --preset release -DEFFACE_PYTHON=ON --log-level=WARNING
	cmake --build --preset release --target efface_python

demo:
	scripts/install-packages build
	$(MAKE) all
	scripts/demo
	build/efface-bench demo

check:
	scripts/install-packages build check
	$(MAKE) check-dev

check-full:
	scripts/install-packages build check full
	$(MAKE) $(addprefix check-,dev asan tsan ref clang clang0 debug0 arm64 gcc)
	ctest --preset full -j $(JOBS)

# The paper's experiments: DATA is a folder with the data sets (docs/data.md).
paper:
	scripts/install-packages build bench
	$(MAKE) all
	bench/paper.py $(if $(DATA),--data "$(DATA)") $(if $(QUICK),--quick) --out $(OUT)

check-%:
	cmake --preset $* --log-level=WARNING
	cmake --build --preset $*
	ctest --preset $* -j $(JOBS)

fuzz:
	scripts/install-packages build check
	cmake --preset fuzz --log-level=WARNING
	cmake --build --preset fuzz
	set -e; for target in build-fuzz/fuzz/*; do \
	    name=$${target##*/}; found=build-fuzz/found/$$name; mkdir -p $$found; \
	    $$target -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$$found- \
	        $$found tests/fuzz/corpus/$$name; \
	done

format:
	clang-format -i $(SOURCES)

format-check:
	clang-format --dry-run -Werror $(SOURCES)

install: all
	cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build build-*

.NOTPARALLEL:
.PHONY: all python demo paper check check-full fuzz format format-check install clean
