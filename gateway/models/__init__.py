"""What the gateway stores: its catalogue, its processes, its calls."""

from gateway.models.batch import Batch, BatchPart
from gateway.models.budget import Allotment, Budget
from gateway.models.call import CallBody, CallRecord
from gateway.models.catalogue import LanguageModel, Provider, ProviderHealth, Target
from gateway.models.credential import ProviderCredential
from gateway.models.file import FileStorageMark, StoredFile, WorkspaceStorage
from gateway.models.list_price import ListPrice
from gateway.models.mcp_server import McpServer
from gateway.models.process import (
    JournalFault,
    JournalLoss,
    Lease,
    LedgerCheck,
    SealingKey,
    ServingProcess,
)
from gateway.models.processing import MandatoryProcessor, ProcessorService
from gateway.models.proof import ProofMark, ProofProgress, ProvenKey, ProvenWallet
from gateway.models.replay import KeptAnswer
from gateway.models.rollup import (
    ErrorMark,
    KeyErrors,
    KeyUsage,
    LatencyRollup,
    RollupMark,
    UsageRollup,
    WorkspaceErrors,
    WorkspaceLatency,
    WorkspaceUsage,
)
from gateway.models.tool import ToolSetting

__all__ = [
    "Allotment",
    "Batch",
    "BatchPart",
    "Budget",
    "CallBody",
    "CallRecord",
    "ErrorMark",
    "FileStorageMark",
    "JournalFault",
    "JournalLoss",
    "KeptAnswer",
    "KeyErrors",
    "KeyUsage",
    "LanguageModel",
    "LatencyRollup",
    "Lease",
    "LedgerCheck",
    "ListPrice",
    "MandatoryProcessor",
    "McpServer",
    "ProcessorService",
    "ProofMark",
    "ProofProgress",
    "ProvenKey",
    "ProvenWallet",
    "Provider",
    "ProviderCredential",
    "ProviderHealth",
    "RollupMark",
    "SealingKey",
    "ServingProcess",
    "StoredFile",
    "Target",
    "ToolSetting",
    "UsageRollup",
    "WorkspaceErrors",
    "WorkspaceLatency",
    "WorkspaceStorage",
    "WorkspaceUsage",
]
