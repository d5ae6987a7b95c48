"""An installation as a customer would have it: workspace, credit, provider, model, key, rules."""

from __future__ import annotations

from bench.programs import Program, Programs

MODEL = "bench-model"
CREDIT_USD = "1000000"


def set_up(programs: Programs, upstream: Program) -> str:
    """Fill an empty home through the management commands and return the key's secret."""
    programs.migrate()
    programs.manage("create_workspace", "bench", "--credit", CREDIT_USD)
    base_url = f"http://127.0.0.1:{upstream.port}/v1"
    programs.manage(
        *("add_provider", "fake", "--kind", "openai_compatible", "--base-url", base_url)
    )
    programs.manage(
        *("add_model", MODEL, "--provider", "fake", "--native", "fake"),
        *("--input", "0.5", "--cached-input", "0.05", "--output", "1.5"),
        *("--context", "128000", "--max-output", "16384"),
    )
    issued = programs.manage(
        *("issue_key", "bench", "load run", "--model", MODEL),
        *("--ip", "127.0.0.0/8", "--ip", "10.0.0.0/8"),
    )
    return issued["secret"]
