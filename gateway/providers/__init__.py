"""Providers: a catalogue, an adapter per dialect and operation, framings and transports."""
