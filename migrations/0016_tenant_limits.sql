-- More limits of what a tenant may have, and what its jobs move in a day.

ALTER TABLE tenants
    ADD COLUMN maximum_requests_per_second bigint,
    ADD COLUMN maximum_running_jobs bigint,
    ADD COLUMN maximum_bytes_per_day bigint,
    ADD COLUMN maximum_stored_bytes bigint,
    ADD COLUMN maximum_sessions bigint,
    ADD COLUMN maximum_open_questions bigint,
    ADD CONSTRAINT tenants_limits_are_positive CHECK (
        least(
            maximum_requests_per_second, maximum_running_jobs, maximum_bytes_per_day, maximum_stored_bytes,
            maximum_sessions, maximum_open_questions
        ) > 0
    );
COMMENT ON COLUMN tenants.maximum_requests_per_second IS
    'How many requests each node answers in a second; null: the setting of the nodes';
COMMENT ON COLUMN tenants.maximum_running_jobs IS
    'How many jobs may run at once; null: the setting of the nodes';
COMMENT ON COLUMN tenants.maximum_bytes_per_day IS
    'How many bytes jobs may move in a day of UTC; null: the setting of the nodes';
COMMENT ON COLUMN tenants.maximum_stored_bytes IS
    'How many bytes blobs may have; null: the setting of the nodes';
COMMENT ON COLUMN tenants.maximum_sessions IS
    'How many sessions may be there that have not ended; null: the setting of the nodes';
COMMENT ON COLUMN tenants.maximum_open_questions IS
    'How many questions may wait for an answer; null: the setting of the nodes';

CREATE INDEX blobs_bytes ON blobs (tenant_id) INCLUDE (bytes);
COMMENT ON INDEX blobs_bytes IS 'quotas.count; usage.read: their sum, without the rows';

CREATE INDEX sessions_live ON sessions (tenant_id, id) WHERE ended_at IS NULL;
COMMENT ON INDEX sessions_live IS 'quotas.count; usage.read';

COMMENT ON INDEX questions_open IS 'questions.list of open ones; quotas.count; usage.read';

CREATE TABLE traffic (
    tenant_id bigint NOT NULL,
    day date NOT NULL,
    node_id uuid NOT NULL,
    sent_bytes bigint NOT NULL,
    received_bytes bigint NOT NULL,
    PRIMARY KEY (tenant_id, day, node_id),
    CONSTRAINT traffic_bytes CHECK (sent_bytes >= 0 AND received_bytes >= 0)
) WITH (fillfactor = 50);
COMMENT ON TABLE traffic IS
    'What jobs have moved in each day of UTC. Nodes add to rows of their own every few seconds, so none waits for '
    'another';
COMMENT ON COLUMN traffic.sent_bytes IS 'Heads and bodies of requests';
COMMENT ON COLUMN traffic.received_bytes IS 'Heads and bodies of responses';
