-- Jobs that were lost with two nodes are tried in groups, each smaller than the last one, until one runs alone.

-- How many suspects the job was tried with the last time; 0 when it was not.
ALTER TABLE queue ADD COLUMN company smallint NOT NULL DEFAULT 0;

CREATE INDEX queue_suspects ON queue (tenant_id, job_id) WHERE crashes >= 2 AND node_id IS NULL;
COMMENT ON INDEX queue_suspects IS 'queue.nextTrial, queue.claimSuspects, nodes.pulse; for all tenants, since any node may try them';
