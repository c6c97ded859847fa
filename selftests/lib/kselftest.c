// SPDX-License-Identifier: GPL-2.0-only
/*
 * Of programs in a kernel tree: without the module they are skipped, as kselftest wants.  In kpmu's guests
 * a missing device is a failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kpmu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KSFT_SKIP	4

/* modprobe kpmu, quietly */
static void load(void)
{
	pid_t pid = fork();

	if (!pid) {
		execlp("modprobe", "modprobe", "-q", "kpmu", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

/* Before other constructors: one of event.c opens the device, and fails without it */
static void __attribute__((constructor(101))) need_module(void)
{
	const char *route = getenv("KPMU_ROUTE");
	int fd;

	if (route && !strcmp(route, "native"))
		return;
	if (access(KPMU_DEVICE, F_OK))
		load();
	fd = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return;
	}
	printf("TAP version 13\n1..0 # SKIP %s: %s\n", KPMU_DEVICE, strerror(errno));
	fflush(stdout);
	/* Not exit(): what it ends has not begun yet */
	_exit(KSFT_SKIP);
}
