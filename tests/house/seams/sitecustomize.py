"""Registers the scratch package in every process whose PYTHONPATH has this folder."""

from __future__ import annotations

from tests.house.seams.register import register

register()
