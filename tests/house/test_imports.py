"""Who may import whom: the contracts of pyproject.toml, and what they cannot say."""

from __future__ import annotations

import sys

import grimp
import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from tests.house.tree import ROOT

CORE_MAY_IMPORT = {"msgspec", "uuid_utils"}


def test_every_import_contract_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    # It would switch off every logger that there is, for the tests that come after this one, too.
    monkeypatch.setattr("importlinter.cli._configure_logging", lambda _: None)

    assert lint_imports(no_cache=True) == EXIT_STATUS_SUCCESS


def test_the_core_imports_the_standard_library_and_two_packages() -> None:
    graph = grimp.build_graph("gateway", include_external_packages=True, cache_dir=None)
    core = {"gateway.core", *graph.find_descendants("gateway.core")}

    imported = {name for module in core for name in graph.find_modules_directly_imported_by(module)}

    outside = {name.split(".")[0] for name in imported - core} - CORE_MAY_IMPORT
    assert outside <= set(sys.stdlib_module_names)
