import Configuration
import FetchJobs

/// Reads settings strictly: what is set and cannot be used ends the start with a sentence, since a setting that is
/// ignored, or bent into something else, is worse than one that is missing.
struct SettingsReader {
    let reader: ConfigReader

    /// The text of a setting; nil when it is not set, or empty.
    func text(_ key: String, isSecret: Bool = false) -> String? {
        reader.string(forKey: ConfigKey(key), isSecret: isSecret).flatMap { $0.isEmpty ? nil : $0 }
    }

    func integer(
        _ key: String, in range: ClosedRange<Int> = 1...1_000_000_000
    ) throws(Settings.Failure) -> Int? {
        guard let text = text(key) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw refusal(key, text, "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A time in some unit; fractions may be given.
    func duration(
        _ key: String, of unit: Unit, in range: ClosedRange<Double>
    ) throws(Settings.Failure) -> Duration? {
        guard let text = text(key) else { return nil }
        // What is not a number at all is in no range.
        guard let number = Double(text), range.contains(number) else {
            let (first, last) = (range.lowerBound.formatted, range.upperBound.formatted)
            throw refusal(key, text, "a number of \(unit.rawValue) from \(first) to \(last)")
        }
        return .seconds(number * unit.seconds)
    }

    enum Unit: String {
        case seconds, days

        var seconds: Double { self == .days ? 86_400 : 1 }
    }

    func bool(_ key: String) throws(Settings.Failure) -> Bool? {
        guard let text = text(key) else { return nil }
        switch text.lowercased() {
        case "true", "yes", "1": return true
        case "false", "no", "0": return false
        default: throw refusal(key, text, "true or false")
        }
    }

    func proxies(_ key: String) throws(Settings.Failure) -> TrustedProxies? {
        guard let text = text(key) else { return nil }
        do {
            return try TrustedProxies(text.split { $0 == "," || $0 == " " }.map { String($0) })
        } catch {
            throw refusal(key, error.rule, "an address or a block of addresses, such as 10.0.0.0/8")
        }
    }

    private func refusal(_ key: String, _ value: String, _ rule: String) -> Settings.Failure {
        Settings.Failure(description: "\(Self.variable(key)): \"\(value)\" is not \(rule)")
    }

    /// The environment variable of a key: `worker.leaseSeconds` is `WORKER_LEASE_SECONDS`.
    static func variable(_ key: String) -> String {
        key.reduce(into: "") { name, character in
            if character.isUppercase { name += "_" }
            name += character == "." ? "_" : character.uppercased()
        }
    }
}

extension Double {
    /// Without a fraction where there is none.
    fileprivate var formatted: String { self == rounded() ? String(Int(self)) : String(self) }
}
