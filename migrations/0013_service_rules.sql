-- The rules of the service: answers in advance to the questions of all tenants' loads.

CREATE TABLE service_rules (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    rules json NOT NULL DEFAULT '[]',
    version bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE service_rules IS 'One row; queue_state.version is raised with each change';
COMMENT ON COLUMN service_rules.singleton IS 'Always true: there is one row';
COMMENT ON COLUMN service_rules.rules IS 'The list, as the API writes it';
COMMENT ON COLUMN service_rules.version IS 'Raised by every change: the tag of the list';

INSERT INTO service_rules DEFAULT VALUES;
