"""Hugging Face's Text Generation Inference: OpenAI's chat completions, with differences."""
