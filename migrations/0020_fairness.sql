-- Tenants take turns in the queue.

-- How many jobs a tenant is given in its turn, while others wait.
ALTER TABLE tenants ADD COLUMN weight smallint NOT NULL DEFAULT 1
    CONSTRAINT tenants_weight CHECK (weight BETWEEN 1 AND 100);

DROP INDEX queue_waiting;
CREATE INDEX queue_waiting ON queue (tenant_id, rank, run_at, job_id)
    WHERE node_id IS NULL AND NOT scheduled AND NOT suspended;
COMMENT ON INDEX queue_waiting IS 'queue.claim: the next tenant that waits, and the next jobs of one';
