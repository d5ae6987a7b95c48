#!/usr/bin/env python
"""Django's command line."""

import os
import sys


def main() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 - whoever runs an older one shall be told
        sys.exit(f"Tollhouse needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    from django.core.management import execute_from_command_line

    from gateway.config.env import SettingError

    try:
        execute_from_command_line(sys.argv)
    except SettingError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # nothing runs yet that has to be stopped in order
        sys.exit(130)
