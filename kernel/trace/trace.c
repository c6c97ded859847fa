// SPDX-License-Identifier: GPL-2.0-only
/* The one place where the bodies of the tracepoints are made. */
#define CREATE_TRACE_POINTS
#include "kpmu_trace.h"
