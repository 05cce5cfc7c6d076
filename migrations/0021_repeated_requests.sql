-- An Idempotency-Key may be that of a request which makes nothing: its response is kept for repeats.

ALTER TABLE idempotency_keys
    ADD COLUMN running_until timestamptz,
    ADD COLUMN sealed_response bytea;
COMMENT ON TABLE idempotency_keys IS
    'What the Idempotency-Key of a request has created, or what the request was answered that has created nothing';
COMMENT ON COLUMN idempotency_keys.created_id IS
    'The id of the job, group, schedule, session or blob; that of the request itself, which has created none';
COMMENT ON COLUMN idempotency_keys.running_until IS
    'When a repeat of the request is carried out, since its node has died; null: it has ended, or has created something';
COMMENT ON COLUMN idempotency_keys.sealed_response IS
    'The response for repeats, with the key of the tenant; null: the request has not ended, has created something, or was '
    'answered at too great a length';

-- The reader sees single columns of it, without bytes.
GRANT SELECT (running_until) ON idempotency_keys TO fetchd_reader;
