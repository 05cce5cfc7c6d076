import FetchJobs

/// Where a message goes: to a URL, or to one of those of a URL group.
struct QStashTarget: Sendable {
    let url: String
    /// The group, and what it calls the URL.
    var group: String?
    var endpoint: String?

    /// What a destination is as a client wrote it.
    enum Destination: Sendable {
        case url(QStashTarget)
        case group(String)
    }

    static let noGroup = Problem(.notFound, "There is no URL group with this name.")

    static func destination(_ text: String) throws(Problem) -> Destination {
        var text = text
        let lower = text.prefix(12).lowercased()
        if lower.hasPrefix("http%3a") || lower.hasPrefix("https%3a") {
            text = text.percentDecoded ?? text
        }
        for scheme in ["http", "https"] where text.lowercased().hasPrefix("\(scheme):/") {
            // Some proxies make one slash of two.
            let rest = text.dropFirst(scheme.utf8.count + 2)
            return .url(QStashTarget(url: "\(scheme)://\(rest.hasPrefix("/") ? rest.dropFirst() : rest)"))
        }
        if text.hasPrefix("api/") || text == "api" {
            throw Problem(.invalidParameter, "The destination api/… is not mapped: name the URL that it stands for.")
        }
        return .group(try name(text))
    }

    /// The URL of a callback.
    static func url(ofCallback text: String) throws(Problem) -> String {
        switch try destination(text) {
        case .url(let target): return target.url
        case .group: throw QStashDoor.notBuilt("A callback to a URL group")
        }
    }

    /// - Throws: ``Problem`` for a text that is no name of a group.
    static func name(_ text: String) throws(Problem) -> String {
        guard (1...URLGroup.maximumName).contains(text.utf8.count), text.utf8.allSatisfy(QStashMessage.isPlain) else {
            throw Problem(
                .invalidParameter,
                "A destination is an http or https URL, or the name of a URL group, which has 1 to "
                    + "\(URLGroup.maximumName) letters, digits, hyphens, underscores and dots.")
        }
        return text
    }
}

extension URLGroupStore {
    /// The places that a message goes to.
    ///
    /// - Throws: ``Problem`` `notFound` for a group that is not there.
    func targets(
        of destination: QStashTarget.Destination, tenant: Tenant.ID
    ) async throws -> (all: [QStashTarget], isGroup: Bool) {
        switch destination {
        case .url(let target): return ([target], false)
        case .group(let name):
            guard let group = try await urlGroup(name, of: tenant) else { throw QStashTarget.noGroup }
            return (group.endpoints.map { QStashTarget(url: $0.url, group: name, endpoint: $0.name) }, true)
        }
    }
}
