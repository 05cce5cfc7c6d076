import ArgumentParser
import FetchEngine
import FetchJobs
import FetchStorage
import FoundationEssentials

/// Judges a URL as a job's would be, without loading it (SEC-13).
struct GuardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "guard",
        abstract: "Says whether jobs may reach a URL, and which rule refuses it.",
        discussion: """
            Prints the verdict as JSON: that of the settings, such as GUARD_ALLOW, and of the egress documents in the \
            database. Nothing is loaded. The name of the URL is looked up, since its addresses are judged too, unless \
            the URL is refused without that.

                fetchd guard https://example.com/ --tenant crawler

            A resolve map names the addresses in place of the name server: {"example.com": ["93.184.215.14"]}.

            Exit status: 0 allowed, 1 refused, 64 wrong usage, 69 no database, 78 a wrong setting.
            """
    )

    @Argument(help: "The URL.")
    var url: String

    @Option(help: "The tenant whose job it would be; without it, only the rules for all tenants count.")
    var tenant: String?

    @Option(help: "A file with an egress document to judge by in place of those in the database, which is not asked.")
    var policy: String?

    @Option(help: "A file with a JSON object of names, each with a list of its addresses.")
    var resolveMap: String?

    @OptionGroup var options: SettingsOptions

    func validate() throws {
        guard policy == nil || tenant == nil else { throw ValidationError("Give --policy or --tenant, not both.") }
    }

    func run() async throws {
        try await ExitError.reporting {
            let settings = try options.settings()
            let targets = TargetGuard(policy: try await targetPolicy(settings))
            let map = try resolveMap.map(Self.addresses)
            let report: [UInt8]
            let isAllowed: Bool
            do throws(TargetRefusal) {
                let target = try targets.target(url)
                let verdict = await targets.verdict(on: target) { host in
                    if let map { map[host] ?? [] } else { await TargetGuard.lookUp(host, for: "guard") }
                }
                isAllowed = verdict.refusal == nil
                report = Self.report(target, verdict.refusal, verdict.addresses)
            } catch {
                isAllowed = false
                report = Self.report(nil, error)
            }
            print(String(decoding: report, as: UTF8.self))
            guard isAllowed else { throw ExitCode.failure }
        }
    }

    private func targetPolicy(_ settings: Settings) async throws -> TargetPolicy {
        let standard = EgressPolicies(standard: settings.targetPolicy)
        if let policy {
            return standard.taking([.service: EgressDocument(try EgressFile.read(policy), version: 1)]).service
        }
        var result = standard.service
        try await EgressFile.with(options, of: tenant) { store, owner in
            result = standard.taking(try await store.egress(besides: [:])).policy(of: owner)
        }
        return result
    }

    private static func addresses(_ path: String) throws -> [String: [IPAddress]] {
        let bytes = try EgressFile.bytes(path)
        guard let map = try? JSONDecoder().decode([String: [String]].self, from: Data(bytes)) else {
            throw ExitError(.configuration, "\(path) is not a JSON object of names with lists of addresses")
        }
        return try map.mapValues { texts in
            try texts.map { text in
                guard let address = IPAddress(text) else {
                    throw ExitError(.configuration, "\(path): \"\(text)\" is not an address")
                }
                return address
            }
        }
    }

    /// - Parameters:
    ///   - target: Nil of a text that is no URL, or that is refused as it stands.
    ///   - addresses: Those that were judged; nil where none was looked up.
    private static func report(
        _ target: URLRecord?, _ refusal: TargetRefusal?, _ addresses: [IPAddress]? = nil
    ) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("url", target?.redacted)
            writer.member("allowed", refusal == nil)
            writer.member("code", refusal?.code.name)
            writer.member("reason", refusal?.message)
            writer.member("rule", refusal?.rule)
            if let addresses {
                writer.member("addresses", array: { writer in addresses.forEach { writer.value("\($0)") } })
            }
        }
    }
}
