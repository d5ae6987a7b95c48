"""Calls over real sockets of operations with one answer: moderations, rankings, images."""
