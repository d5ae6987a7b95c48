"""The mechanics of a stream: events from bytes, the meter, the watch over live calls."""
