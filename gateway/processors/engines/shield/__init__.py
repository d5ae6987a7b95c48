"""Rules and views of the engine prompt_shield."""
