# The front door. CMakePresets.json defines the builds; `make check-NAME` tests the one named NAME.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
OUT ?= build/paper/report
JOBS ?= $(shell nproc)
SOURCES = $(shell find bench cli examples include mpi python serve src tests -name '*.[ch]' -o -name '*.cpp')

# A build remembers where its tree was; a copied or moved one has to be built again.
moved := $(shell for cache in build/CMakeCache.txt build-*/CMakeCache.txt; do \
    home=$$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$$cache" 2>/dev/null); \
    [ -z "$$home" ] || [ "$$home" -ef . ] || dirname "$$cache"; done)
ifneq ($(moved),)
ifneq ($(MAKECMDGOALS),clean)
$(error This tree was copied or moved after $(moved) was built. Run `make clean`, then this again)
endif
endif

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

# A build for users that is there gets what the installed libraries make possible: efface-mpi.
check:
	scripts/install-packages build check
	[ ! -d build ] || $(MAKE) all
	$(MAKE) check-dev

check-full:
	scripts/install-packages build check full
	$(MAKE) $(addprefix check-,dev asan tsan ref clang clang0 debug0 arm64)
	cmake --preset gcc --log-level=WARNING
	cmake --build --preset full
	scripts/check-full-tests build-gcc
	ctest --preset full -j $(JOBS)

# The paper's experiments: DATA is a folder with the data sets (docs/measured/data.md), PYTHON an
# interpreter that has the newest peers.
paper:
	scripts/install-packages build bench
	$(MAKE) all
	$(PYTHON) bench/paper.py $(if $(DATA),--data "$(DATA)") $(if $(QUICK),--quick) --out $(OUT)

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
