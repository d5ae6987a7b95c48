"""Whole calls over real sockets: a gateway, a fake upstream and a control plane, a process each."""
