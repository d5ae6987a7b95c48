"""The workspace's credits: balances, the ledger, grants."""
