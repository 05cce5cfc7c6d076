-- The audit log: who did what, in a chain of hashes for each tenant and one for the service itself.

CREATE TABLE audit_entries (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL DEFAULT uuidv7(),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    until timestamptz,
    count bigint NOT NULL DEFAULT 1,
    actor text NOT NULL,
    key text,
    sign_in text,
    client text,
    request text,
    action text NOT NULL,
    object text,
    details json,
    sequence bigint,
    hash bytea,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT audit_entries_count CHECK (count > 0),
    CONSTRAINT audit_entries_sealed_have_a_hash CHECK ((sequence IS NULL) = (hash IS NULL))
);
COMMENT ON TABLE audit_entries IS
    'Who did what. An entry is written in the transaction of what it tells of; soon after it gets its place in the '
    'chain of its tenant, and is never changed again. Nothing refers to it, and it refers to nothing: it tells of what '
    'is gone';
COMMENT ON COLUMN audit_entries.tenant_id IS 'Whose chain it is in; 0: that of the service';
COMMENT ON COLUMN audit_entries.until IS 'When the last of several was; null: there was one';
COMMENT ON COLUMN audit_entries.count IS 'How often it was done, or to how many things';
COMMENT ON COLUMN audit_entries.actor IS 'key, operator, dashboard, cli, service or anonymous';
COMMENT ON COLUMN audit_entries.key IS 'The id of the API key that the actor had; null: none';
COMMENT ON COLUMN audit_entries.sign_in IS 'Tells sign-ins to the dashboard apart; null: another actor';
COMMENT ON COLUMN audit_entries.client IS 'The network that the request came from; null: no request, or not known';
COMMENT ON COLUMN audit_entries.request IS 'The Request-Id; null: no request, or several';
COMMENT ON COLUMN audit_entries.object IS 'What it was done to; null: the action says it, or there were several';
COMMENT ON COLUMN audit_entries.details IS 'What else is known, without secrets; null: nothing';
COMMENT ON COLUMN audit_entries.sequence IS 'Its place in the chain, from 1 and without gaps; null: it has none yet';
COMMENT ON COLUMN audit_entries.hash IS 'What audit_hash says of it and the entry before; null: it has no place yet';

CREATE UNIQUE INDEX audit_entries_sequence ON audit_entries (tenant_id, sequence) WHERE sequence IS NOT NULL;
COMMENT ON INDEX audit_entries_sequence IS 'audit.chain; remove_audit_entries';

CREATE INDEX audit_entries_waiting ON audit_entries (tenant_id, id) WHERE sequence IS NULL;
COMMENT ON INDEX audit_entries_waiting IS 'seal_audit_entries; audit.waiting';

CREATE INDEX audit_entries_id ON audit_entries (id);
COMMENT ON INDEX audit_entries_id IS 'audit.list, for all tenants';

CREATE TABLE audit_chains (
    tenant_id bigint PRIMARY KEY,
    head_sequence bigint NOT NULL,
    head_hash bytea NOT NULL,
    anchor_sequence bigint NOT NULL,
    anchor_hash bytea NOT NULL,
    CONSTRAINT audit_chains_anchor_is_before_the_head CHECK (anchor_sequence BETWEEN 0 AND head_sequence)
) WITH (fillfactor = 50);
COMMENT ON TABLE audit_chains IS
    'The ends of each chain. The head is its last entry; the anchor is the last that retention has removed, so that '
    'the rest can still be checked';

CREATE FUNCTION audit_text(value text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT coalesce(octet_length(value) || ':' || value || ',', '-')
$$;
COMMENT ON FUNCTION audit_text(value text) IS
    'a value in the canonical form of an entry: its length in bytes, a colon, it and a comma; a hyphen for null';

CREATE FUNCTION audit_hash(previous bytea, entry audit_entries) RETURNS bytea
LANGUAGE sql STABLE
AS $$
    SELECT sha256(
        previous || convert_to(
            audit_text(entry.sequence::text)
            || audit_text(((extract(epoch FROM entry.at) * 1000000)::bigint)::text)
            || audit_text(((extract(epoch FROM entry.until) * 1000000)::bigint)::text)
            || audit_text(entry.count::text) || audit_text(entry.actor) || audit_text(entry.key)
            || audit_text(entry.sign_in) || audit_text(entry.client) || audit_text(entry.request)
            || audit_text(entry.action) || audit_text(entry.object) || audit_text(entry.details::text),
            'UTF8'
        )
    )
$$;
COMMENT ON FUNCTION audit_hash(previous bytea, entry audit_entries) IS
    'SHA-256 of the hash of the entry before and the canonical form of this one: sequence, at and until in '
    'microseconds since 1970, count, actor, key, sign_in, client, request, action, object, details';

CREATE FUNCTION keep_audit_entry() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.sequence IS NULL THEN
            RETURN NEW;
        END IF;
    ELSIF TG_OP = 'UPDATE' THEN
        -- It gets its place, and nothing else changes.
        IF OLD.sequence IS NULL AND NEW.sequence IS NOT NULL
            AND (to_jsonb(OLD) - 'sequence' - 'hash') = (to_jsonb(NEW) - 'sequence' - 'hash')
        THEN
            RETURN NEW;
        END IF;
    ELSIF TG_OP = 'DELETE' THEN
        IF EXISTS (
            SELECT FROM audit_chains c WHERE c.tenant_id = OLD.tenant_id AND c.anchor_sequence >= OLD.sequence
        ) THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'the audit log is only added to' USING ERRCODE = 'insufficient_privilege';
END
$$;
COMMENT ON FUNCTION keep_audit_entry() IS
    'lets entries be added, get their place, and go when the anchor of their chain is past them; nothing else';

CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON audit_entries
FOR EACH ROW EXECUTE FUNCTION keep_audit_entry();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON audit_entries
FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_entry();

CREATE FUNCTION keep_audit_chain() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.tenant_id = OLD.tenant_id AND NEW.head_sequence >= OLD.head_sequence
            AND NEW.anchor_sequence >= OLD.anchor_sequence
        THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'the chains of the audit log only grow' USING ERRCODE = 'insufficient_privilege';
END
$$;
COMMENT ON FUNCTION keep_audit_chain() IS 'lets both ends of a chain go forward; nothing else';

CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON audit_chains
FOR EACH ROW EXECUTE FUNCTION keep_audit_chain();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON audit_chains
FOR EACH STATEMENT EXECUTE FUNCTION keep_audit_chain();

CREATE FUNCTION seal_audit_entries(chain bigint, most integer) RETURNS SETOF audit_entries
LANGUAGE plpgsql
AS $$
DECLARE
    origin CONSTANT bytea := sha256(convert_to('fetchd audit ' || chain, 'UTF8'));
    ends audit_chains;
    entry audit_entries;
BEGIN
    IF NOT EXISTS (SELECT FROM audit_entries e WHERE e.tenant_id = chain AND e.sequence IS NULL) THEN
        RETURN;
    END IF;
    INSERT INTO audit_chains (tenant_id, head_sequence, head_hash, anchor_sequence, anchor_hash)
    VALUES (chain, 0, origin, 0, origin)
    ON CONFLICT DO NOTHING;
    -- One node at a time; only then is it known which entries have no place yet.
    SELECT * INTO ends FROM audit_chains c WHERE c.tenant_id = chain FOR UPDATE;
    FOR entry IN
        SELECT *
        FROM audit_entries e
        WHERE e.tenant_id = chain AND e.sequence IS NULL
        ORDER BY e.id
        LIMIT most
    LOOP
        entry.sequence := ends.head_sequence + 1;
        entry.hash := audit_hash(ends.head_hash, entry);
        UPDATE audit_entries e
        SET sequence = entry.sequence, hash = entry.hash
        WHERE e.tenant_id = chain AND e.id = entry.id;
        ends.head_sequence := entry.sequence;
        ends.head_hash := entry.hash;
        RETURN NEXT entry;
    END LOOP;
    UPDATE audit_chains c
    SET head_sequence = ends.head_sequence, head_hash = ends.head_hash
    WHERE c.tenant_id = chain AND c.head_sequence < ends.head_sequence;
END
$$;
COMMENT ON FUNCTION seal_audit_entries(chain bigint, most integer) IS
    'gives entries of a chain that have no place yet their places, and returns them';

CREATE FUNCTION remove_audit_entries(chain bigint, kept interval, most_entries bigint, step integer) RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    -- Whoever speaks for the service cannot make the log forget what was done just now.
    oldest CONSTANT timestamptz := now() - greatest(kept, interval '1 day');
    room CONSTANT bigint := greatest(most_entries, 10000);
    ends audit_chains;
    entry audit_entries;
    removed bigint := 0;
BEGIN
    SELECT * INTO ends FROM audit_chains c WHERE c.tenant_id = chain FOR UPDATE;
    FOR entry IN
        SELECT *
        FROM audit_entries e
        WHERE e.tenant_id = chain AND e.sequence > ends.anchor_sequence
        ORDER BY e.sequence
        LIMIT step
    LOOP
        EXIT WHEN coalesce(entry.until, entry.at) >= oldest AND ends.head_sequence - ends.anchor_sequence <= room;
        ends.anchor_sequence := entry.sequence;
        ends.anchor_hash := entry.hash;
        removed := removed + 1;
    END LOOP;
    IF removed > 0 THEN
        UPDATE audit_chains c
        SET anchor_sequence = ends.anchor_sequence, anchor_hash = ends.anchor_hash
        WHERE c.tenant_id = chain;
        DELETE FROM audit_entries e WHERE e.tenant_id = chain AND e.sequence <= ends.anchor_sequence;
    END IF;
    RETURN removed;
END
$$;
COMMENT ON FUNCTION remove_audit_entries(chain bigint, kept interval, most_entries bigint, step integer) IS
    'removes the oldest entries of a chain, those older than a time and those beyond a number, some at a time; the '
    'anchor of the chain is the last of them';

-- The service adds and reads entries, and does the rest by these two, as the owner may.
DO $$
BEGIN
    EXECUTE format(
        'ALTER FUNCTION seal_audit_entries(bigint, integer) SECURITY DEFINER SET search_path = %I, pg_temp',
        current_schema());
    EXECUTE format(
        'ALTER FUNCTION remove_audit_entries(bigint, interval, bigint, integer) '
        'SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());
END
$$;
REVOKE EXECUTE ON FUNCTION seal_audit_entries(bigint, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION remove_audit_entries(bigint, interval, bigint, integer) FROM PUBLIC;
