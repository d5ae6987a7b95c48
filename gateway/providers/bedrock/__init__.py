"""Amazon Bedrock's Converse API: one wire format for the models of many makers."""
