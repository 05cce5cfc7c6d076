-- How many bytes of bodies a second jobs may move in each direction, on all nodes together; null for any number.

ALTER TABLE lanes ADD COLUMN bytes_per_second bigint CHECK (bytes_per_second > 0);
ALTER TABLE tenants ADD COLUMN bytes_per_second bigint CHECK (bytes_per_second > 0);
ALTER TABLE queue_state ADD COLUMN bytes_per_second bigint CHECK (bytes_per_second > 0);
