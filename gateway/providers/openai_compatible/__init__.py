"""OpenAI's wire format, as OpenAI and its many look-alikes speak it: one file per operation."""
