import FetchJobs

/// A setting of a node, as operators see it.
package struct ShownSetting: Sendable {
    /// The environment variable.
    package let name: String
    /// Its value; `<redacted>` for a secret, nil where it has none.
    package let value: String?
    /// Where that comes from.
    package let origin: String

    package init(name: String, value: String?, origin: String) {
        self.name = name
        self.value = value
        self.origin = origin
    }
}

/// Nodes, tenants and what the service is made of, for its operators.
enum ServicePages {
    static let nodes = "/dashboard/nodes"
    static let tenants = "/dashboard/tenants"
    static let usage = "/dashboard/usage"
    static let system = "/dashboard/system"

    static let nodesHint =
        "Each node keeps a lease, and other nodes take its jobs when that runs out. Memory and slots are in the metrics of "
        + "each node (GET /metrics)."
    static let tenantsHint = "All tenants, the oldest first. The API sets their weights and limits."

    static func nodeTable(_ nodes: [NodeFigures], now: Timestamp) -> SheetPage.Table {
        let rows = nodes.map { node in
            [
                SheetPage.Cell(.code("\(node.id)"), .hint(node.url ?? "not reachable by other nodes")),
                SheetPage.Cell(
                    node.leaseUntil > now ? .state("live", "succeeded") : .state("gone", "failed"),
                    .time(node.leaseUntil, now: now, before: "lease ")),
                SheetPage.Cell(
                    .text(NodeRole.allCases.filter { node.roles.contains($0) }.map(\.rawValue).joined(separator: ", "))),
                SheetPage.Cell(.number(Figure.text(node.jobs))), SheetPage.Cell(.time(node.startedAt, now: now)),
            ]
        }
        return SheetPage.Table("Nodes", ["Node", "State", "Roles", "Jobs", "Started"], rows, empty: "No node lives.")
    }

    // MARK: Tenants

    static func table(_ shares: [TenantShare], own: Tenant.ID, next: String?, now: Timestamp) -> SheetPage.Table {
        let rows = shares.map { share in
            let parameter = share.tenant.id == own ? "" : "?tenant=\(share.tenant.name.percentEncoded)"
            let limits = TenantLimit.allCases.compactMap { limit in
                share.limits[limit].map { "\(limit.rawValue) \(Figure.text($0))" }
            }
            return [
                SheetPage.Cell(
                    .link(share.tenant.name, to: "\(usage)\(parameter)"),
                    share.tenant.id == own ? .hint("your own") : nil),
                SheetPage.Cell(share.isPaused ? .state("paused", "suspended") : .state("active", "succeeded")),
                SheetPage.Cell(.number("\(share.weight)")),
                SheetPage.Cell(.text(limits.isEmpty ? "those of the settings" : limits.joined(separator: ", "))),
                SheetPage.Cell(.time(share.createdAt, now: now)),
                SheetPage.Cell(
                    .link("Overview", to: "/dashboard\(parameter)"),
                    .link("Keys", to: "\(KeyPages.path)\(parameter)")),
            ]
        }
        return SheetPage.Table(
            "Tenants", ["Tenant", "State", "Weight", "Limits of its own", "Made", "Look at"], rows, next: next)
    }

    static func usageSection(_ usage: TenantUsage, within limits: TenantLimits) -> SheetPage.Section {
        let lines: [(String, Int64, TenantLimit, (Int64) -> String)] = [
            ("Jobs that wait", usage.waitingJobs, .maximumWaitingJobs, Figure.text),
            ("Jobs that run", usage.runningJobs, .maximumRunningJobs, Figure.text),
            ("Sessions", usage.sessions, .maximumSessions, Figure.text),
            ("Open questions", usage.openQuestions, .maximumOpenQuestions, Figure.text),
            ("Stored bytes", usage.storedBytes, .maximumStoredBytes, Figure.bytes),
            ("Bytes of the day", usage.traffic.bytes, .maximumBytesPerDay, Figure.bytes),
        ]
        var rows = lines.map { name, count, limit, text in
            [
                SheetPage.Cell(.text(name)), SheetPage.Cell(.number(text(count))),
                SheetPage.Cell(.number(limits[limit].map(text) ?? "no limit")),
                SheetPage.Cell(.number(limits[limit].flatMap { Figure.percent(Double(count), of: Double($0)) } ?? "–")),
            ]
        }
        let rates: [(String, TenantLimit, (Int64) -> String)] = [
            ("Requests in a second, to a node", .maximumRequestsPerSecond, Figure.text),
            ("Bytes in a second, each way", .maximumBytesPerSecond, { Figure.bytesPerSecond(Double($0)) }),
        ]
        rows += rates.map { name, limit, text in
            [
                SheetPage.Cell(.text(name)), SheetPage.Cell(.number("–")),
                SheetPage.Cell(.number(limits[limit].map(text) ?? "no limit")), SheetPage.Cell(.number("–")),
            ]
        }
        return .init(
            hint:
                "The day of UTC ends at \(usage.dayEnd). Up to \(Figure.text(Int64(TenantUsage.countLimit))) of a kind are "
                + "counted.",
            table: .init("Usage", ["What", "Now", "Limit", "Used"], rows))
    }

    // MARK: The system

    static func sections(
        _ database: DatabaseFigures, _ actions: DashboardActions, obstacles: [String], remarks: [String],
        node: Node.ID, now: Timestamp
    ) -> [SheetPage.Section] {
        [
            .init(
                facts: .init(facts: [
                    Fact(name: "Version", value: actions.version), Fact(name: "This node", value: "\(node)"),
                    Fact(name: "Ready", value: obstacles.isEmpty ? "yes" : obstacles.joined(separator: " ")),
                    Fact(name: "Remarks", value: remarks.isEmpty ? "none" : remarks.joined(separator: " ")),
                    Fact(name: "PostgreSQL", value: database.version),
                    Fact(name: "Size of the database", value: Figure.bytes(database.bytes)),
                    Fact(
                        name: "Connections to it",
                        value: "\(database.connections); the server takes \(database.maximumConnections)"),
                ])),
            .init(
                heading: "Largest tables", hint: "Rows as the planner estimates them; partitions are in their table.",
                table: .init(
                    "Largest tables", ["Table", "Size", "Rows"],
                    database.tables.map {
                        [
                            .init(.code($0.name)), .init(.number(Figure.bytes($0.bytes))),
                            .init(.number(Figure.text($0.rows))),
                        ]
                    })),
            .init(
                heading: "Migrations",
                table: .init(
                    "Migrations", ["Migration", "Applied"],
                    database.migrations.map { [.init(.code($0.name)), .init(.time($0.appliedAt, now: now))] })),
            .init(
                heading: "Settings of this node",
                hint: "As fetchd config show --origin prints them; secrets are redacted.",
                table: .init(
                    "Settings", ["Setting", "Value", "From"],
                    actions.settings.map {
                        [.init(.code($0.name)), .init(.code($0.value ?? "")), .init(.text($0.origin))]
                    }, empty: "Not known.")),
        ]
    }
}
