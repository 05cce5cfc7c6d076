/// One setting for operators: its name, the rule for its values, its effect, and its place in ``Settings``.
///
/// ``Settings/table`` has them all. Settings are read, described and checked by that table alone.
struct Setting: Sendable {
    /// Such as `worker.leaseSeconds`, which is `WORKER_LEASE_SECONDS` in the environment.
    let key: String
    /// The flag for it, without its dashes; nil for those that have none.
    let flag: String?
    /// The rule for its values, as it goes on after "must be".
    let rule: String
    /// Its default, in words.
    let standard: String
    /// Its effect, as one sentence.
    let summary: String
    /// Whether its value is never shown.
    let isSecret: Bool
    /// Whether an empty value is one; elsewhere it counts as none, since composed environments cannot leave it out.
    let mayBeEmpty: Bool
    /// The least and the greatest value, and those beyond, where it is a number.
    let edges: SettingEdges?

    private let parse: @Sendable (String, inout Settings) -> Bool
    private let write: @Sendable (Settings) -> String?

    /// - Parameters:
    ///   - path: Where the value goes; the value there before is the default.
    ///   - standard: The default in words, where it is no value or depends on the machine.
    init<Value>(
        _ key: String, flag: String? = nil, _ path: any WritableKeyPath<Settings, Value> & Sendable,
        _ rule: SettingRule<Value>, default standard: String? = nil, _ summary: String
    ) {
        self.init(
            key, flag: flag, rule, default: standard ?? rule.text(Settings()[keyPath: path]), summary,
            isSecret: false, mayBeEmpty: false,
            read: { $0[keyPath: path] }, set: { $1[keyPath: path] = $0 })
    }

    /// One that has no value of its own when it is not set.
    init<Value>(
        _ key: String, flag: String? = nil, _ path: any WritableKeyPath<Settings, Value?> & Sendable,
        _ rule: SettingRule<Value>, default standard: String, isSecret: Bool = false, mayBeEmpty: Bool = false,
        _ summary: String
    ) {
        self.init(
            key, flag: flag, rule, default: standard, summary, isSecret: isSecret, mayBeEmpty: mayBeEmpty,
            read: { $0[keyPath: path] }, set: { $1[keyPath: path] = $0 })
    }

    private init<Value>(
        _ key: String, flag: String?, _ rule: SettingRule<Value>, default standard: String, _ summary: String,
        isSecret: Bool, mayBeEmpty: Bool,
        read: @escaping @Sendable (Settings) -> Value?, set: @escaping @Sendable (Value, inout Settings) -> Void
    ) {
        self.key = key
        self.flag = flag
        self.rule = rule.description
        self.standard = standard
        self.summary = summary
        self.isSecret = isSecret
        self.mayBeEmpty = mayBeEmpty
        edges = rule.edges
        parse = { text, settings in
            guard let value = rule.parse(text) else { return false }
            set(value, &settings)
            return true
        }
        write = { read($0).map(rule.text) }
    }

    /// The environment variable: `worker.leaseSeconds` is `WORKER_LEASE_SECONDS`.
    var variable: String {
        key.reduce(into: "") { name, character in
            if character.isUppercase { name += "_" }
            name += character == "." ? "_" : character.uppercased()
        }
    }

    /// Puts a value where it goes.
    ///
    /// - Throws: An error with the variable, the value unless it is secret, and the rule.
    func apply(_ text: String, to settings: inout Settings) throws(Settings.Failure) {
        guard !parse(text, &settings) else { return }
        throw Settings.Failure(variable, isSecret ? "its value must be \(rule)" : "\"\(text)\" is not \(rule)")
    }

    /// Its present value, as it could be set; nil when it is not set and has no default.
    func value(in settings: Settings) -> String? {
        write(settings).map { isSecret ? "<redacted>" : $0 }
    }
}

/// The least and the greatest value of a setting that is a number, and the nearest ones beyond.
struct SettingEdges: Sendable {
    let inside: [String]
    let outside: [String]
}
