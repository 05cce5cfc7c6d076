-- Where loads may go: the operators' lists of targets, one for all tenants and one for each tenant that has its own.

CREATE TABLE egress (
    tenant_id bigint PRIMARY KEY,
    document json,
    version bigint NOT NULL
);
COMMENT ON TABLE egress IS 'Lists of targets that loads may or may not reach; queue_state.version is raised with each change';
COMMENT ON COLUMN egress.tenant_id IS 'Whose loads it is for; 0: those of all tenants';
COMMENT ON COLUMN egress.document IS 'The lists, as the API writes them; null: taken away, so that nodes hear of it';
COMMENT ON COLUMN egress.version IS 'Raised by every change: the tag of the document';
