extension Configuration {
    /// When a failed attempt is followed by another one.
    package struct Retry: ConfigurationGroup {
        // These members take effect between attempts: no setting of the engine stands for them.

        package var maximumAttempts: Int?
        package var backoff: RetryPolicy.Backoff?
        package var statuses: [Int]?
        package var errors: [String]?
        package var honorRetryAfter: Bool?
        package var replayUnsafe: Bool?

        package init() {}

        /// Makes a group with every member of a policy.
        package init(_ policy: RetryPolicy) {
            maximumAttempts = policy.maximumAttempts
            backoff = policy.backoff
            statuses = policy.statuses.sorted()
            errors = policy.errors?.sorted()
            honorRetryAfter = policy.honorRetryAfter
            replayUnsafe = policy.replayUnsafe
        }

        package static let members: [ConfigurationMember<Self>] = [
            ConfigurationMember(
                "maximumAttempts", \.maximumAttempts, .integer(1...100), get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("backoff", \.backoff, .backoff, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "statuses", \.statuses, .list(of: .integer(300...599), upTo: 100), get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember(
                "errors", \.errors, .list(of: .errorName, upTo: 100), get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("honorRetryAfter", \.honorRetryAfter, .bool, get: { _ in nil }, set: { _, _ in }),
            ConfigurationMember("replayUnsafe", \.replayUnsafe, .bool, get: { _ in nil }, set: { _, _ in }),
        ]
    }
}

extension ConfigurationRule where Value == RetryPolicy.Backoff {
    /// An object; members that it leaves out have the service's defaults.
    fileprivate static var backoff: Self {
        Self(
            read: { reader in
                guard let object = reader.object(of: ["initial", "factor", "maximum", "jitter"]) else { return nil }
                var backoff = RetryPolicy.Backoff()
                let duration = ConfigurationRule<Duration>.seconds
                backoff.initial = object["initial"].flatMap { duration.read($0) } ?? backoff.initial
                backoff.factor = object["factor"].flatMap { $0.number(in: 1...100) } ?? backoff.factor
                backoff.maximum = object["maximum"].flatMap { duration.read($0) } ?? backoff.maximum
                backoff.jitter = object["jitter"].flatMap { $0.number(in: 0...1) } ?? backoff.jitter
                return backoff
            },
            write: { backoff, writer in
                writer.object { writer in
                    writer.member("initial", backoff.initial.seconds)
                    writer.member("factor", backoff.factor)
                    writer.member("maximum", backoff.maximum.seconds)
                    writer.member("jitter", backoff.jitter)
                }
            }
        )
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
