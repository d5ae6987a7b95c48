"""Why would this call be admitted or refused? The checks of admission, without a call."""
