# SPDX-License-Identifier: GPL-2.0-only
# 7.2 that can profile a module (make coverage), on top of min.frag; the kernel itself is
# not profiled
CONFIG_LOCALVERSION="-kpmu-gcov"
CONFIG_GCOV_KERNEL=y
CONFIG_CONSTRUCTORS=y
CONFIG_GCOV_PROFILE_ALL=n
# Paths of errors are walked by fault injection
CONFIG_FAULT_INJECTION=y
CONFIG_FAILSLAB=y
CONFIG_FAIL_PAGE_ALLOC=y
CONFIG_FAULT_INJECTION_DEBUG_FS=y
CONFIG_FAULT_INJECTION_USERCOPY=y
CONFIG_STACKTRACE=y
