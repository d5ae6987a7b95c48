"""The mechanics of an answer: the relay, the meter, the supervisor of live calls."""
