"""The pages: what they show, to whom, and what they write."""
