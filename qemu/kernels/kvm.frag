# SPDX-License-Identifier: GPL-2.0-only
# 7.2 with KVM for AMD's CPUs, on top of min.frag: for guests that run guests of their own, whose vPMU may
# be mediated (count_kvm_mediated)
CONFIG_LOCALVERSION="-kpmu-kvm"
CONFIG_VIRTUALIZATION=y
CONFIG_KVM=m
CONFIG_KVM_AMD=m
CONFIG_CPU_SUP_AMD=y
