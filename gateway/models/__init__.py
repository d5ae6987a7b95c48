"""What the gateway stores: its catalogue, its processes, its calls."""

from gateway.models.call import CallBody, CallRecord
from gateway.models.catalogue import LanguageModel, Provider, ProviderHealth, Target
from gateway.models.process import JournalFault, LedgerCheck, ServingProcess
from gateway.models.proof import ProofMark, ProofProgress, ProvenKey, ProvenWallet
from gateway.models.replay import KeptAnswer
from gateway.models.rollup import (
    KeyUsage,
    LatencyRollup,
    RollupMark,
    UsageRollup,
    WorkspaceLatency,
    WorkspaceUsage,
)

__all__ = [
    "CallBody",
    "CallRecord",
    "JournalFault",
    "KeptAnswer",
    "KeyUsage",
    "LanguageModel",
    "LatencyRollup",
    "LedgerCheck",
    "ProofMark",
    "ProofProgress",
    "ProvenKey",
    "ProvenWallet",
    "Provider",
    "ProviderHealth",
    "RollupMark",
    "ServingProcess",
    "Target",
    "UsageRollup",
    "WorkspaceLatency",
    "WorkspaceUsage",
]
