extension Configuration {
    /// The delegate that is asked when no rule answers, its questions, and the answers when it gives none.
    package struct Delegate: ConfigurationGroup {
        /// How the delegate is asked.
        package enum Via: String, Sendable, CaseIterable {
            /// By a message to an endpoint, whose reply is the answer.
            case webhook
            /// By a question that waits in the API for an answer.
            case api
        }

        /// How questions are treated while their endpoint cannot be reached.
        package enum WhenUnreachable: String, Sendable, CaseIterable {
            /// They wait for it until their deadline.
            case wait
            /// They are answered by ``Delegate/otherwise`` at once.
            case otherwise
        }

        /// The questions of one kind that the delegate is asked.
        package struct Trigger: Sendable, Equatable {
            package let on: Question.Kind
            /// Only questions of the kind that meet them.
            package let conditions: Question.Conditions

            package init(on kind: Question.Kind, when conditions: [Question.Condition] = []) {
                on = kind
                self.conditions = Question.Conditions(conditions)
            }
        }

        package var via: Via?
        package var endpoint: WebhookEndpoint.ID?
        package var questions: [Trigger]?
        /// How long an answer may take.
        package var timeout: Duration?
        /// The answers when there is none in time; `performDefaultHandling` for kinds that are not here.
        package var otherwise: [Question.Kind: Answer]?
        package var whenUnreachable: WhenUnreachable?
        /// How many questions one job asks; later ones are answered by ``otherwise``.
        package var maximumQuestions: Int?

        package init() {}

        // The members for the way to ask have a meaning only together with the questions.
        package static let isWhole = true

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember("via", \.via, .anyCase, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("endpoint", \.endpoint, .endpoint, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "questions", \.questions, .list(of: .trigger, upTo: 64), get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("timeout", \.timeout, .timeout, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("otherwise", \.otherwise, .otherwise, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("whenUnreachable", \.whenUnreachable, .anyCase, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "maximumQuestions", \.maximumQuestions, .integer(1...Int64(defaultMaximumQuestions)),
                get: { _ in nil }, set: { _, _ in }),
        ]

        package static let refused: KeyValuePairs = [
            "url": "cannot be had: register an endpoint, and name it as \"endpoint\""
        ]

        package static let defaultTimeout = Duration.seconds(30)
        package static let defaultMaximumQuestions = 100

        package func check(_ reader: JSONReader) {
            if via == nil { reader.refuse("must say how the delegate is asked: \"via\" is \"webhook\" or \"api\"") }
            if via == .webhook, endpoint == nil { reader.refuse("must have the endpoint that is asked by webhook") }
            if via == .api {
                if endpoint != nil { reader.refuse("must have no endpoint: questions via the API are sent to nobody") }
                if whenUnreachable != nil { reader.refuse("must have no whenUnreachable: the API is always there") }
            }
            if questions == nil { reader.refuse("must say which questions the delegate is asked") }
            for kind in (otherwise ?? [:]).keys.sorted(by: { $0.rawValue < $1.rawValue })
            where questions?.contains(where: { $0.on == kind }) == false {
                reader.refuse("must not say otherwise for \(kind.rawValue), which is not among its questions")
            }
        }

        /// Whether a question is one for the delegate.
        package func isAsked(_ question: Question) -> Bool {
            guard let questions else { return false }
            var facts = Question.Facts(question)
            return questions.contains { $0.on == question.kind && $0.conditions.areMet(by: &facts) }
        }

        /// Who is asked: of questions of session level the session's, and the job's where that has none for the kind
        /// (AUT-9); of others the job's, and its session's only where the job has none at all.
        package static func responsible(for question: Question, job: Self, session: Self) -> Self? {
            let delegates = question.isSessionLevel ? [session, job] : [job.via == nil ? session : job]
            return delegates.first { $0.via != nil && $0.isAsked(question) }
        }

        /// The kinds that the delegate may be asked about.
        package var kinds: Set<Question.Kind> { Set((questions ?? []).map(\.on)) }

        /// Whether the delegate may be asked about chains that verification finds good.
        package var asksAboutTrustedServers: Bool {
            questions?.contains { $0.on == .didReceiveServerTrust && $0.conditions.askAboutTrustedServers } ?? false
        }
    }
}

extension ConfigurationRule where Value == WebhookEndpoint.ID {
    fileprivate static var endpoint: Self {
        Self(read: { $0.endpointID() }, write: { value, writer in writer.value(value.description) })
    }
}

extension ConfigurationRule where Value == Duration {
    /// From a second to seven days.
    fileprivate static var timeout: Self {
        Self(
            read: { $0.seconds(in: 1...604_800) },
            write: { value, writer in writer.value(value.seconds) }
        )
    }
}

extension ConfigurationRule where Value == Configuration.Delegate.Trigger {
    /// The kind, or an object with the kind and conditions.
    fileprivate static var trigger: Self {
        Self(
            read: { reader in
                if case .string = reader.value {
                    return reader.oneOf(Question.Kind.self).map { Configuration.Delegate.Trigger(on: $0) }
                }
                guard let object = reader.object(of: ["on", "when"]),
                    let kind = object.required("on")?.oneOf(Question.Kind.self)
                else { return nil }
                let conditions = object["when"].map { Question.Conditions(reader: $0, for: kind) }
                return Configuration.Delegate.Trigger(on: kind, when: conditions?.all ?? [])
            },
            write: { value, writer in
                guard !value.conditions.all.isEmpty else { return writer.value(value.on.rawValue) }
                writer.object { writer in
                    writer.member("on", value.on.rawValue)
                    writer.member("when", object: value.conditions.write)
                }
            }
        )
    }
}

extension ConfigurationRule where Value == [Question.Kind: Answer] {
    fileprivate static var otherwise: Self {
        Self(
            read: { reader in
                guard let object = reader.object(of: Set(Question.Kind.allCases.map(\.rawValue))) else { return nil }
                var answers: [Question.Kind: Answer] = [:]
                for kind in Question.Kind.allCases {
                    answers[kind] = object[kind.rawValue].flatMap {
                        Answer(reader: $0, to: kind, in: .configuration)
                    }
                }
                return answers
            },
            write: { answers, writer in
                writer.object { writer in
                    for kind in Question.Kind.allCases {
                        guard let answer = answers[kind] else { continue }
                        writer.name(kind.rawValue)
                        answer.write(&writer, .open)
                    }
                }
            }
        )
    }
}
