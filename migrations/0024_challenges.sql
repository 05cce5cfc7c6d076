-- Who asked a job for credentials, and what was made of it.
ALTER TABLE results ADD COLUMN challenges json;
