ALTER TABLE queue
    -- It waits for a quiet time, and for its run_at at the longest; only while it is scheduled.
    ADD COLUMN discretionary boolean NOT NULL DEFAULT false;

CREATE INDEX queue_discretionary ON queue (run_at) WHERE discretionary AND scheduled;
COMMENT ON INDEX queue_discretionary IS 'queue.pullForward, nodes.pulse; for all tenants, since any node may promote';
