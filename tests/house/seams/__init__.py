"""A scratch package: one of everything that a stranger may add, registered and nothing else."""
