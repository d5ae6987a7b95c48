"""Every test. Folders mirror the sources; flows, contract, money and faults cut across."""
