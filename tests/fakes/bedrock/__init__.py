"""Amazon Bedrock, as the fake upstream plays it."""
