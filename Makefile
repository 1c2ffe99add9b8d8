# ckptsim. The two commands: `make demo` and `make test`; the rest is listed by `make help`.
#
# VARIANT=release (default) | asan | tsan chooses flags and a folder of its own under build/.

VARIANT ?= release
BUILD := build/$(VARIANT)
PREFIX ?= /usr/local
ifeq ($(origin CC),default)
CC := gcc
endif
VERSION := $(shell cat VERSION)

PACKAGES := libuv liburing yaml-0.1 libcrypto libnvme libxxhash libisal hdf5-serial libzstd
TEST_PACKAGES := cmocka

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wwrite-strings -Wvla -Wundef -Wno-format-truncation
CFLAGS_release := -O2 -g
CFLAGS_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_tsan := -O1 -g -fsanitize=thread
LDFLAGS_asan := -fsanitize=address,undefined
LDFLAGS_tsan := -fsanitize=thread

# := would ask pkg-config before `make deps` could install it; these are asked when first compiled.
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags $(PACKAGES)))$(PKG_CFLAGS)
PKG_LIBS = $(eval PKG_LIBS := $$(shell pkg-config --libs $(PACKAGES)))$(PKG_LIBS)
TEST_LIBS = $(eval TEST_LIBS := $$(shell pkg-config --libs $(TEST_PACKAGES)))$(TEST_LIBS)

ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -I. -MMD -MP $(WARN) $(CFLAGS_$(VARIANT)) $(PKG_CFLAGS) \
	-DCKPTSIM_VERSION='"$(VERSION)"' $(CFLAGS)
ALL_LIBS = $(LDFLAGS_$(VARIANT)) $(LDFLAGS) $(PKG_LIBS) -lm -lpthread

# make V=1 shows whole command lines.
ifeq ($(V),)
SAY = @echo "  $(1) $@";
endif

ROOMS := base models io sim/job sim/drive sim/plan metrics cli
SOURCES := $(filter-out cli/main.c,$(foreach room,$(ROOMS),$(wildcard $(room)/*.c)))
OBJECTS := $(SOURCES:%.c=$(BUILD)/%.o) $(BUILD)/configs.o
CONFIGS := $(sort $(wildcard configs/*/*.yaml))
UNIT_SOURCES := $(wildcard tests/unit/test_*.c) $(wildcard tests/contract/test_*.c) \
	$(wildcard tests/golden/test_*.c) $(wildcard tests/property/test_*.c)
UNIT_TESTS := $(UNIT_SOURCES:%.c=$(BUILD)/%)
PRELOADS := $(patsubst %.c,$(BUILD)/%.so,$(wildcard tests/preload/*.c))
BENCHES := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/bench_*.c))

ifeq ($(VARIANT),release)
BINARY := ckptsim
else
BINARY := $(BUILD)/ckptsim
endif

.PHONY: all demo test test-run tests build-tests bench install uninstall deps docs fmt tidy clean help

all: $(BINARY)

help:
	@echo 'make              builds ./ckptsim'
	@echo 'make demo         installs what is missing, builds, runs the main job scaled down (2 GiB)'
	@echo 'make test         installs what is missing, runs every suite, sanitizers included'
	@echo 'make bench        measures against fio and others, prints ratios'
	@echo 'make install      binary, man page, completion under PREFIX=$(PREFIX)'
	@echo 'make docs         writes docs/options.md and docs/metrics.md from the rows'
	@echo 'make fmt tidy     formats; checks rooms, names, static analysis'
	@echo 'make VARIANT=asan tests    one variant of the unit tests (also tsan)'

$(BINARY): $(BUILD)/cli/main.o $(BUILD)/libckptsim.a
	$(call SAY,link)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LIBS)

$(BUILD)/libckptsim.a: $(OBJECTS)
	@rm -f $@
	$(call SAY,ar  )ar rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call SAY,cc  )$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/configs.o: $(BUILD)/configs.c
	$(call SAY,cc  )$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/configs.c: tools/embed $(CONFIGS)
	@mkdir -p $(@D)
	tools/embed $(CONFIGS) > $@.tmp && mv $@.tmp $@

$(UNIT_TESTS) $(BENCHES): $(BUILD)/%: %.c $(BUILD)/libckptsim.a
	@mkdir -p $(@D)
	$(call SAY,link)$(CC) $(ALL_CFLAGS) -o $@ $< $(BUILD)/libckptsim.a $(TEST_LIBS) $(ALL_LIBS)

$(BUILD)/tests/preload/%.so: tests/preload/%.c
	@mkdir -p $(@D)
	$(call SAY,so  )$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -g -shared -fPIC -o $@ $< -ldl

# One variant's test programs, built and run.
build-tests: $(BINARY) $(UNIT_TESTS) $(PRELOADS)

tests: build-tests
	tests/run $(VARIANT)

test: deps
	@$(MAKE) --no-print-directory test-run

test-run:
	tests/run all

demo: deps
	@$(MAKE) --no-print-directory all
	tools/demo

bench: deps
	@$(MAKE) --no-print-directory all $(BENCHES)
	tests/bench/run

deps:
	@tools/deps

docs: $(BINARY)
	./$(BINARY) help --docs options > docs/options.md
	./$(BINARY) help --docs metrics > docs/metrics.md

install: all
	PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" tools/install

uninstall:
	PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" tools/install --remove

fmt:
	git ls-files '*.c' '*.h' | xargs clang-format -i

tidy: $(BINARY)
	tests/tidy

clean:
	rm -rf build ckptsim

-include $(OBJECTS:.o=.d) $(BUILD)/cli/main.d $(UNIT_TESTS:=.d) $(BENCHES:=.d)
