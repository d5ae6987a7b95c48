"""What a call cost."""
