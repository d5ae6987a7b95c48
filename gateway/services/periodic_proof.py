"""Which proof is due each minute: of all rows, of the recent ones, or none (docs/adr/0029)."""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta

from django.utils import timezone

from accounts.pacing import paced_steps
from gateway.models import LedgerCheck, ProofProgress
from gateway.selectors.money import find_last_full_check
from gateway.services.proof_marks import drop_mark, find_mark, keep_mark
from gateway.services.proving import MAX_BREAKS_SHOWN, Finding, Proof, prove
from gateway.services.stepwise_proof import FORMAT, StepwiseProof

log = logging.getLogger(__name__)

FULL_EVERY = timedelta(hours=24)
# A ledger that does not add up is looked at whole, again and again, in a tenth of the time.
REST_FACTOR = 10
WORK_S = 25.0  # of each minute, half of it pauses
KEEP_S = 5.0  # what a stop costs at most


def prove_what_is_due(*, now: datetime | None = None, work_s: float = WORK_S) -> Proof | None:
    """Prove as much of the ledger as is due, and return the verdict; None while there is none.

    A proof of the recent rows alone gives no bad verdict: whatever it finds, the proof of all rows
    decides. That one is made in short steps, for work_s at a time, pauses included; the next run
    goes on with it. Raises DatabaseError when the database does not answer.
    """
    now = now or timezone.now()
    full = find_last_full_check()
    if full is not None and full.breaks and now < full.checked_at + REST_FACTOR * _duration(full):
        return None
    mark = find_mark()
    recent = None if mark is None else prove(mark=mark)
    if recent is not None and not recent.holds:
        log.warning("recent rows do not add up (%s): checking all rows", recent.breaks[0])
        recent = None
    is_due = full is None or now >= full.checked_at + FULL_EVERY or ProofProgress.objects.exists()
    if recent is not None and not is_due:
        return recent
    return prove_all(now, work_s=work_s) or recent


def prove_all(now: datetime, *, work_s: float) -> Proof | None:
    """Go on with the proof of all rows; return its verdict, None when it has not come to its end.

    What a first pass finds wrong may have come late, to where it had been already. So there is a
    second one, and its verdict counts.
    """
    kept_s = time.monotonic()
    ends_s = kept_s + work_s
    progress = _find_progress(now)
    proof_steps = StepwiseProof(progress.state)
    for began_s in paced_steps(work_s):
        if proof_steps.is_done:
            break
        proof_steps.step()
        proof_steps.state["work_us"] += round((time.monotonic() - began_s) * 1_000_000)
        if began_s > kept_s + KEEP_S:
            progress.save()
            kept_s = began_s
    else:
        progress.save()
        return None
    proof = _conclude(proof_steps)
    if not proof.holds:
        drop_mark()
    progress.delete()
    if proof.holds or proof_steps.state["again"]:
        return proof
    log.warning("some rows do not add up (%s): checking again", proof.breaks[0])
    again = StepwiseProof.begin(timezone.now())
    again.state["again"] = True
    ProofProgress.objects.create(started_at=now, state=again.state)
    return prove_all(now, work_s=ends_s - time.monotonic())


def _conclude(proof_steps: StepwiseProof) -> Proof:
    """Return the verdict: of the steps, and of the rows that came after its mark if that held."""
    found = {finding.id: finding for finding in proof_steps.findings}
    plan = proof_steps.plan
    if any(finding.breaks for finding in proof_steps.findings):
        work_ms = proof_steps.state["work_us"] // 1000
        return Proof(timezone.now(), work_ms, None, proof_steps.findings, plan)
    keep_mark(plan)
    rest = prove(mark=find_mark())
    findings = [_joined(found.get(finding.id), finding) for finding in rest.findings]
    duration_ms = proof_steps.state["work_us"] // 1000 + rest.duration_ms
    return Proof(rest.checked_at, duration_ms, None, findings, rest.next_mark)


def _joined(walked: Finding | None, rest: Finding) -> Finding:
    if walked is None:
        return rest
    breaks = [*walked.breaks, *rest.breaks][:MAX_BREAKS_SHOWN]
    return Finding(rest.id, rest.title, walked.checked + rest.checked, breaks)


def _find_progress(now: datetime) -> ProofProgress:
    """Return the proof that is under way, or begin one: too old a one is of no use."""
    progress = ProofProgress.objects.first()
    if progress is not None:
        if progress.started_at > now - FULL_EVERY and progress.state.get("format") == FORMAT:
            return progress
        progress.delete()
    first = StepwiseProof.begin(timezone.now())
    return ProofProgress.objects.create(started_at=now, state=first.state)


def _duration(check: LedgerCheck) -> timedelta:
    return timedelta(milliseconds=check.duration_ms)
