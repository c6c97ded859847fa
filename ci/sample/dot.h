/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DOT_H
#define DOT_H

#include <stddef.h>

long dot(const long *a, const long *b, size_t n);

#endif
