"""Stand-ins for the world outside, each as real as a socket can make it."""
