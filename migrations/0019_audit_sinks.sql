-- How far the places outside of the database that get the audit log have got: a file, a syslog receiver.

CREATE TABLE audit_sinks (
    name text PRIMARY KEY,
    node_id uuid NOT NULL,
    lease_until timestamptz NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE audit_sinks IS
    'Places outside of the database that get every entry of the audit log. One node at a time writes to each, so that '
    'the entries of a chain arrive in its order';
COMMENT ON COLUMN audit_sinks.name IS 'Where it is, such as file:/var/log/fetchd/audit.ndjson';
COMMENT ON COLUMN audit_sinks.node_id IS 'Who writes to it';
COMMENT ON COLUMN audit_sinks.lease_until IS 'When another node may begin to';

CREATE TABLE audit_sink_positions (
    sink text NOT NULL REFERENCES audit_sinks (name),
    tenant_id bigint NOT NULL,
    sequence bigint NOT NULL,
    PRIMARY KEY (sink, tenant_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE audit_sink_positions IS 'What each of them has: of every chain, the entries up to one';
COMMENT ON COLUMN audit_sink_positions.tenant_id IS 'Whose chain it is; 0: that of the service';
COMMENT ON COLUMN audit_sink_positions.sequence IS 'The last entry that it has';

SELECT fetchd.guard_table('audit_sinks', '');
SELECT fetchd.guard_table('audit_sink_positions', '');
