-- That a client knows of everything that its background session has done (BKG-10).
ALTER TABLE sessions
    -- When the events of the session were finished last; null as long as they never were.
    ADD COLUMN events_finished_at timestamptz,
    -- When the client acknowledged that; null until it does.
    ADD COLUMN events_acknowledged_at timestamptz,
    ADD CONSTRAINT sessions_acknowledge_what_is_finished
        CHECK (events_acknowledged_at IS NULL OR events_finished_at IS NOT NULL);
