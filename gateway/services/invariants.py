"""What must be true of the ledger, each as two questions to the database: how many, which break it.

The rules are written in SQL and not with the code that serves calls, so that a mistake there is
not repeated here. SQL that means the same on SQLite and PostgreSQL; integers all the way.

`calls`, `entries` and the two of `proven_` are of gateway.services.proof_scope: all there is and
nothing proved before, or what came since a mark and what had been proved by then.
"""

from __future__ import annotations

from dataclasses import dataclass

# Token counts and prices above this could overflow 64 bits in SQL.
LARGE = 2**29

_CACHED = "CASE WHEN cached_tokens < prompt_tokens THEN cached_tokens ELSE prompt_tokens END"
COST_PUSD = (
    f"((prompt_tokens - {_CACHED}) * input_pusd_per_token"
    f" + {_CACHED} * cached_input_pusd_per_token"
    " + completion_tokens * output_pusd_per_token)"
)
# Half-even: up above a half, and at a half when the whole part is odd.
COST_NUSD = (
    f"({COST_PUSD} / 1000 + CASE WHEN {COST_PUSD} %% 1000 > 500"
    f" OR ({COST_PUSD} %% 1000 = 500 AND {COST_PUSD} / 1000 %% 2 = 1) THEN 1 ELSE 0 END)"
)
# What a call costs on top of its tokens: pages of PDFs that were made into pictures.
FEE_NUSD = "(pdf_pages * pdf_page_nusd)"
PRICE_NUSD = f"({COST_NUSD} + {FEE_NUSD})"
# Calls whose price SQL can tell. Those with large numbers, with units beside the common ones, and
# with tools beside PDF pages are recomputed one by one: see gateway.services.proving.
PLAIN = "units IS NULL AND tool_uses IS NULL"
SMALL = (
    f"{PLAIN}"
    f" AND prompt_tokens <= {LARGE} AND completion_tokens <= {LARGE} AND cached_tokens <= {LARGE}"
    f" AND input_pusd_per_token <= {LARGE} AND cached_input_pusd_per_token <= {LARGE}"
    f" AND output_pusd_per_token <= {LARGE}"
)
_OF_TOKENS = f"(charge_nusd + absorbed_nusd - {FEE_NUSD})"
_ADMITTED = "status NOT IN ('in_progress', 'refused')"


@dataclass(frozen=True, slots=True)
class Invariant:
    """id: as in the list of invariants. count: how many things are looked at. breaks: a query
    whose rows are the things that break it, described in one text column.
    """

    id: str
    title: str
    count: str
    breaks: str


ALL: tuple[Invariant, ...] = (
    Invariant(
        "I1",
        "every wallet's posted money is the sum of its ledger entries",
        "SELECT COUNT(*) FROM accounts_wallet",
        """
        SELECT 'wallet ' || w.workspace_id || ': posted ' || w.posted_nusd || ', entries '
            || (COALESCE(v.posted_nusd, 0) + COALESCE(e.total, 0))
        FROM accounts_wallet w
        LEFT JOIN proven_wallets v ON v.workspace_id = w.workspace_id
        LEFT JOIN (SELECT wallet_id, SUM(amount_nusd) AS total
                   FROM entries GROUP BY wallet_id) e ON e.wallet_id = w.workspace_id
        WHERE w.posted_nusd <> COALESCE(v.posted_nusd, 0) + COALESCE(e.total, 0)
        """,
    ),
    Invariant(
        "I1b",
        "every ledger entry's balance is the sum up to it",
        "SELECT COUNT(*) FROM entries",
        """
        SELECT 'entry ' || sequence || ' of wallet ' || wallet_id || ': balance ' || balance_nusd
            || ', sum ' || running
        FROM (SELECT e.wallet_id, e.sequence, e.balance_nusd, COALESCE(v.posted_nusd, 0)
                     + SUM(e.amount_nusd) OVER (PARTITION BY e.wallet_id ORDER BY e.sequence)
                     AS running
              FROM entries e
              LEFT JOIN proven_wallets v ON v.workspace_id = e.wallet_id) summed
        WHERE balance_nusd <> running OR balance_nusd < 0
        """,
    ),
    Invariant(
        "I2",
        "every wallet's drawn money is the sum of its purses",
        "SELECT COUNT(*) FROM accounts_purse",
        """
        SELECT 'wallet ' || w.workspace_id || ': drawn ' || w.drawn_nusd || ', purses '
            || COALESCE(p.total, 0)
        FROM accounts_wallet w
        LEFT JOIN (SELECT wallet_id, SUM(amount_nusd) AS total
                   FROM accounts_purse GROUP BY wallet_id) p ON p.wallet_id = w.workspace_id
        WHERE w.drawn_nusd <> COALESCE(p.total, 0)
        """,
    ),
    Invariant(
        "I3",
        "no wallet and no purse is below zero",
        "SELECT COUNT(*) FROM accounts_wallet",
        """
        SELECT 'wallet ' || workspace_id || ': posted ' || posted_nusd || ', drawn ' || drawn_nusd
        FROM accounts_wallet WHERE posted_nusd < drawn_nusd OR drawn_nusd < 0
        UNION ALL
        SELECT 'purse ' || id || ': ' || amount_nusd FROM accounts_purse WHERE amount_nusd < 0
        """,
    ),
    Invariant(
        "I4",
        "every running call belongs to a live process",
        "SELECT COUNT(*) FROM gateway_callrecord WHERE status = 'in_progress'",
        """
        SELECT 'call ' || c.id || ' is in progress, its process '
            || COALESCE(p.state, 'unknown')
        FROM gateway_callrecord c LEFT JOIN gateway_servingprocess p ON p.id = c.process_id
        WHERE c.status = 'in_progress' AND (p.state IS NULL OR p.state <> 'alive')
        """,
    ),
    Invariant(
        "I4b",
        "every ended call has the basis of its charge",
        "SELECT COUNT(*) FROM calls",
        """
        SELECT 'call ' || id || ': ' || status || ', basis ' || charge_basis || ', charge '
            || charge_nusd
        FROM calls
        WHERE (status IN ('in_progress', 'refused')
               AND (charge_basis <> '' OR charge_nusd <> 0 OR absorbed_nusd <> 0))
           OR (status = 'refused' AND hold_nusd <> 0)
           OR (status NOT IN ('in_progress', 'refused') AND charge_basis = '')
           OR (status = 'platform_aborted' AND charge_nusd <> 0)
           OR (status = 'upstream_error' AND charge_nusd <> 0)
           OR status NOT IN ('in_progress', 'ok', 'partial', 'cancelled', 'upstream_error',
                             'platform_aborted', 'refused')
        """,
    ),
    Invariant(
        "I5",
        "no source has posted twice",
        "SELECT COUNT(*) FROM entries",
        """
        SELECT e.kind || ' ' || e.source || ' posted again as ' || e.sequence
        FROM entries e
        WHERE EXISTS (SELECT 1 FROM accounts_ledgerentry other WHERE other.source = e.source
                      AND other.kind = e.kind AND other.id <> e.id)
        """,
    ),
    Invariant(
        "I6",
        "no charge is negative, and without tokens none is above the fee",
        "SELECT COUNT(*) FROM calls WHERE charge_nusd <> 0",
        f"""
        SELECT 'call ' || id || ': charge ' || charge_nusd || ', absorbed ' || absorbed_nusd
            || ', fee ' || {FEE_NUSD}
        FROM calls
        WHERE charge_nusd < 0 OR absorbed_nusd < 0
           OR pdf_pages < 0 OR pdf_page_nusd < 0
           OR (charge_nusd > {FEE_NUSD} AND prompt_tokens = 0 AND completion_tokens = 0
               AND {PLAIN})
        """,  # noqa: S608 (constants only)
    ),
    Invariant(
        "I8",
        "no ended process holds money",
        "SELECT COUNT(*) FROM gateway_servingprocess WHERE state <> 'alive'",
        """
        SELECT 'purse ' || u.id || ' with ' || u.amount_nusd || ' of process ' || u.process_id
        FROM accounts_purse u LEFT JOIN gateway_servingprocess p ON p.id = u.process_id
        WHERE p.state IS NULL OR p.state <> 'alive'
        """,
    ),
    Invariant(
        "I9",
        "charge and loss are tokens x price, half-even, and pages x fee; what was held is charged",
        "SELECT COUNT(*) FROM calls WHERE charge_basis IN ('usage', 'estimate')",
        f"""
        SELECT 'call ' || id || ': charge ' || charge_nusd || ' + absorbed ' || absorbed_nusd
            || ', price ' || {PRICE_NUSD} || ', hold ' || hold_nusd
        FROM calls
        WHERE charge_basis IN ('usage', 'estimate') AND {SMALL}
          AND (charge_nusd + absorbed_nusd <> {PRICE_NUSD}
               OR charge_nusd < CASE WHEN {PRICE_NUSD} < hold_nusd THEN {PRICE_NUSD}
                                     ELSE hold_nusd END)
        """,  # noqa: S608 (constants only)
    ),
    Invariant(
        "I11",
        "calls that were not charged have their absorbed cost",
        "SELECT COUNT(*) FROM calls WHERE charge_basis LIKE 'zero%%'",
        f"""
        SELECT 'call ' || id || ': charge ' || charge_nusd || ', absorbed ' || absorbed_nusd
            || ', price ' || {PRICE_NUSD}
        FROM calls
        WHERE charge_basis LIKE 'zero%%' AND {SMALL}
          AND (charge_nusd <> 0 OR absorbed_nusd <> {PRICE_NUSD})
        """,  # noqa: S608 (constants only)
    ),
    Invariant(
        "I13",
        "every key's usage in the ledger is the sum of its calls",
        f"SELECT COUNT(*) FROM calls WHERE {_ADMITTED}",  # noqa: S608
        """
        SELECT 'key ' || key_id || ': calls ' || SUM(charged) || ', ledger ' || SUM(posted)
            || ', counted ' || SUM(calls) || ' and ' || SUM(entries)
        FROM (SELECT workspace_id, key_id, charge_nusd AS charged, 1 AS calls, 0 AS posted,
                     0 AS entries
              FROM calls WHERE charge_nusd <> 0
              UNION ALL
              SELECT wallet_id, key_id, 0, 0, -amount_nusd, calls
              FROM entries WHERE kind = 'usage'
              UNION ALL
              SELECT workspace_id, key_id, -charge_nusd, -calls, 0, 0
              FROM proven_keys) both_sides
        GROUP BY workspace_id, key_id
        HAVING SUM(charged) <> SUM(posted) OR SUM(calls) <> SUM(entries)
        """,
    ),
    Invariant(
        "I17",
        "what a call's tokens cost is within half a nano-dollar of the exact price",
        f"SELECT COUNT(*) FROM calls WHERE {_ADMITTED}",  # noqa: S608
        f"""
        SELECT 'call ' || id || ': ' || {_OF_TOKENS} || ' nUSD for ' || {COST_PUSD} || ' pUSD'
        FROM calls
        WHERE {_ADMITTED} AND {SMALL}
          AND ({_OF_TOKENS} * 1000 - {COST_PUSD} > 500
               OR {COST_PUSD} - {_OF_TOKENS} * 1000 > 500)
        """,  # noqa: S608 (constants only)
    ),
    Invariant(
        "I18",
        "ledger entries are numbered without a gap",
        "SELECT COUNT(*) FROM entries",
        """
        SELECT 'wallet ' || workspace_id || ': sequence ' || sequence || ', entries '
            || counted || ' from ' || oldest || ' to ' || newest
        FROM (SELECT w.workspace_id, w.sequence, COALESCE(v.sequence, 0) AS proven,
                     COALESCE(e.counted, 0) AS counted,
                     COALESCE(e.oldest, v.sequence + 1, 1) AS oldest,
                     COALESCE(e.newest, v.sequence, 0) AS newest
              FROM accounts_wallet w
              LEFT JOIN proven_wallets v ON v.workspace_id = w.workspace_id
              LEFT JOIN (SELECT wallet_id, COUNT(*) AS counted, MAX(sequence) AS newest,
                                MIN(sequence) AS oldest
                         FROM entries GROUP BY wallet_id) e
                     ON e.wallet_id = w.workspace_id) numbered
        WHERE sequence <> proven + counted OR sequence <> newest OR oldest <> proven + 1
        """,
    ),
    Invariant(
        "I20",
        "every entry that is not usage has an actor and a reason",
        "SELECT COUNT(*) FROM entries WHERE kind <> 'usage'",
        """
        SELECT kind || ' ' || source || ' of wallet ' || wallet_id
        FROM entries WHERE kind <> 'usage' AND (actor = '' OR reason = '')
        """,
    ),
)
