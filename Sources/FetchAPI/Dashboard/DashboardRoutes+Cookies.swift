import FetchJobs
import Hummingbird

// The cookies of a session.

extension DashboardRoutes {
    var cookieRoutes: [Route] {
        [
            page(.get, CookiePages.path, cookies),
            page(.post, CookiePages.remove, removeCookie),
        ]
    }

    private func cookies(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "session", "domain", "name", "cursor")
        let view = try await view(query, call, session)
        let jar = try query.session()
        let filter = CookieFilter(domain: query["domain"], name: query["name"])
        let after = try query["cursor"].map { try Self.position($0) }
        let all = try await ports.cookies.cookies(of: actions.sessions.address(jar, of: view.tenant))
            .filter(filter.includes).map { ShownCookie($0) }
            .sorted { $0.position < $1.position }
            .filter { item in after.map { item.position > $0 } ?? true }
        let part = ListPart(all, limit: Self.pageSize)
        let next = part.next {
            view.href(
                CookiePages.path, ("session", query["session"]), ("domain", query["domain"]),
                ("name", query["name"]), ("cursor", OpaqueText.write($0.position.text)))
        }
        var sheet = sheet(
            "Cookies", call, view, hint: CookiePages.hint,
            fields: [
                .text("session", "Session", query["session"], hint: "default"),
                .text("domain", "Domain", query["domain"]), .text("name", "Name", query["name"]),
            ])
        sheet.sections = [
            .init(table: CookiePages.table(part.shown, session: jar, view: view, next: next, now: .now))
        ]
        return page(.sheet, sheet)
    }

    private func removeCookie(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let (jar, position) = try await take(call, session) { form in
            (try form.session(), try Self.position(form["cookie"] ?? ""))
        }
        let address = try await actions.sessions.address(jar, of: session.tenant)
        let cookies = try await ports.cookies.cookies(of: address).filter { CookiePosition($0).text == position.text }
        if !cookies.isEmpty { try await ports.cookies.remove(cookies, from: address) }
        return Self.redirect(to: "\(CookiePages.path)?session=\(jar.name)")
    }

    private static func position(_ text: String) throws(Problem) -> CookiePosition {
        guard let read = OpaqueText.read(text), OpaqueText.write(read) == text, let position = CookiePosition(read)
        else { throw Problem(parameter: "cursor", "is not one that this list gave out") }
        return position
    }
}
