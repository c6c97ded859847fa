# SPDX-License-Identifier: GPL-2.0-only
# The front door: everything a person runs.
#
## make demo         boot, load kpmu, count known work beside native perf
## make test         all tests, on all kernels
## make modules      build kpmu.ko for all kernels (build/NAME/kpmu.ko)
## make module K=6.1 build it for one; KDIR=tree KERNEL=vmlinuz K=given for yours
## make selftests    build the test programs
## make shell        a shell in a guest with kpmu loaded (K=6.12)
## make clean        remove build/; caches outside the checkout stay

K ?= 6.12
KERNELS := 6.1 6.12
TOP := $(CURDIR)

.DEFAULT_GOAL := help
help:
	@sed -n 's/^## //p' Makefile

# Each kernel builds in a copy of the sources, so that builds do not mix
module:
	@qemu/module.sh $(K)
modules:
	@for k in $(KERNELS); do qemu/module.sh $$k || exit 1; done
selftests:
	@$(MAKE) -s -C selftests
shell: module
	@qemu/run.sh -k $(K) -I
test: modules selftests
	@selftests/run.sh
clean:
	rm -rf build

.PHONY: help module modules selftests shell test clean
