/* SPDX-License-Identifier: GPL-2.0-only */
/* The modules of KVM, which the lists of files of some programs name. */
#ifndef KPMU_TEST_KVM_H
#define KPMU_TEST_KVM_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Load the modules of the list, kvm_amd with @params; those that are loaded already stay */
static inline int load_kvm(const char *params)
{
	char name[64], path[96];
	FILE *f = fopen("/tests/modules/order", "r");
	int fd;

	if (!f)
		return -1;
	while (fscanf(f, "%63s", name) == 1) {
		snprintf(path, sizeof(path), "/tests/modules/%s.ko", name);
		fd = open(path, O_RDONLY);
		if (syscall(SYS_finit_module, fd, strcmp(name, "kvm_amd") ? "" : params, 0) && errno != EEXIST)
			printf("# %s: %s\n", name, strerror(errno));
		close(fd);
	}
	fclose(f);
	return access("/dev/kvm", R_OK | W_OK);
}

#endif
