"""Amazon Web Services: models on Bedrock, and endpoints of SageMaker."""

from __future__ import annotations

import re

from gateway.providers.catalogue.kind import ProviderKind
from gateway.providers.catalogue.setting import ProviderSetting

REGION = ProviderSetting(
    "region",
    "Region",
    required=True,
    pattern=re.compile(r"[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}"),
    help="Where the models are served.",
    example="eu-central-1",
    env_var="AWS_REGION",
)
HOSTED_PROVIDER = ProviderSetting(
    "hosted_provider",
    "Server",
    default="openai",
    choices=("openai", "tgi"),
    help="API of the endpoint: openai (vLLM, LMI), or tgi (Text Generation Inference).",
)
KINDS: tuple[ProviderKind, ...] = (
    ProviderKind(
        "aws_bedrock",
        "Amazon Bedrock",
        "https://bedrock-runtime.{region}.amazonaws.com",
        # https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html
        "AWS_BEARER_TOKEN_BEDROCK",
        dialect="bedrock",
        credential="aws",
        settings=(REGION,),
        takes_many_choices=False,
        takes_reasoning_details=True,
        chat_path="/model/tollhouse.check/converse",
    ),
    ProviderKind(
        "aws_bedrock_anthropic",
        "Anthropic on Amazon Bedrock",
        "https://bedrock-runtime.{region}.amazonaws.com",
        dialect="anthropic_bedrock",
        serves="anthropic",
        credential="aws",
        settings=(REGION,),
        takes_many_choices=False,
        chat_path="/model/tollhouse.check/invoke",
    ),
    ProviderKind(
        "aws_sagemaker",
        "Amazon SageMaker",
        "https://runtime.sagemaker.{region}.amazonaws.com",
        dialect="sagemaker",
        credential="aws",
        settings=(REGION, HOSTED_PROVIDER),
        chat_path="/endpoints/tollhouse-check/invocations",
    ),
)
