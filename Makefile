# SPDX-License-Identifier: GPL-2.0-only
# The front door: everything a person runs.  `make help` lists it.

.DEFAULT_GOAL := help

help:
	@sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST))

.PHONY: help
