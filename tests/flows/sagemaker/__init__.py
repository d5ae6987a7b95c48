"""Calls to servers behind endpoints of Amazon SageMaker, over sockets."""
