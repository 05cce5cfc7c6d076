-- How many jobs of a tenant may wait.

ALTER TABLE tenants
    -- Null for what the nodes are set to.
    ADD COLUMN maximum_waiting_jobs bigint,
    ADD CONSTRAINT tenants_maximum_waiting_jobs CHECK (maximum_waiting_jobs > 0);
