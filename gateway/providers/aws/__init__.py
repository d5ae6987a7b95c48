"""What AWS's services have in common: who asks, and how they refuse."""
