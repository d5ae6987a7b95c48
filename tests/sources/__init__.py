"""One test for each item of the products whose clients must work here unchanged.

A test is named after its item: test_S0_07_... is item S0-07. docs/source-coverage.md lists all
items, with the test of each or what it still waits for.
"""
