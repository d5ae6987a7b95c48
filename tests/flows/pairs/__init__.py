"""Every format of callers against every dialect of providers: one battery for all pairs."""
