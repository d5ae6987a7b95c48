"""The price list of providers: what an import changes, and models with other prices."""
