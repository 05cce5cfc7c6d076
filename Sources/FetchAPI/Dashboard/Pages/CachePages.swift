import FetchJobs

/// The stored answers, what becomes of a URL, and removing answers.
enum CachePages {
    static let path = "/dashboard/cache"
    static let explain = "\(path)/explain"
    static let purge = "\(path)/purge"
    static let hint = "Answers of origins that are kept for the jobs of sessions, the latest first."

    static func table(
        _ answers: [CachedAnswer], view: DashboardView, next: String?, now: Timestamp
    ) -> SheetPage.Table {
        let rows = answers.map { answer in
            [
                SheetPage.Cell(.code("\(answer.method) \(url(answer))")),
                SheetPage.Cell(.number("\(answer.status)")),
                SheetPage.Cell(.text(answer.contentType)), SheetPage.Cell(.number(Figure.bytes(answer.bytes))),
                SheetPage.Cell(verdict(answer, now)),
                SheetPage.Cell(
                    .time(answer.respondedAt, now: now),
                    .hint(answer.tags.isEmpty ? nil : answer.tags.joined(separator: ", "))),
                SheetPage.Cell(
                    .code(
                        answer.session.name, to: view.href("\(SessionPages.path)/\(answer.session.name)"))),
                SheetPage.Cell(forms: forms(answer, view)),
            ]
        }
        return SheetPage.Table(
            "Cached answers", ["Request", "Status", "Type", "Size", "Now", "Came", "Session", "Change"], rows,
            empty:
                "Nothing is stored here. Answers are kept when their fields allow it; Explain a URL tells why one is not.",
            next: next)
    }

    /// Without its query, which may hold secrets.
    private static func url(_ answer: CachedAnswer) -> String {
        let url = answer.url
        return url.contains("?") ? "\(url.prefix { $0 != "?" })?…" : url
    }

    /// What a request would be given that selects the answer.
    private static func verdict(_ answer: CachedAnswer, _ now: Timestamp) -> SheetPage.Line {
        switch answer.freshness(at: now).verdict {
        case .hit: .state("fresh", "succeeded")
        case .revalidate: .state("stale, asked again", "scheduled")
        case .miss: .state("stale", "")
        }
    }

    private static func forms(_ answer: CachedAnswer, _ view: DashboardView) -> [SheetPage.Form] {
        guard view.may(purge) else { return [] }
        return [
            SheetPage.Form(
                action: purge, button: "Purge", fields: [.hidden("answer", "\(answer.id)")], isDestructive: true,
                about: VisibleText.cut(url(answer)))
        ]
    }

    /// Removes all that match at once; something has to be said.
    static func purgeForm(_ view: DashboardView) -> [SheetPage.Form] {
        guard view.may(purge) else { return [] }
        return [
            SheetPage.Form(
                action: purge, button: "Purge",
                fields: [
                    .text("host", "Host"), .text("prefix", "Beginning of the URL"), .text("tag", "Tag"),
                    .text("session", "Session", hint: "any"),
                ],
                effect: "Removes the answers that fit all of these, on every node. DELETE /v1/cache does the same.",
                isDestructive: true)
        ]
    }

    // MARK: Explaining

    static func explained(_ answers: [CachedAnswer], of url: String?, now: Timestamp) -> [SheetPage.Section] {
        guard let url else { return [] }
        guard !answers.isEmpty else {
            return [.init(heading: VisibleText.cut(url), hint: "No answer is stored: a request goes to the origin.")]
        }
        return answers.map { answer in
            let times = answer.freshness(at: now)
            var facts = [
                Fact(name: "Verdict", value: sentence(times.verdict)),
                Fact(name: "Status", value: "\(answer.status)"),
                Fact(name: "Age", value: "\(Int64(times.age.seconds)) s"),
                Fact(
                    name: "Fresh for",
                    value:
                        "\(Int64(times.lifetime.seconds)) s\(times.isHeuristic ? ", by estimate: it states none" : "")"),
                Fact(name: "Has to be confirmed each time", value: times.requiresValidation ? "yes" : "no"),
                Fact(name: "Origin can be asked if it is still good", value: times.hasValidator ? "yes" : "no"),
                Fact(name: "Session", value: answer.session.name),
            ]
            let names = answer.varies.joined(separator: ", ")
            if !names.isEmpty {
                facts.append(Fact(name: "Only for requests with the same", value: VisibleText.cut(names)))
            }
            let fields = answer.fields.prefix(40).map { field in
                let isSecret = Redaction.hides(fieldNamed: field.name)
                return [
                    SheetPage.Cell(.code(field.name)),
                    SheetPage.Cell(.code(isSecret ? Redaction.text : field.value)),
                ]
            }
            return .init(
                heading: VisibleText.cut("\(answer.method) \(answer.url)"),
                facts: .init(facts: facts), table: .init("Fields of the answer", ["Field", "Value"], Array(fields)))
        }
    }

    private static func sentence(_ verdict: CachedAnswer.Verdict) -> String {
        switch verdict {
        case .hit: "hit: served without asking the origin"
        case .revalidate: "revalidate: the origin is asked if it is still good"
        case .miss: "miss: the origin is asked for another one"
        }
    }
}
