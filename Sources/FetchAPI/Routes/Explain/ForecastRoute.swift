import FetchJobs
import FetchRuntime
import HTTPTypes
import Hummingbird

/// Explains how a job would be run if it were submitted now.
///
/// It stores nothing, and sends nothing but a look-up of the name where it is asked to judge the addresses too.
struct ForecastRoute: Sendable {
    let sessions: KnownSessions
    let endpoints: KnownEndpoints
    let cookies: any CookieCatalog
    let credentials: any CredentialCatalog
    let cache: any CacheStore
    let answers: any AnswerCatalog
    let limiters: any LimiterStore
    let protocols: KnownProtocols
    let rules: KnownServiceRules
    let egress: KnownEgress
    let defaults: @Sendable (SessionSpec.Kind) -> Configuration
    let judge: TargetCheck

    var routes: [Route] { [Route(.post, "/v1/explain", tenant: explain)] }

    private func explain(_ call: Call, _ tenant: Tenant.ID) async throws -> Response {
        _ = try call.query()
        try call.requireContent("application/json")
        let json = try JSONParser.parse(try await call.body(upTo: JobRoutes.maximumBody).readableBytesView)
        return .json(try await explanation(of: json, of: tenant, by: try call.requireKey()))
    }

    /// How a job would be run, as JSON.
    ///
    /// - Parameter owner: The key that it would count for; nil for none.
    func explanation(of json: JSONValue, of tenant: Tenant.ID, by owner: APIKey?) async throws -> [UInt8] {
        var spec = try await KeyReading.shared.read(json, of: tenant) { json throws(InvalidInput) in
            try JobSpec(json: json, besides: ["whatIf", "dryRun"])
        }
        try owner?.bind(&spec)
        try await endpoints.check(spec.webhook, asking: spec.configuration.delegate, of: tenant, by: owner)
        _ = try await sessions.job(spec, of: tenant, idempotency: nil)
        var session: SessionSpec?
        if let id = spec.session { session = try await sessions.session(id, of: tenant)?.spec }
        let forecast = Forecast(
            of: spec, in: session, standard: defaults(session?.kind ?? .default), rules.current,
            going: egress.policy(of: tenant))
        let events = try forecast.events(json)
        let look = try Self.look(json)
        // A registered protocol judges its own URLs.
        let isRegistered = protocols.protocol(for: spec.request.url, of: tenant, among: session?.protocols) != nil
        let judgement = isRegistered ? TargetJudgement() : await judge(spec.request.url, tenant, look)
        let address = SessionAddress(tenant: tenant, session: spec.session ?? .default)
        let keeps = session?.kind != .ephemeral
        let sent = forecast.sends(
            keeps ? try await cookies.cookies(of: address) : [])
        let credential = forecast.credential(
            among: keeps ? try await credentials.credentials(of: address) : [])
        let stored = keeps ? try await storedAnswer(to: forecast, address) : nil
        let remembered =
            spec.session != nil && keeps ? try await answers.rememberedAnswers(of: address) : []
        var limits: [Limiter] = []
        for address in spec.limiters(of: tenant) {
            if let limiter = try await limiters.limiter(address) { limits.append(limiter) }
        }
        let queue = try await limiters.queue(of: tenant)
        return JSONWriter.object { writer in
            writer.member("url", forecast.url)
            writer.member(
                "target",
                object: { writer in
                    writer.member("allowed", judgement.refusal == nil)
                    writer.member("code", judgement.refusal?.code)
                    writer.member("reason", judgement.refusal?.reason)
                    writer.member("resolves", judgement.resolves)
                })
            writer.member(EffectiveConfiguration.name, object: forecast.effective.write)
            if let credential { writer.member("credential", object: { $0.member("id", credential) }) }
            writer.member("cookies", array: { writer in sent.forEach { writer.value($0) } })
            if let stored { writer.member("cache", object: { stored.explain(&$0) }) }
            writer.member("proxy", forecast.proxy)
            writer.member("limiters", array: { writer in limits.forEach { writer.object($0.write) } })
            writer.member("queue", object: queue.write)
            writer.member(
                "whatIf",
                array: { writer in
                    events.forEach { event in writer.object { forecast.write(event, remembered, &$0) } }
                })
        }
    }

    /// Whether the addresses of the target are judged too, as they are when the job runs (SEC-13).
    private static func look(_ json: JSONValue) throws(InvalidInput) -> TargetLook {
        guard case .object(let members) = json, let member = members.first(where: { $0.name == "dryRun" }) else {
            return .url
        }
        let check = InputCheck()
        let isDryRun = JSONReader(member.value, pointer: "/dryRun", check: check).bool()
        try check.finish()
        return isDryRun == true ? .addresses : .url
    }

    /// The latest answer to the URL that the cache has.
    private func storedAnswer(to forecast: Forecast, _ session: SessionAddress) async throws -> CachedAnswer? {
        guard let url = forecast.cachedURL else { return nil }
        var filter = CacheFilter(session: session.session)
        filter.url = url
        return try await cache.answers(filter, of: session.tenant, after: nil, limit: 1).first
    }
}
