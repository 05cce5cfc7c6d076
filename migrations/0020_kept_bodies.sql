-- The bodies that are kept with their jobs count among the bytes that a tenant has stored.

CREATE TABLE kept_bodies (
    tenant_id bigint NOT NULL,
    node_id uuid NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (tenant_id, node_id)
) WITH (fillfactor = 10);
COMMENT ON TABLE kept_bodies IS
    'How many bytes the bodies of final jobs have that are kept with them; files of downloads are blobs, and count '
    'there. The sum of a tenant''s rows is exact: what stores or removes bodies adds here in the same statement. Nodes '
    'add to rows of their own, one for each statement and tenant, so none waits for another';
COMMENT ON COLUMN kept_bodies.node_id IS 'All zero: what nodes have added that are gone, and what went with partitions';
COMMENT ON COLUMN kept_bodies.bytes IS 'Less than 0 where a node has removed more than it has stored';

SELECT fetchd.guard_table('kept_bodies', 'SELECT, INSERT, UPDATE');

INSERT INTO kept_bodies (tenant_id, node_id, bytes)
SELECT tenant_id, '00000000-0000-0000-0000-000000000000', sum(body_bytes)
FROM results
WHERE body_bytes > 0 AND file IS NULL
GROUP BY tenant_id;

CREATE OR REPLACE FUNCTION drop_job_partition(target job_partitions, retention interval) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    is_needed boolean;
BEGIN
    -- From here on nobody puts a job of it into the queue again.
    EXECUTE format('LOCK TABLE results_%s IN ACCESS EXCLUSIVE MODE', target.name);
    EXECUTE format(
        'SELECT EXISTS (SELECT FROM queue WHERE job_id >= $1 AND job_id < $2)
            OR EXISTS (SELECT FROM results_%s WHERE finished_at >= now() - $3)', target.name)
        INTO is_needed
        USING earliest_id(target.starts_at), earliest_id(target.ends_at), retention;
    IF is_needed THEN RETURN false; END IF;
    EXECUTE format(
        'INSERT INTO kept_bodies (tenant_id, node_id, bytes)
        SELECT tenant_id, ''00000000-0000-0000-0000-000000000000'', -sum(body_bytes)
        FROM results_%s
        WHERE body_bytes > 0 AND file IS NULL
        GROUP BY tenant_id
        ORDER BY tenant_id
        ON CONFLICT (tenant_id, node_id) DO UPDATE SET bytes = kept_bodies.bytes + excluded.bytes', target.name);
    EXECUTE format('DROP TABLE jobs_%1$s, results_%1$s, attempts_%1$s', target.name);
    DELETE FROM job_partitions r WHERE r.name = target.name;
    RETURN true;
END
$$;
