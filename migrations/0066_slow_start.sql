-- The jobs of a host that was parked come back twice as many at a time with each answer.
ALTER TABLE lanes
    -- How often the number was doubled since its time has passed: so many powers of 2 run at once.
    ADD COLUMN doublings smallint NOT NULL DEFAULT 0;
