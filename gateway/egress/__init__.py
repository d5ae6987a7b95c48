"""Everything that is fetched because a caller, a model or a workspace names its address."""
