"""POST /audio/transcriptions and /audio/translations."""
