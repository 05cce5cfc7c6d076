import type { CallOptions, Items } from "./requests.js";
import { segment } from "./requests.js";
import type { Transport } from "./transport.js";
import { pause } from "./transport.js";
import type * as types from "./types.js";

/** Milliseconds between looks while questions are open that nobody has answered. */
const PAUSE = 1000;

export type AnswerOptions = CallOptions & {
  /** Why; kept with the answer and shown. */
  note?: string;
  /** For how long the session of the job gives it again to similar questions. */
  remember?: types.Remember;
};

/** What the tenant's loads ask their delegates. */
export class Questions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The questions that a filter means, the oldest first. */
  list(query: types.ListQuestionsQuery = {}, options: CallOptions = {}): Items<types.Question> {
    return this.#transport.pages("/v1/questions", query, options);
  }

  /** Each open question that a filter means, once, as they are asked; it does not end by itself. */
  async *watch(filter: Omit<types.ListQuestionsQuery, "state"> = {},
               options: CallOptions = {}): Items<types.Question> {
    let given = new Set<string>();
    const query = { ...filter, state: "open" };
    while (true) {
      const page: types.QuestionList = await this.#transport.get("/v1/questions", { ...options, query, wait: 30 });
      let questions = page.data;
      if (page.hasMore) {
        questions = [];
        for await (const question of this.#transport.pages<types.Question>("/v1/questions", query, options)) {
          questions.push(question);
        }
      }
      const news = questions.filter((question) => !given.has(question.id));
      yield* news;
      given = new Set(questions.map((question) => question.id));
      if (questions.length && !news.length) await pause(PAUSE, options.signal);
    }
  }

  /** A question as it stands. */
  get(id: string, options: CallOptions = {}): Promise<types.Question> {
    return this.#transport.get(`/v1/questions/${segment(id)}`, options);
  }

  /**
   * Answers a question; the first answer counts, and the same one is accepted again.
   *
   * `answer` is a word of the question's `answers`, or an object with the word and what goes with it.
   */
  async answer(question: types.Question | string, answer: types.Answer,
               { note, remember, ...options }: AnswerOptions = {}): Promise<types.Question> {
    const { id, job } = typeof question === "string" ? await this.get(question, options) : question;
    const reply = { ...(typeof answer === "string" ? { answer } : answer), note, remember };
    return this.#transport.post(`/v1/jobs/${segment(job)}/questions/${segment(id)}`, reply, options);
  }

  /** Gives one answer to all open questions of a filter. */
  answerAll(action: types.QuestionAction, options: CallOptions = {}): Promise<types.QuestionActionResult> {
    return this.#transport.post("/v1/questions/actions", action, options);
  }
}
