"""Calls to servers of Text Generation Inference, over sockets."""
