"""The ledger: its parts, its model, and bugs planted in it that the model must find."""
