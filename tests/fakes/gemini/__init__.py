"""Gemini's generateContent API as the fake upstream speaks it: what it refuses and how it
answers."""
