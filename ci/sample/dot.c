// SPDX-License-Identifier: GPL-2.0-only
#include "dot.h"

/* dot - the sum of the products of two vectors of @n elements */
long dot(const long *a, const long *b, size_t n)
{
	long sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}
