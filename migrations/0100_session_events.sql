-- The events of a session, to be told again from a place.
--
-- Where each stands is written down when somebody asks for them, one asker after the other: what was stored since then
-- comes behind, whatever its id and its time say. So nobody who goes on from a place misses anything.
ALTER TABLE webhook_deliveries
    -- Its place among the events of its session; null until somebody asks for them.
    ADD COLUMN place bigint;

CREATE INDEX webhook_deliveries_events ON webhook_deliveries (tenant_id, session_id, place, created_at, id)
    WHERE session_id IS NOT NULL;

COMMENT ON INDEX webhook_deliveries_events IS 'events.place, events.list';
