import FetchJobs
import HTTPTypes
import Hummingbird

// Hosts and flows: what goes on, their limits, the jobs that wait, and pausing them.

extension DashboardRoutes {
    /// Names are in the forms: a flow's key may be any text.
    func limiterRoutes(_ kind: Limiter.Kind) -> [Route] {
        let path = LimiterPages.path(kind)
        var routes = [
            page(.get, path) { try await limiters(kind, $0, $1) },
            page(.post, "\(path)/pause") { try await setPaused(true, kind, $0, $1) },
            page(.post, "\(path)/resume") { try await setPaused(false, kind, $0, $1) },
            page(.post, "\(path)/limits") { try await setLimits(kind, $0, $1) },
            page(.post, "\(path)/remove") { try await removeLimiter(kind, $0, $1) },
        ]
        if kind == .flow { routes.append(page(.post, "\(path)/skip", skipBlock)) }
        return routes
    }

    private func limiters(_ kind: Limiter.Kind, _ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "cursor")
        let view = try await view(query, call, session)
        let after = try query["cursor"].map { try LimiterCursor($0) }
        let items = try await limiters.limiters(
            of: view.tenant, kind, after: after?.key ?? "", limit: Self.pageSize + 1)
        let part = ListPart(items, limit: Self.pageSize)
        let path = LimiterPages.path(kind)
        let next = part.next { view.href(path, ("cursor", LimiterCursor(after: $0).text)) }
        var sheet = sheet(LimiterPages.title(kind), call, view, hint: LimiterPages.hint(kind))
        sheet.sections = [LimiterPages.section(part.shown, of: kind, view: view, next: next, now: .now)]
        if after == nil {
            let sample = try await ports.figures.sample(of: view.tenant, withFlows: kind == .flow)
            sheet.sections.append(LimiterPages.activity(sample, of: kind, view: view, now: .now))
        }
        sheet.sections.append(.init(forms: LimiterPages.forms(of: kind, view: view)))
        return page(.sheet, sheet)
    }

    // MARK: Changing

    private func address(_ kind: Limiter.Kind, _ form: Query, _ session: DashboardSession) throws -> Limiter.Address {
        let name = try form["id"].map { try LimiterCursor($0).key } ?? form["name"]
        guard let name, let limiter = Limiter.Address(tenant: session.tenant, kind: kind, name: name) else {
            throw Problem(.notFound, kind == .host ? "That is no host." : "That is no key of a flow.")
        }
        return limiter
    }

    private func setPaused(
        _ isPaused: Bool, _ kind: Limiter.Kind, _ call: Call, _ session: DashboardSession
    ) async throws -> Response {
        let limiter = try await take(call, session) { try address(kind, $0, session) }
        try await limiters.setPaused(isPaused, limiter)
        return Self.redirect(to: LimiterPages.path(kind))
    }

    private func setLimits(_ kind: Limiter.Kind, _ call: Call, _ session: DashboardSession) async throws -> Response {
        let (limiter, limits) = try await take(call, session) { form in
            (try address(kind, form, session), try SharedLimits(json: Self.limits(form), of: kind))
        }
        try await limiters.set(limits, of: limiter)
        return Self.redirect(to: LimiterPages.path(kind))
    }

    /// The limits that a form holds, as the API would get them.
    private static func limits(_ form: Query) -> JSONValue {
        func number(_ name: String) -> JSONValue? {
            form[name].map { text in Double(text).map { .number(JSONNumber($0)) } ?? .string(text) }
        }
        var members: [JSONMember] = []
        if let parallelism = number("parallelism") { members.append(.init("parallelism", parallelism)) }
        if let bytes = number("bytes") { members.append(.init("maximumBytesPerSecond", bytes)) }
        let rate = ["jobs", "period"].compactMap { name in number(name).map { JSONMember(name, $0) } }
        if !rate.isEmpty { members.append(.init("rate", .object(rate))) }
        if form["order"] != nil { members.append(.init("order", .string(SharedLimits.Order.fifo.rawValue))) }
        if form["order"] == "fifoBlock" {
            members.append(.init("onFailure", .string(SharedLimits.FailureRule.block.rawValue)))
        }
        if let pinned = form["pinned"] {
            members.append(.init("pinned", .array(pinned.split(separator: ",").map { .string(String($0)) })))
        }
        return .object(members)
    }

    private func removeLimiter(
        _ kind: Limiter.Kind, _ call: Call, _ session: DashboardSession
    ) async throws -> Response {
        let limiter = try await take(call, session) { try address(kind, $0, session) }
        guard try await limiters.remove(limiter) else {
            throw Problem(.notFound, "Nothing is set for \(VisibleText.cut(limiter.key)).")
        }
        return Self.redirect(to: LimiterPages.path(kind))
    }

    private func skipBlock(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let limiter = try await take(call, session) { try address(.flow, $0, session) }
        try await limiters.skip(limiter)
        return Self.redirect(to: LimiterPages.path(.flow))
    }
}
