-- Questions of loads to their delegates (docs/delegate.md).

CREATE TABLE questions (
    tenant_id bigint NOT NULL,
    id uuid NOT NULL,
    job_id uuid NOT NULL,
    claim integer NOT NULL,
    sequence integer NOT NULL,
    kind text COLLATE "C" NOT NULL,
    host text COLLATE "C",
    group_id uuid,
    session_id uuid,
    labels text[],
    facts json NOT NULL,
    limits json NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT now(),
    deadline timestamptz NOT NULL,
    endpoint_id uuid,
    ask_at timestamptz,
    state text NOT NULL DEFAULT 'open',
    ended_at timestamptz,
    reason text,
    answer json,
    sealed_answer bytea,
    answered_by json,
    note text,
    remember json,
    fault text,
    "position" bytea,
    PRIMARY KEY (tenant_id, id),
    CONSTRAINT questions_answered_have_an_answer CHECK (
        (state = 'answered') = (answer IS NOT NULL) AND (state = 'answered') = (answered_by IS NOT NULL)
    ),
    CONSTRAINT questions_closed_have_a_reason CHECK ((state = 'closed') = (reason IS NOT NULL)),
    CONSTRAINT questions_facts_are_bounded CHECK (octet_length(facts::text) <= 65536),
    CONSTRAINT questions_over_have_an_end CHECK ((state = 'open') = (ended_at IS NULL)),
    CONSTRAINT questions_reason CHECK (reason IN ('expired', 'superseded', 'withdrawn')),
    CONSTRAINT questions_remember_answers_of_sessions CHECK (
        remember IS NULL OR answer IS NOT NULL AND session_id IS NOT NULL
    ),
    CONSTRAINT questions_secrets_belong_to_answers CHECK (sealed_answer IS NULL OR answer IS NOT NULL),
    CONSTRAINT questions_state CHECK (state IN ('open', 'answered', 'closed'))
) WITH (fillfactor = 80);
COMMENT ON TABLE questions IS
    'What loads ask their delegates. A row is written when the question is asked, and once more when it is answered or '
    'closed: whichever comes first, by the clock of the database. It is removed with its job';
COMMENT ON COLUMN questions.claim IS 'The claim of the job whose attempt asks';
COMMENT ON COLUMN questions.sequence IS 'The number of its event among those of the attempt, from 1';
COMMENT ON COLUMN questions.kind IS 'The kind, as a configuration names it in delegate.questions';
COMMENT ON COLUMN questions.host IS
    'Host and port of whom the question is about: who asks for a credential, shows a certificate or answered; null: '
    'the URL has no host';
COMMENT ON COLUMN questions.group_id IS 'The group of the job, for filters; null: none';
COMMENT ON COLUMN questions.session_id IS 'The session of the job, which may remember the answer; null: none';
COMMENT ON COLUMN questions.labels IS 'Those of the job, each as name:value, for filters; null: none';
COMMENT ON COLUMN questions.facts IS 'The request and what an answer is chosen by, without secrets';
COMMENT ON COLUMN questions.limits IS 'What an answer may be: the words, and what the configuration keeps them to';
COMMENT ON COLUMN questions.deadline IS 'No answer is taken from then on';
COMMENT ON COLUMN questions.endpoint_id IS 'The endpoint that is asked; null: the question waits for the API alone';
COMMENT ON COLUMN questions.ask_at IS
    'When the endpoint is asked, by any node; null: the node that holds the load asks it, or nobody does any more';
COMMENT ON COLUMN questions.state IS 'open, answered or closed';
COMMENT ON COLUMN questions.ended_at IS 'When it was answered or closed; null: it is open';
COMMENT ON COLUMN questions.reason IS
    'Why it was closed: expired (nobody answered in time), withdrawn (its job ended or was stopped), superseded (its '
    'node was lost); null: it was not';
COMMENT ON COLUMN questions.answer IS 'The answer without its secrets; null: there is none';
COMMENT ON COLUMN questions.sealed_answer IS
    'The answer with its secrets; AES-256-GCM, bound to this table, tenant and question; null: it has none';
COMMENT ON COLUMN questions.answered_by IS 'Who answered, as the ledger writes it; null: nobody';
COMMENT ON COLUMN questions.note IS 'What who answered has said about it; null: nothing';
COMMENT ON COLUMN questions.remember IS
    'For how long and for which questions the answer is remembered, as the API writes it; null: for this one alone';
COMMENT ON COLUMN questions.fault IS
    'What was wrong with the last reply of the endpoint, and never the reply; null: nothing was';
COMMENT ON COLUMN questions.position IS
    'Where its load stands, with what was decided before; AES-256-GCM, bound to this table, tenant and question; null: '
    'the load cannot go on elsewhere, or does not go on from there any more';

CREATE INDEX questions_ask_at ON questions (ask_at) WHERE ask_at IS NOT NULL AND state = 'open';
COMMENT ON INDEX questions_ask_at IS 'questions.due; for all tenants, since any node may ask';

CREATE INDEX questions_deadline ON questions (tenant_id, deadline) WHERE state = 'open';
COMMENT ON INDEX questions_deadline IS 'expired.openQuestions';

CREATE INDEX questions_job ON questions (tenant_id, job_id, id);
COMMENT ON INDEX questions_job IS 'questions.list of a job; queue.rescue; jobs.remove';

CREATE INDEX questions_open ON questions (tenant_id, id) WHERE state = 'open';
COMMENT ON INDEX questions_open IS 'questions.list of open ones; questions.countOpen';

CREATE INDEX questions_over ON questions (tenant_id, ended_at) WHERE state <> 'open';
COMMENT ON INDEX questions_over IS 'questions.lastEnded; expired.questions';

CREATE INDEX questions_positions ON questions (tenant_id, ended_at) WHERE "position" IS NOT NULL AND state <> 'open';
COMMENT ON INDEX questions_positions IS 'expired.positions';

CREATE TABLE remembered_answers (
    tenant_id bigint NOT NULL,
    session_id uuid NOT NULL,
    question_id uuid NOT NULL,
    kind text COLLATE "C" NOT NULL,
    conditions json NOT NULL,
    answer json NOT NULL,
    answered_by json NOT NULL,
    remembered_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, session_id, question_id),
    CONSTRAINT remembered_answers_end_later CHECK (expires_at > remembered_at)
);
COMMENT ON TABLE remembered_answers IS
    'Answers that sessions give again to questions like the one that each was given to. None has a secret: credentials '
    'are named by their ids. The newest 64 of a session count; every write raises answers_version of its session_stores';
COMMENT ON COLUMN remembered_answers.question_id IS 'The question that it was given to, which may be gone';
COMMENT ON COLUMN remembered_answers.kind IS 'The kind of the questions, as a configuration names it';
COMMENT ON COLUMN remembered_answers.conditions IS 'The when of the rule that it is';
COMMENT ON COLUMN remembered_answers.answered_by IS 'Who answered, as the ledger writes it';
COMMENT ON COLUMN remembered_answers.expires_at IS 'It is given no more from then on';

CREATE INDEX remembered_answers_expires_at ON remembered_answers (expires_at);
COMMENT ON INDEX remembered_answers_expires_at IS 'expired.rememberedAnswers, for all tenants';
