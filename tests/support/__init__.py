"""What tests start and wait for: servers, deadlines, binaries."""
