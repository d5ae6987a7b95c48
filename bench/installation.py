"""An installation as a customer would have it: workspace, credit, provider, model, key, rules."""

from __future__ import annotations

from collections.abc import Collection

from bench.programs import Program, Programs

MODEL = "bench-model"
# At a provider of Anthropic's dialect.
MODEL_AT_ANTHROPIC = "bench-model-at-anthropic"
EMBEDDINGS_MODEL = "bench-embeddings"
CREDIT_USD = "1000000"


def set_up(programs: Programs, upstream: Program, measures: Collection[str]) -> str:
    """Fill an empty home through the management commands and return the key's secret.

    measures: what is going to be measured. Earlier versions know neither Anthropic's dialect nor
    embeddings, so these are set up only where they are measured.
    """
    programs.migrate()
    programs.manage("create_workspace", "bench", "--credit", CREDIT_USD)
    base_url = f"http://127.0.0.1:{upstream.port}/v1"
    programs.manage(
        *("add_provider", "fake", "--kind", "openai_compatible", "--base-url", base_url)
    )
    models = {MODEL: "fake"}
    if "translated" in measures:
        programs.manage(
            *("add_provider", "fake-anthropic", "--kind", "anthropic"),
            *("--base-url", f"http://127.0.0.1:{upstream.port}/anthropic/v1"),
            *("--credential-env", "BENCH_CREDENTIAL"),
            env={"BENCH_CREDENTIAL": "sk-bench"},
        )
        models[MODEL_AT_ANTHROPIC] = "fake-anthropic"
    for model, provider in models.items():
        programs.manage(
            *("add_model", model, "--provider", provider, "--native", "fake"),
            *("--input", "0.5", "--cached-input", "0.05", "--output", "1.5"),
            *("--context", "128000", "--max-output", "16384"),
        )
    if "embeddings" in measures:
        models[EMBEDDINGS_MODEL] = "fake"
        programs.manage(
            *("add_model", EMBEDDINGS_MODEL, "--provider", "fake", "--native", "fake"),
            *("--input", "0.02", "--output", "0", "--free", "--max-output", "1"),
            *("--context", "8192", "--operation", "embeddings"),
        )
    issued = programs.manage(
        *("issue_key", "bench", "load run"),
        *(option for model in models for option in ("--model", model)),
        *("--ip", "127.0.0.0/8", "--ip", "10.0.0.0/8"),
    )
    return issued["secret"]
