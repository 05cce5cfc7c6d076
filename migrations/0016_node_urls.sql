-- Nodes say where other nodes reach them.

-- Null for a node that others cannot reach.
ALTER TABLE nodes ADD COLUMN url text;
