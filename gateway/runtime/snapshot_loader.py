"""Loads the snapshot that this process serves from, at the start and after changes."""

from __future__ import annotations

import asyncio
import logging

from django.db import Error as DatabaseError

from gateway.call_steps.prompt_prep import PromptPrep
from gateway.providers.credentials.pools import CredentialPools
from gateway.providers.transports.lookup import Transports
from gateway.services.snapshot import compile_snapshot
from gateway.snapshot.holder import SnapshotHolder
from gateway.stores.queries import RunQuery

logger = logging.getLogger(__name__)

RETRY_S = 1.0


class SnapshotLoader:
    """read: runs a query in a thread. transports, credentials, prompt_prep: prepared for what was
    loaded."""

    def __init__(
        self,
        read: RunQuery,
        snapshot: SnapshotHolder,
        transports: Transports,
        credentials: CredentialPools,
        prompt_prep: PromptPrep,
    ) -> None:
        self._read = read
        self._snapshot = snapshot
        self._transports = transports
        self._credentials = credentials
        self._prompt_prep = prompt_prep

    async def load(self) -> None:
        """Read the catalogue; a database that is away is asked again until it answers."""
        while True:
            try:
                fresh = await self._read(compile_snapshot)
            except DatabaseError as error:
                if not self._snapshot.current.version:
                    raise
                logger.warning("The configuration cannot be read. Trying again: %r", error)
                await asyncio.sleep(RETRY_S)
                continue
            if fresh.version >= self._snapshot.current.version:
                self._credentials.keep(fresh.credentials())
                self._snapshot.replace(fresh)
                self._transports.httpx.keep(fresh.connections())
                await self._prompt_prep.prepare(fresh.templates())
            return
