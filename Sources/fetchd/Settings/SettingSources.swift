import Configuration
import FetchEngine

/// Where values come from: flags, then the environment, which may name the files of secrets.
struct SettingSources: Sendable {
    /// A value, and who gave it.
    struct Value: Sendable {
        let text: String
        let origin: String
    }

    private let flags: InMemoryProvider
    private let environment: EnvironmentVariablesProvider
    /// By the keys of settings.
    private var files: [String: Value] = [:]

    /// - Parameters:
    ///   - flags: By the keys of settings.
    ///   - environment: All variables there are.
    /// - Throws: A failure that names a variable which is no setting and looks like one, or a file that cannot be used.
    init(flags: [String: String], environment: [String: String]) throws(Settings.Failure) {
        for variable in environment.keys.sorted() {
            guard let meant = VariableName(variable).mistaken else { continue }
            throw Settings.Failure(variable, "there is no such setting" + (meant.isEmpty ? "" : "; is it \(meant)?"))
        }
        self.flags = InMemoryProvider(
            name: "flag",
            values: [AbsoluteConfigKey: ConfigValue](
                uniqueKeysWithValues: flags.map { (Self.key($0), ConfigValue(.string($1), isSecret: true)) }))
        self.environment = EnvironmentVariablesProvider(environmentVariables: environment)
        for setting in Settings.table {
            guard let file = try SecretFile(of: setting, in: environment) else { continue }
            files[setting.key] = Value(text: try file.value(), origin: "file \(file.path)")
        }
    }

    /// The value of a setting; nil when it is not set.
    func value(of setting: Setting) -> Value? {
        let key = Self.key(setting.key)
        let sources: [(any ConfigProvider, String)] = [
            (flags, setting.flag.map { "--\($0)" } ?? "flag"), (environment, "environment"),
        ]
        for (provider, origin) in sources {
            guard case .string(let text)? = (try? provider.value(forKey: key, type: .string))?.value?.content else {
                continue
            }
            if !text.isEmpty || setting.mayBeEmpty { return Value(text: text, origin: origin) }
        }
        return files[setting.key]
    }

    private static func key(_ key: String) -> AbsoluteConfigKey {
        AbsoluteConfigKey(key.split(separator: ".").map { String($0) })
    }
}

/// The name of an environment variable: of a setting, of another program, or a misspelt one.
struct VariableName {
    /// The variables that commands read and that are no settings.
    private static let others: Set<String> = {
        var others = RemoteOptions.variables.union([WebhooksCommand.Verify.variable])
        #if DEBUG
            others.insert(CrashPoint.variable)
        #endif
        return others
    }()
    /// With the files of all, so that one that is named for what is no secret is refused by that rule.
    private static let settings = Set(Settings.table.flatMap { [$0.variable, $0.fileVariable] })
    /// In order, by their first words: nothing else is compared with the many variables of other programs.
    private static let settingsByFirstWord = Dictionary(grouping: settings.sorted()) { firstWord(of: $0) }

    private static func firstWord(of name: String) -> Substring {
        name.drop { $0 == "_" }.prefix { $0 != "_" }
    }

    private let name: String

    init(_ name: String) { self.name = name }

    /// The setting that was misspelt, empty when it cannot be told which; nil when the name is right or another
    /// program's.
    ///
    /// A name that begins with `FETCHD_` is ours. Other names are taken for ours when they begin as ours do and are
    /// short by some letters of their words, or wrong in few.
    var mistaken: String? {
        guard !Self.settings.contains(name), !Self.others.contains(name) else { return nil }
        let (similar, isOurs) = (Self.settingsByFirstWord[Self.firstWord(of: name)], name.hasPrefix("FETCHD_"))
        guard similar != nil || isOurs, !isServiceLink else { return nil }
        return similar?.first { isLike($0) } ?? (isOurs ? "" : nil)
    }

    /// Whether Kubernetes or a linked container sets the variable for a service with one of our names.
    private var isServiceLink: Bool {
        name.contains(/^[A-Z0-9_]+_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)$/)
            || name == "FETCHD_PORT"
    }

    private func isLike(_ setting: String) -> Bool {
        let (own, other) = (name.split(separator: "_"), setting.split(separator: "_"))
        guard own.count > 1, own.first == other.first else { return false }
        if own.count == other.count, zip(own, other).allSatisfy({ $1.hasPrefix($0) }) { return true }
        return distance(to: setting) <= max(2, name.count / 6)
    }

    /// How many letters have to be put in, left out or changed (Levenshtein).
    private func distance(to other: String) -> Int {
        let other = Array(other.utf8)
        var row = Array(0...other.count)
        for (index, letter) in name.utf8.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in other.indices {
                let changed = diagonal + (letter == other[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(changed, row[column] + 1, diagonal + 1)
            }
        }
        return row[other.count]
    }
}
