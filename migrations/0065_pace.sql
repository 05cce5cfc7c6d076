-- How urgent a job is, and how fast it may be, can be changed while it runs.

ALTER TABLE queue
    -- It was changed since the job was stored: the node that has the job goes by what its spec says now.
    ADD COLUMN pace_changed boolean NOT NULL DEFAULT false;

-- One index for both, since each costs every job something.
DROP INDEX queue_suspended;
CREATE INDEX queue_told ON queue (node_id) WHERE (suspended OR pace_changed) AND node_id IS NOT NULL;
COMMENT ON INDEX queue_told IS 'nodes.pulse: what clients have said of jobs that run';
