package import FetchEngine
import HTTPTypes

/// The course of a job as far as it is known beforehand.
package struct Forecast: Sendable {
    private let spec: JobSpec
    private let rules: RuleBook
    private let delegates: (job: Configuration.Delegate, session: Configuration.Delegate)
    private let settings: Configuration
    private let engine: SessionConfiguration
    /// The effective values of the job, and who set each.
    package let effective: EffectiveConfiguration

    /// - Parameters:
    ///   - session: That of the job; nil for the default session.
    ///   - standard: What the service has for sessions of this kind.
    ///   - service: The rules of the service.
    ///   - targets: Where the job may be redirected.
    package init(
        of spec: JobSpec, in session: SessionSpec?, standard: Configuration, _ service: ServiceRules = ServiceRules(),
        going targets: TargetPolicy = .unrestricted
    ) {
        self.spec = spec
        var standard = standard
        if spec.session == nil { standard.cookies.jar = Configuration.Cookies.Jar.none }
        let own = session?.configuration ?? Configuration()
        var merged = standard
        merged.override(by: own)
        merged.override(by: spec.configuration)
        settings = merged
        var engine = SessionConfiguration.default.overridden(by: merged)
        engine.targetPolicy = targets
        self.engine = engine
        rules = RuleBook(
            job: spec.configuration.rules, session: own.rules, service: service.matches(in: session?.kind ?? .default))
        delegates = (spec.configuration.delegate, own.delegate)
        effective = EffectiveConfiguration(job: spec.configuration, session: own, standard: standard)
    }

    private var request: Request {
        Request(url: spec.request.url, method: spec.request.method, headerFields: spec.request.headers)
    }

    // MARK: The request

    /// The standard form of the URL, in which it would be sent; without a query that is sensitive.
    package var url: String { spec.request.urlForm.text(of: spec.request.url.withoutFragment()) }

    /// The URL by which the cache would be searched for a response; nil when it would not be searched.
    package var cachedURL: String? {
        spec.request.method == .get ? CacheFilter.canonicalURL(spec.request.url.description) : nil
    }

    /// The names of those cookies of the session that would be sent.
    package func sends(_ cookies: [Cookie]) -> [String] {
        guard settings.cookies.jar != Configuration.Cookies.Jar.none, settings.cookies.send != false else { return [] }
        var jar = CookieJar()
        // Cookies that the jar does not take are not sent.
        for cookie in cookies { try? jar.set(cookie, at: .now) }
        let context = CookieContext(url: spec.request.url, mainDocumentURL: spec.request.mainDocumentURL)
        return jar.cookies(for: context, at: .now).map(\.name)
    }

    /// The credential that the server would be offered if it asked: the id of a stored one, or `sealed` for one that
    /// came with the job; nil for none.
    package func credential(among stored: [StoredCredential]) -> String? {
        if let named = settings.authentication.credential { return named.text }
        let server = ProtectionSpace.Party(server: spec.request.url)
        return stored.first { $0.isDefault && ProtectionSpace.Party($0.space) == server }?.id.description
    }

    /// The proxy that is tried first; nil for none.
    package var proxy: String? {
        guard case .proxy(let proxy)? = engine.proxies.routes(to: spec.request.url).first else { return nil }
        return "\(proxy.kind.rawValue)://\(proxy.host):\(proxy.port)"
    }

    // MARK: Imagined events

    /// Reads the events that a client imagines.
    ///
    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    package func events(_ json: JSONValue) throws(InvalidInput) -> [WhatIf] {
        guard case .object(let members) = json, let member = members.first(where: { $0.name == "whatIf" }) else {
            return []
        }
        let check = InputCheck()
        let reader = JSONReader(member.value, pointer: "/whatIf", check: check)
        let events = (reader.array(maximum: WhatIf.maximum) ?? []).compactMap {
            WhatIf(reader: $0, about: request, in: engine)
        }
        try check.finish()
        return events
    }

    /// Writes who would decide about an event, and how.
    ///
    /// - Parameter remembered: The answers that the session remembers.
    package func write(_ event: WhatIf, _ remembered: [RememberedAnswer], _ writer: inout JSONWriter) {
        event.write(
            &writer, rules, remembered, delegates, engine, of: Question.Asker(labels: spec.labels),
            spec.request.urlForm)
    }
}
