"""The pages of language models. The dashboard has no database models of its own."""
