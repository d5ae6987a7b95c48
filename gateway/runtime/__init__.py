"""Parts of a server process that know Django: gateway.wiring joins them with the hot path."""
