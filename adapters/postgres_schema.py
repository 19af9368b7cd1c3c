"""The ledger's tables on PostgreSQL, one schema a workspace, and the triggers that make it append-only.

As on SQLite the keys of sealed text may be deleted, and never changed. Triggers fire always, also for a session that
plays a replica's part; each fires once a statement, as there is nothing to look at in the rows.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from psycopg import Cursor, sql

from adapters.recorder import MOVED, told_place
from projections.shape import Part

_PLAIN_NAME = re.compile(r"[a-z0-9_]{1,40}")

SCHEMA = (
    """CREATE TABLE {s}.events (
        position bigint PRIMARY KEY CHECK (position > 0),
        originator_id text COLLATE "C" NOT NULL,
        originator_version bigint NOT NULL,
        topic text COLLATE "C" NOT NULL,
        state bytea NOT NULL,
        chain bytea NOT NULL,
        UNIQUE (originator_id, originator_version)
    )""",
    """CREATE TABLE {s}.head (
        one integer PRIMARY KEY CHECK (one = 1),
        position bigint NOT NULL,
        chain bytea NOT NULL
    )""",
    """CREATE TABLE {s}.idempotency (
        key text COLLATE "C" PRIMARY KEY,
        first bigint NOT NULL,
        last bigint NOT NULL
    )""",
    """CREATE TABLE {s}.about (
        one integer PRIMARY KEY CHECK (one = 1),
        ledger_id text NOT NULL
    )""",
    """CREATE TABLE {s}.seals (
        position bigint PRIMARY KEY,
        record text COLLATE "C" NOT NULL,
        about text COLLATE "C" NOT NULL,
        key bytea NOT NULL
    )""",
    "CREATE INDEX seals_record ON {s}.seals (record)",
    "CREATE INDEX seals_about ON {s}.seals (about) WHERE about <> ''",
    """CREATE FUNCTION {s}.refuse() RETURNS trigger LANGUAGE plpgsql AS $refuse$
        BEGIN
            RAISE EXCEPTION 'the ledger is append-only: % of % is refused', TG_OP, TG_TABLE_NAME
                USING ERRCODE = 'integrity_constraint_violation';
        END $refuse$""",
    "CREATE TRIGGER events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON {s}.events EXECUTE FUNCTION {s}.refuse()",
    "CREATE TRIGGER keys_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON {s}.idempotency EXECUTE FUNCTION {s}.refuse()",
    "CREATE TRIGGER seals_stay BEFORE UPDATE OR TRUNCATE ON {s}.seals EXECUTE FUNCTION {s}.refuse()",
    "CREATE TRIGGER head_stays BEFORE DELETE OR TRUNCATE ON {s}.head EXECUTE FUNCTION {s}.refuse()",
    "ALTER TABLE {s}.events ENABLE ALWAYS TRIGGER events_stay",
    "ALTER TABLE {s}.idempotency ENABLE ALWAYS TRIGGER keys_stay",
    "ALTER TABLE {s}.seals ENABLE ALWAYS TRIGGER seals_stay",
    "ALTER TABLE {s}.head ENABLE ALWAYS TRIGGER head_stays",
)

# What closes a ledger for good. Not a sign of it changes: ledgers that are closed are compared with it.
_CLOSING = """ BEGIN
                    RAISE EXCEPTION {said} USING ERRCODE = 'integrity_constraint_violation'; END """

# What a schema is made of, each with a text that changes when it does: a table made UNLOGGED, a trigger switched off.
_PARTS = """
SELECT CASE c.relkind WHEN 'r' THEN 'table' ELSE 'relation' END AS kind, c.relname, c.relname,
    concat_ws(' ', c.relkind, CASE c.relpersistence WHEN 't' THEN 'p' ELSE c.relpersistence END, c.relrowsecurity,
        (SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attcollation,
            a.attgenerated, pg_get_expr(d.adbin, d.adrelid)), ', ' ORDER BY a.attnum)
            FROM pg_attribute a LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
    FROM pg_class c WHERE c.relnamespace = %(n)s AND c.relkind NOT IN ('i', 'I', 't', 'c')
UNION ALL SELECT 'constraint', k.conname, c.relname, concat_ws(' ', pg_get_constraintdef(k.oid), k.convalidated)
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid WHERE k.connamespace = %(n)s
UNION ALL SELECT 'index', i.relname, c.relname, concat_ws(' ', pg_get_indexdef(i.oid), x.indisvalid)
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class c ON c.oid = x.indrelid
    WHERE c.relnamespace = %(n)s AND c.relkind <> 't'
UNION ALL SELECT 'trigger', t.tgname, c.relname, concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled)
    FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = %(n)s AND NOT t.tgisinternal
UNION ALL SELECT 'rule', r.rulename, c.relname, pg_get_ruledef(r.oid)
    FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class WHERE c.relnamespace = %(n)s AND r.rulename <> '_RETURN'
UNION ALL SELECT 'function', p.proname, '', pg_get_functiondef(p.oid)
    FROM pg_proc p WHERE p.pronamespace = %(n)s AND p.prokind IN ('f', 'p')
"""


def schema_of(workspace: str) -> str:
    """The schema of a workspace's ledger: tht_NAME, with a digest where the name is not one that SQL takes as it is."""
    if _PLAIN_NAME.fullmatch(workspace):
        return f"tht_{workspace}"
    plain = re.sub(r"[^a-z0-9]+", "_", workspace.lower())[:30].strip("_")
    return f"tht_{plain}_{hashlib.sha256(workspace.encode()).hexdigest()[:12]}"


def make_tables(cursor: Cursor[Any], schema: str) -> None:
    for statement in SCHEMA:
        cursor.execute(sql.SQL(statement).format(s=sql.Identifier(schema)))


def close_tables(cursor: Cursor[Any], schema: str, to: str) -> None:
    """Nobody appends any more, and is told where the ledger has moved; also who plays a replica's part.

    A trigger that is there is kept: to drop it would wait for everybody who reads.
    """
    said = sql.Literal(f"{MOVED}{to}".replace("%", "%%"))
    body = sql.Literal(sql.SQL(_CLOSING).format(said=said).as_string(cursor))
    made = "CREATE OR REPLACE FUNCTION {s}.moved() RETURNS trigger LANGUAGE plpgsql AS {body}"
    named = sql.Identifier(schema)
    cursor.execute(sql.SQL(made).format(s=named, body=body))
    there = "SELECT 1 FROM pg_trigger WHERE tgrelid = to_regclass(%s) AND tgname = 'events_moved'"
    if cursor.execute(there, (f"{schema}.events",)).fetchone() is None:
        put = "CREATE TRIGGER events_moved BEFORE INSERT ON {s}.events EXECUTE FUNCTION {s}.moved()"
        cursor.execute(sql.SQL(put).format(s=named))
    cursor.execute(sql.SQL("ALTER TABLE {s}.events ENABLE ALWAYS TRIGGER events_moved").format(s=named))


def closed_for(definition: str) -> str:
    """Where a ledger has moved, from the function that closes it. Empty when it names no place."""
    return told_place(definition).replace("%%", "%")


def differing_parts(cursor: Cursor[Any], schema: str) -> tuple[list[Part], list[Part]]:
    """What the schema should have, and what it has. Of one that is closed for good, what closes it too.

    Those that were closed before the trigger was made to fire always are closed all the same.
    """
    held = held_parts(cursor, schema)
    known = {part[:2]: part for part in held}
    shut, told = known.get(("trigger", "events_moved")), known.get(("function", "moved"))
    gone = closed_for(told.declaration or "") if shut and told else ""
    if gone and shut and shut.declaration and shut.declaration.endswith(" O"):
        held[held.index(shut)] = shut._replace(declaration=f"{shut.declaration[:-2]} A")
    return declared_parts(cursor, gone), held


def held_parts(cursor: Cursor[Any], schema: str) -> list[Part]:
    """What the schema has."""
    cursor.execute("SELECT oid FROM pg_namespace WHERE nspname = %s", (schema,))
    found = cursor.fetchone()
    return _parts(cursor, found[0], schema) if found else []


def declared_parts(cursor: Cursor[Any], moved_to: str = "") -> list[Part]:
    """What the declarations make on this server, tried out among the temporary tables of a transaction to be undone.
    `moved_to`: of a ledger that is closed, as it has moved there."""
    make_tables(cursor, "pg_temp")
    if moved_to:
        close_tables(cursor, "pg_temp", moved_to)
    cursor.execute("SELECT oid, nspname FROM pg_namespace WHERE oid = pg_my_temp_schema()")
    oid, schema = cursor.fetchone() or (0, "")
    return _parts(cursor, oid, schema)


def _parts(cursor: Cursor[Any], namespace: int, schema: str) -> list[Part]:
    cursor.execute("SET LOCAL search_path = pg_catalog")
    cursor.execute(_PARTS, {"n": namespace})
    own = re.compile(rf"\b(?:{re.escape(schema)}|pg_temp)\.")
    # of a function only where it is named: what its text says is its own, such as a place where a ledger has moved
    return [
        Part(kind, name, table, own.sub("", text, count=1 if kind == "function" else 0))
        for kind, name, table, text in cursor.fetchall()
    ]
