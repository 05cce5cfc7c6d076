import FetchJobs

/// The stored credentials and their uses; never what is secret of them.
enum CredentialPages {
    static let path = "/dashboard/credentials"
    static let one = "\(path)/{id}"
    static let remove = "\(one)/delete"
    static let hint =
        "Passwords, tokens, certificates and keys, each for one protection space. A secret goes in by the API and never "
        + "comes out."
    private static let usesHint = "Of all sessions, the newest first."

    static func table(
        _ credentials: [StoredCredential], view: DashboardView, next: String?, now: Timestamp
    ) -> SheetPage.Table {
        let rows = credentials.map { credential in
            [
                SheetPage.Cell(.code("\(credential.id)")),
                SheetPage.Cell(.text(credential.address), .hint(credential.realm)),
                SheetPage.Cell(
                    .text(credential.method), credential.isForProxy ? .hint("proxy") : nil),
                SheetPage.Cell(.text(credential.kind.rawValue)),
                SheetPage.Cell(.text(credential.user), credential.isDefault ? .hint("default of its space") : nil),
                SheetPage.Cell(.text(credential.lifetime)),
                SheetPage.Cell(
                    .time(credential.updatedAt, now: now),
                    credential.lastFailureAt.map {
                        .state("refused \(Age.text(since: $0, now: now)) ago", "failed")
                    }),
                SheetPage.Cell(forms: forms(credential, view)),
            ]
        }
        return SheetPage.Table(
            "Credentials", ["Credential", "Space", "Method", "Kind", "User", "Kept", "Stored", "Change"], rows,
            empty: "There are no credentials here. POST /v1/credentials stores one.", next: next)
    }

    private static func forms(_ credential: StoredCredential, _ view: DashboardView) -> [SheetPage.Form] {
        guard view.may(remove) else { return [] }
        return [
            SheetPage.Form(
                action: "\(path)/\(credential.id)/delete", button: "Delete",
                effect: "Jobs that name it fail, or ask.", isDestructive: true, about: "\(credential.id)")
        ]
    }

    static func uses(_ uses: [CredentialUse], view: DashboardView, now: Timestamp) -> SheetPage.Section {
        let rows = uses.map { use in
            [
                SheetPage.Cell(.time(use.usedAt, now: now)), SheetPage.Cell(.code("\(use.credential)")),
                SheetPage.Cell(use.job.map { .code("\($0)", to: view.job($0)) }),
                SheetPage.Cell(.text(place(use))),
            ]
        }
        return .init(
            heading: "Last uses", hint: usesHint,
            table: .init("Last uses", ["When", "Credential", "Job", "Space"], rows, empty: "None was used yet."))
    }

    private static func place(_ use: CredentialUse) -> String {
        // JSON that cannot be read counts as absent: the page shows the rest.
        guard let space = try? JSONParser.parse(use.space.bytes) else { return "" }
        let (scheme, host) = (space.member("protocol")?.text ?? "", space.member("host")?.text ?? "")
        return "\(scheme)://\(host):\(space.member("port")?.integer ?? 0)"
    }
}
