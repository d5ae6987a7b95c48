"""Speech, transcriptions and translations over real sockets."""
