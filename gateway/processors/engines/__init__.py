"""Engines: what processors compute with, each a module that is imported in child processes alone.

A module has `handle(request: dict[str, object]) -> dict[str, object]`, of JSON values. It is called
for one request at a time. What it raises is a failure of the engine, which is tried again; what a
caller is to be told is a part of what it returns. It may have

    MEMORY_BYTES    how much the process may allocate, where MEMORY_BYTES of engine_worker is not
                    enough

Nothing of a request may be logged or put into an exception's text.
"""
