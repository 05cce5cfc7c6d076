-- How often in a row an origin has refused a request for being one too many, without a time to come back at.
ALTER TABLE lanes ADD COLUMN refusals smallint NOT NULL DEFAULT 0;
