import FetchJobs
import FetchRuntime
import Hummingbird

// Nodes, tenants with what they use, and the system.

extension DashboardRoutes {
    var serviceRoutes: [Route] {
        [
            page(.get, ServicePages.nodes, nodes),
            page(.get, ServicePages.tenants, tenants),
            page(.get, ServicePages.usage, usage),
            page(.get, ServicePages.system, system),
        ]
    }

    private func nodes(_ call: Call, _ session: DashboardSession) async throws -> Response {
        _ = try call.query()
        var sheet = SheetPage(frame("Nodes", call, session), hint: ServicePages.nodesHint)
        sheet.sections = [.init(table: ServicePages.nodeTable(try await ports.figures.nodes(), now: .now))]
        return page(.sheet, sheet)
    }

    private func tenants(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let query = try call.query(allowing: ["cursor"])
        audit.note(AuditEvent(.readAsOperator, ServicePages.tenants))
        let after = try query["cursor"].map { text in
            guard let number = OpaqueText.read(text).flatMap({ Int64($0) }) else {
                throw Problem(parameter: "cursor", "is not one that this list gave out")
            }
            return Tenant.ID(rawValue: number)
        }
        let items = try await ports.tenants.tenants(after: after, limit: Self.pageSize + 1)
        let part = ListPart(items, limit: Self.pageSize)
        let next = part.next { "\(ServicePages.tenants)?cursor=\(OpaqueText.write($0.tenant.id.description))" }
        var sheet = SheetPage(frame("Tenants", call, session), hint: ServicePages.tenantsHint)
        // Finds one of thousands by its name.
        sheet.search = SheetPage.Search(
            path: ServicePages.usage, fields: [.text(Self.tenantParameter, "Tenant", isRequired: true)], button: "Usage"
        )
        sheet.sections = [.init(table: ServicePages.table(part.shown, own: session.tenant, next: next, now: .now))]
        return page(.sheet, sheet)
    }

    private func usage(_ call: Call, _ session: DashboardSession) async throws -> Response {
        let view = try await view(try query(call), call, session)
        let usage = try await ports.tenants.usage(of: view.tenant)
        var sheet = sheet("Usage", call, view, hint: "What the tenant has of the service now, beside what it may have.")
        sheet.sections = [ServicePages.usageSection(usage, within: ports.tenantLimits.limits(of: view.tenant))]
        return page(.sheet, sheet)
    }

    private func system(_ call: Call, _ session: DashboardSession) async throws -> Response {
        _ = try call.query()
        audit.note(AuditEvent(.readAsOperator, ServicePages.system))
        var sheet = SheetPage(frame("System", call, session))
        sheet.sections = ServicePages.sections(
            try await ports.figures.database(), actions, obstacles: await ports.readiness.obstacles(),
            remarks: await ports.readiness.remarks(), node: ports.node, now: .now)
        return page(.sheet, sheet)
    }
}
