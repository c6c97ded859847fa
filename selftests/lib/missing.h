/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A page that is missing until the test supplies it through userfaultfd: a system call that
 * accesses the page blocks halfway.
 */
#ifndef KPMU_TEST_MISSING_H
#define KPMU_TEST_MISSING_H

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MISSING_SIZE	4096ul

/* Reserve a missing page at *@page: its userfaultfd, or -1 if the kernel has no userfaultfd */
static inline int empty_page(void **page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (uffd < 0)
		return -1;
	*page = mmap(NULL, MISSING_SIZE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (uintptr_t)*page;
	reg.range.len = MISSING_SIZE;
	if (ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &reg))
		return -1;
	return uffd;
}

#endif
