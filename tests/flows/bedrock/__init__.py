"""Calls to models on Amazon Bedrock, over sockets."""
