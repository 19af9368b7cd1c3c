-- The ledger's schema on PostgreSQL as 0.1.0 makes it. Never changed: tests/server/test_old_schema.py opens it for ever.
CREATE TABLE {s}.events (
        position bigint PRIMARY KEY CHECK (position > 0),
        originator_id text COLLATE "C" NOT NULL,
        originator_version bigint NOT NULL,
        topic text COLLATE "C" NOT NULL,
        state bytea NOT NULL,
        chain bytea NOT NULL,
        UNIQUE (originator_id, originator_version)
    );
CREATE TABLE {s}.head (
        one integer PRIMARY KEY CHECK (one = 1),
        position bigint NOT NULL,
        chain bytea NOT NULL
    );
CREATE TABLE {s}.idempotency (
        key text COLLATE "C" PRIMARY KEY,
        first bigint NOT NULL,
        last bigint NOT NULL
    );
CREATE TABLE {s}.about (
        one integer PRIMARY KEY CHECK (one = 1),
        ledger_id text NOT NULL
    );
CREATE TABLE {s}.seals (
        position bigint PRIMARY KEY,
        record text COLLATE "C" NOT NULL,
        about text COLLATE "C" NOT NULL,
        key bytea NOT NULL
    );
CREATE INDEX seals_record ON {s}.seals (record);
CREATE INDEX seals_about ON {s}.seals (about) WHERE about <> '';
CREATE FUNCTION {s}.refuse() RETURNS trigger LANGUAGE plpgsql AS $refuse$
        BEGIN
            RAISE EXCEPTION 'the ledger is append-only: % of % is refused', TG_OP, TG_TABLE_NAME
                USING ERRCODE = 'integrity_constraint_violation';
        END $refuse$;
CREATE TRIGGER events_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON {s}.events EXECUTE FUNCTION {s}.refuse();
CREATE TRIGGER keys_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON {s}.idempotency EXECUTE FUNCTION {s}.refuse();
CREATE TRIGGER seals_stay BEFORE UPDATE OR TRUNCATE ON {s}.seals EXECUTE FUNCTION {s}.refuse();
CREATE TRIGGER head_stays BEFORE DELETE OR TRUNCATE ON {s}.head EXECUTE FUNCTION {s}.refuse();
ALTER TABLE {s}.events ENABLE ALWAYS TRIGGER events_stay;
ALTER TABLE {s}.idempotency ENABLE ALWAYS TRIGGER keys_stay;
ALTER TABLE {s}.seals ENABLE ALWAYS TRIGGER seals_stay;
ALTER TABLE {s}.head ENABLE ALWAYS TRIGGER head_stays;
