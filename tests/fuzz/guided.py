"""One target under Atheris, which watches what the gateway's code does with each input.

Started by tests/fuzz/__main__.py; needs Atheris, which nothing else here does.
"""

from __future__ import annotations

import sys

import atheris


def main() -> None:
    target, arguments = sys.argv[1], [sys.argv[0], *sys.argv[2:]]
    atheris.enabled_hooks.add("str")
    with atheris.instrument_imports(include=["gateway"]):
        from tests.fuzz.targets import TARGETS
    atheris.Setup(arguments, TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
