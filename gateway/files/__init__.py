"""Files of calls that need work: fetched from an address, or a PDF made readable."""
