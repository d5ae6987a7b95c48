"""POST /audio/speech."""
