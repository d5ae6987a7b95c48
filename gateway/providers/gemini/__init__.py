"""Gemini's generateContent API, on Google AI Studio and on Vertex AI."""
