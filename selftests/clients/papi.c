// SPDX-License-Identifier: GPL-2.0-only
/*
 * papi N - initialize PAPI and, if N is not 0, start, read and stop a set of two events N times.
 * PAPI's library is loaded at run time, so that the build needs no headers of PAPI; the constants
 * are those of PAPI 7.0.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define PAPI_VERSION	0x07000000
#define PAPI_TOT_INS	0x80000032
#define PAPI_BR_INS	0x80000037
#define PAPI_NULL	-1

static void *library;

static void *function(const char *name)
{
	void *p = dlsym(library, name);

	if (!p) {
		fprintf(stderr, "papi: no %s\n", name);
		exit(1);
	}
	return p;
}

static void must(const char *what, int result)
{
	if (result) {
		fprintf(stderr, "papi: %s: %d\n", what, result);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	int (*init)(int version), (*create)(int *set), (*add)(int set, int code);
	int (*get)(int set, long long *values), (*stop)(int set, long long *values);
	int (*start)(int set);
	long n = argc > 1 ? atol(argv[1]) : 0;
	long long v[2], sum = 0;
	int set = PAPI_NULL;

	library = dlopen("libpapi.so.7.0", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "papi: %s\n", dlerror());
		return 1;
	}
	init = function("PAPI_library_init");
	create = function("PAPI_create_eventset");
	add = function("PAPI_add_event");
	start = function("PAPI_start");
	get = function("PAPI_read");
	stop = function("PAPI_stop");
	must("version", init(PAPI_VERSION) != PAPI_VERSION);
	if (!n)
		return 0;
	must("create", create(&set));
	must("instructions", add(set, PAPI_TOT_INS));
	must("branches", add(set, PAPI_BR_INS));
	while (n--) {
		must("start", start(set));
		must("read", get(set, v));
		must("stop", stop(set, v));
		sum += v[0];
	}
	return sum <= 0;
}
