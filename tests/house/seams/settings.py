"""The product's settings with one app more."""

from gateway.settings import *  # noqa: F403
from gateway.settings import INSTALLED_APPS as _APPS

INSTALLED_APPS = [*_APPS, "tests.house.seams.apps.Scratch"]
