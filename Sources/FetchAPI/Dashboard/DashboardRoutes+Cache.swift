import FetchJobs
import Hummingbird

// Cached answers.

extension DashboardRoutes {
    var cacheRoutes: [Route] {
        [
            page(.get, CachePages.path, cache),
            page(.get, CachePages.explain, explainCache),
            page(.post, CachePages.purge, purgeCache),
        ]
    }

    private func cache(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "session", "host", "prefix", "tag", "cursor")
        let view = try await view(query, call, session)
        let filter = try await self.filter(query, view.tenant)
        let after = try query["cursor"].map { text in
            guard let position = OpaqueText.read(text).flatMap({ CachePosition($0) }) else {
                throw Problem(parameter: "cursor", "is not one that this list gave out")
            }
            return position
        }
        let items = try await ports.cache.answers(filter, of: view.tenant, after: after, limit: Self.pageSize + 1)
        let part = ListPart(items, limit: Self.pageSize)
        let next = part.next {
            view.href(
                CachePages.path, ("session", query["session"]), ("host", query["host"]),
                ("prefix", query["prefix"]), ("tag", query["tag"]),
                ("cursor", OpaqueText.write(CachePosition($0).text)))
        }
        var sheet = sheet(
            "Cache", call, view, hint: CachePages.hint,
            fields: [
                .text("session", "Session", query["session"], hint: "any"), .text("host", "Host", query["host"]),
                .text("prefix", "Beginning of the URL", query["prefix"]), .text("tag", "Tag", query["tag"]),
            ])
        sheet.choices = cacheChoices(view, isExplaining: false)
        sheet.sections = [
            .init(
                table: CachePages.table(part.shown, view: view, next: next, now: .now),
                forms: CachePages.purgeForm(view))
        ]
        return page(.sheet, sheet)
    }

    private func cacheChoices(_ view: DashboardView, isExplaining: Bool) -> SheetPage.Choices {
        SheetPage.Choices(
            label: "Cache",
            items: [
                .init(title: "Stored answers", href: view.href(CachePages.path), isCurrent: !isExplaining),
                .init(title: "Explain a URL", href: view.href(CachePages.explain), isCurrent: isExplaining),
            ])
    }

    private func explainCache(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try query(call, "url", "session")
        let view = try await view(query, call, session)
        var sheet = sheet(
            "Cache: explain a URL", call, view, hint: "What a request would be given now, and why.",
            fields: [
                .text("url", "URL", query["url"], isRequired: true),
                .text("session", "Session", query["session"], hint: "any"),
            ])
        sheet.search?.button = "Explain"
        sheet.choices = cacheChoices(view, isExplaining: true)
        if let url = query["url"] {
            var filter = try await self.filter(query, view.tenant)
            guard let canonical = CacheFilter.canonicalURL(url) else {
                throw Problem(parameter: "url", "is not an http or https URL")
            }
            filter.url = canonical
            let answers = try await ports.cache.answers(filter, of: view.tenant, after: nil, limit: 10)
            sheet.sections = CachePages.explained(answers, of: canonical, now: .now)
        }
        return page(.sheet, sheet)
    }

    private func purgeCache(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let filter = try await take(call, session) { form in
            var chosen = try await self.filter(form, session.tenant)
            chosen.answer = try form.identifier("answer", "an answer (cch_…)")
            guard chosen.answer != nil || !Set(["session", "host", "prefix", "tag"]).isDisjoint(with: form.names) else {
                throw Problem(parameter: "host", "or another one has to say which answers are meant")
            }
            return chosen
        }
        _ = try await ports.cache.purge(filter, of: session.tenant)
        return Self.redirect(to: CachePages.path)
    }

    private func filter(_ query: Query, _ tenant: Tenant.ID) async throws -> CacheFilter {
        var filter = CacheFilter()
        if query["session"] != nil {
            filter.session = try await actions.sessions.address(query.session(), of: tenant).session
        }
        filter.host = query["host"]?.lowercased()
        filter.prefix = query["prefix"]
        filter.tag = query["tag"]
        return filter
    }
}
