import HTTPTypes

extension Configuration {
    /// When a failed attempt is followed by another one.
    package struct Retry: ConfigurationGroup {
        // These members take effect between attempts: no setting of the engine stands for them.

        package var maximumAttempts: Int?
        package var backoff: RetryPolicy.Backoff?
        package var statuses: [FailureStatuses.Entry]?
        package var errors: [String]?
        package var honorRetryAfter: Bool?
        package var retryAfterScope: RetryPolicy.RetryAfterScope?
        package var final: RetryPolicy.FinalAnswer?
        package var replayUnsafe: Bool?

        package init() {}

        /// Makes a group with every member of a policy.
        package init(_ policy: RetryPolicy) {
            maximumAttempts = policy.maximumAttempts
            backoff = policy.backoff
            statuses = policy.statuses.entries
            errors = policy.errors?.sorted()
            honorRetryAfter = policy.honorRetryAfter
            retryAfterScope = policy.retryAfterScope
            final = policy.final
            replayUnsafe = policy.replayUnsafe
        }

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember(
                "maximumAttempts", \.maximumAttempts, .integer(1...100), get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("backoff", \.backoff, .backoff, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "statuses", \.statuses, .list(of: .failureStatus, upTo: 100), get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "errors", \.errors, .list(of: .errorName, upTo: 100), get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("honorRetryAfter", \.honorRetryAfter, .bool, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("retryAfterScope", \.retryAfterScope, .anyCase, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("final", \.final, .finalAnswer, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("replayUnsafe", \.replayUnsafe, .bool, get: { _ in nil }, set: { _, _ in }),
        ]
    }
}

extension ConfigurationRule where Value == RetryPolicy.Backoff {
    /// An object; members that it leaves out have the service's defaults.
    fileprivate static var backoff: Self {
        Self(
            read: { reader in
                let names: Set = ["initial", "factor", "maximum", "jitter", "delays", "expression"]
                guard let object = reader.object(of: names) else { return nil }
                var backoff = RetryPolicy.Backoff()
                if let given = object["delays"] ?? object["expression"] {
                    backoff.jitter = 0
                    for name in ["initial", "factor", "expression"] {
                        guard let other = object[name], other.pointer != given.pointer else { continue }
                        other.refuse("cannot be beside \(given.pointer)")
                    }
                }
                if let list = object["delays"], let delays = list.delays() {
                    if delays.isEmpty { list.refuse("has no delay") }
                    backoff.waits = .listed(delays)
                    backoff.maximum = delays.max() ?? backoff.maximum
                }
                if let expression = object["expression"]?.waitExpression() {
                    backoff.waits = .computed(expression)
                    backoff.maximum = .seconds(86_400)
                }
                backoff.initial = object["initial"].flatMap { $0.delay() } ?? backoff.initial
                backoff.factor = object["factor"].flatMap { $0.number(in: 1...100) } ?? backoff.factor
                backoff.maximum = object["maximum"].flatMap { $0.delay() } ?? backoff.maximum
                backoff.jitter = object["jitter"].flatMap { $0.number(in: 0...1) } ?? backoff.jitter
                return backoff
            },
            write: { backoff, writer in
                writer.object { writer in
                    switch backoff.waits {
                    case .growing:
                        writer.member("initial", backoff.initial.seconds)
                        writer.member("factor", backoff.factor)
                    case .listed(let delays):
                        writer.member("delays", array: { writer in delays.forEach { writer.value($0.seconds) } })
                    case .computed(let expression): writer.member("expression", expression.text)
                    }
                    writer.member("maximum", backoff.maximum.seconds)
                    writer.member("jitter", backoff.jitter)
                }
            }
        )
    }
}

extension ConfigurationRule where Value == RetryPolicy.FinalAnswer {
    /// An object with both members.
    fileprivate static var finalAnswer: Self {
        Self(
            read: { reader in
                guard let object = reader.object(of: ["status", "field"]),
                    let status = object.required("status")?.integer(in: 200...599),
                    let field = object.required("field"), let text = field.string(maximumLength: 256)
                else { return nil }
                guard let name = HTTPField.Name(text), !text.hasPrefix(":") else {
                    field.refuse("must be a token (RFC 9110 §5.1) (headerInvalid)")
                    return nil
                }
                return RetryPolicy.FinalAnswer(status: Int(status), field: name)
            },
            write: { answer, writer in
                writer.object { writer in
                    writer.member("status", answer.status)
                    writer.member("field", answer.field.rawName)
                }
            }
        )
    }
}

extension ConfigurationRule where Value == FailureStatuses.Entry {
    /// A number, or a text with a class of statuses or an exception.
    fileprivate static var failureStatus: Self {
        Self(
            read: { reader in
                let text: String? =
                    if case .number = reader.value {
                        reader.integer(in: Int64.min...Int64.max).map { String($0) }
                    } else { reader.string(maximumLength: 4) }
                guard let text else { return nil }
                let entry = FailureStatuses.Entry(text)
                if entry == nil {
                    reader.refuse(
                        "must be a status from 200 to 599, a class of them such as \"5xx\", or \"!\" and one of these")
                }
                return entry
            },
            write: { entry, writer in
                let text = entry.description
                if let status = Int(text) { writer.value(status) } else { writer.value(text) }
            }
        )
    }
}

extension JSONReader {
    /// Up to a week.
    fileprivate func delay() -> Duration? { seconds(in: 0.001...604_800) }

    fileprivate func delays() -> [Duration]? { array(maximum: 100)?.compactMap { $0.delay() } }

    fileprivate func waitExpression() -> WaitExpression? {
        guard let text = string(maximumLength: WaitExpression.maximumLength) else { return nil }
        do {
            return try WaitExpression(text)
        } catch {
            refuse("\(error.message) (character \(error.position + 1))")
            return nil
        }
    }
}

extension ConfigurationRule where Value == String {
    /// The name of an error, such as `timedOut`; the set of them is open.
    fileprivate static var errorName: Self {
        .text(
            upTo: 64,
            "must be the name of an error, such as \"timedOut\"",
            parse: { $0.wholeMatch(of: #/[a-z][A-Za-z0-9]*/#) == nil ? nil : $0 },
            text: { $0 }
        )
    }
}
