import FetchJobs

/// Hosts and flows: what goes on at them, and what is set for them.
enum LimiterPages {
    static func path(_ kind: Limiter.Kind) -> String { kind == .host ? "/dashboard/hosts" : "/dashboard/flows" }

    static func title(_ kind: Limiter.Kind) -> String { kind == .host ? "Hosts" : "Flows" }

    static func hint(_ kind: Limiter.Kind) -> String {
        kind == .host
            ? "Where jobs load from, with its port where that is not the scheme's own. Limits hold on all nodes together."
            : "Jobs that name the same key share its limits, on all nodes together."
    }

    private static func noun(_ kind: Limiter.Kind) -> String { kind == .host ? "Host" : "Flow" }

    // MARK: What is set

    static func section(
        _ limiters: [Limiter], of kind: Limiter.Kind, view: DashboardView, next: String?, now: Timestamp
    ) -> SheetPage.Section {
        let rows = limiters.map { limiter in
            [
                SheetPage.Cell(
                    .code(limiter.address.key, to: kind == .host ? view.jobs(("host", limiter.address.key)) : nil)),
                condition(limiter, view, now), SheetPage.Cell(.number(Figure.text(limiter.waiting))),
                SheetPage.Cell(.number(Figure.text(limiter.running))), SheetPage.Cell(.text(text(limiter.limits))),
                SheetPage.Cell(forms: forms(limiter, view)),
            ]
        }
        let hint =
            kind == .host
            ? "Hosts for which something is set, or that have asked for patience." : "Flows for which something is set."
        return .init(
            heading: kind == .host ? "Limits and circuits" : "Limits", hint: hint,
            table: .init(
                title(kind), [noun(kind), "State", "Waiting", "Running", "Limits", "Change"], rows,
                empty: kind == .host
                    ? "None. Set the limits of a host below, or pause one."
                    : "None. Jobs name their flow as flow.key; set the limits of one below, or pause it.", next: next))
    }

    private static func condition(_ limiter: Limiter, _ view: DashboardView, _ now: Timestamp) -> SheetPage.Cell {
        let circuit = limiter.openCircuit
        return SheetPage.Cell(
            state(limiter),
            limiter.isPaused && limiter.running > 0 ? .hint("drains: \(limiter.running) still run") : nil,
            .hint(circuit?.reason),
            limiter.circuit == .open ? circuit.map { .time($0.until, now: now, before: "tried again ") } : nil,
            limiter.blockedBy.map { .code("\($0)", to: view.job($0)) })
    }

    private static func state(_ limiter: Limiter) -> SheetPage.Line {
        if limiter.isPaused { return .state("paused", "suspended") }
        switch limiter.circuit {
        case .open: return .state("circuit open", "scheduled")
        case .halfOpen: return .state("tried, few at a time", "scheduled")
        case .closed: return limiter.blockedBy == nil ? .state("open", "succeeded") : .state("held up", "failed")
        }
    }

    private static func text(_ limits: SharedLimits) -> String {
        var parts: [String] = []
        if let parallelism = limits.parallelism { parts.append("\(parallelism) at once") }
        if limits.order == .fifo { parts.append("in order") }
        if limits.onFailure == .block { parts.append("a failure blocks") }
        if let rate = limits.rate {
            let seconds = rate.period.seconds
            parts.append("\(rate.jobs) in \(Int64(exactly: seconds).map { "\($0)" } ?? "\(seconds)") s")
        }
        if let speed = limits.maximumBytesPerSecond { parts.append("\(speed) bytes/s") }
        let pinned = SharedLimits.Pin.allCases.filter(limits.pinned.contains).map(\.rawValue)
        if !pinned.isEmpty { parts.append("\(pinned.joined(separator: " and ")) pinned") }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }

    // MARK: Changing it

    private static func forms(_ limiter: Limiter, _ view: DashboardView) -> [SheetPage.Form] {
        let path = path(limiter.address.kind)
        let name = VisibleText.cut(limiter.address.key)
        let isHeld = limiter.isPaused || limiter.openCircuit != nil
        var forms: [SheetPage.Form] = []
        func add(_ action: String, _ button: String, _ effect: String? = nil) {
            guard view.may("\(path)/\(action)") else { return }
            forms.append(
                .init(
                    action: "\(path)/\(action)", button: button, fields: [field(of: limiter)], effect: effect,
                    isDestructive: effect != nil, about: name))
        }
        if isHeld { add("resume", "Resume") } else { add("pause", "Pause") }
        if limiter.blockedBy != nil { add("skip", "Skip the failed job") }
        add("remove", "Forget", "Takes back its limits, its pause and its circuit.")
        return forms
    }

    /// Names a limiter in a form: its key may have characters that pages do not show.
    private static func field(of limiter: Limiter) -> SheetPage.Field {
        .hidden("id", LimiterCursor(after: limiter).text)
    }

    /// The forms for a limiter of any name.
    static func forms(of kind: Limiter.Kind, view: DashboardView) -> [SheetPage.Form] {
        let path = path(kind)
        let name = SheetPage.Field.text("name", noun(kind), isRequired: true)
        var forms: [SheetPage.Form] = []
        if view.may("\(path)/pause") {
            forms.append(
                .init(
                    action: "\(path)/pause", button: "Pause", fields: [name],
                    effect: "Its jobs wait; those that run end, so it drains.",
                    heading: "Pause a \(noun(kind).lowercased())")
            )
        }
        guard view.may("\(path)/limits") else { return forms }
        var fields: [SheetPage.Field] = [
            name, .text("parallelism", "Jobs at once", hint: "any number"), .text("jobs", "Jobs", hint: "any number"),
            .text("period", "in so many seconds"), .text("bytes", "Bytes per second", hint: "any number"),
        ]
        if kind == .flow {
            let orders = [
                SheetPage.Field.Option(value: "", title: "any", isChosen: true),
                .init(value: "fifo", title: "one after the other", isChosen: false),
                .init(value: "fifoBlock", title: "one after the other, a failure blocks", isChosen: false),
            ]
            let pins = [
                SheetPage.Field.Option(value: "", title: "change both", isChosen: true),
                .init(value: "parallelism", title: "change the rate alone", isChosen: false),
                .init(value: "rate", title: "change all but the rate", isChosen: false),
                .init(value: "parallelism,rate", title: "change neither", isChosen: false),
            ]
            fields.append(.init(name: "order", label: "Order", options: orders))
            fields.append(.init(name: "pinned", label: "Messages with limits", options: pins))
        }
        forms.append(
            .init(
                action: "\(path)/limits", button: "Set limits", fields: fields,
                effect: "Takes the place of all limits that it has; PUT of the API does the same.",
                heading: "Set the limits of a \(noun(kind).lowercased())"))
        return forms
    }

    // MARK: What goes on

    private static let maximumNames = 25

    static func activity(
        _ sample: [SampledJob], of kind: Limiter.Kind, view: DashboardView, now: Timestamp
    ) -> SheetPage.Section {
        let all = Activity.all(in: sample, of: kind)
        let path = "\(path(kind))/pause"
        let rows = all.prefix(maximumNames).map { one in
            // Jobs are not listed by their flow.
            let jobs = kind == .host ? view.jobs(("host", one.name)) : nil
            var forms: [SheetPage.Form] = []
            if view.may(path) {
                forms = [
                    .init(
                        action: path, button: "Pause",
                        fields: [
                            field(of: Limiter(address: .init(tenant: view.tenant, kind: kind, key: one.name)))
                        ],
                        about: VisibleText.cut(one.name))
                ]
            }
            return [
                SheetPage.Cell(.code(one.name, to: jobs)), SheetPage.Cell(.number("\(one.jobs)", to: jobs)),
                SheetPage.Cell(.number("\(one.failed)", to: one.failed > 0 ? jobs.map { "\($0)&state=failed" } : nil)),
                SheetPage.Cell(.number("\(one.refused)", to: one.refused > 0 ? jobs.map { "\($0)&status=5xx" } : nil)),
                SheetPage.Cell(.number(one.median ?? "–")), SheetPage.Cell(.number(one.slowest ?? "–")),
                SheetPage.Cell(.time(one.last, now: now)), SheetPage.Cell(forms: forms),
            ]
        }
        var hint = Sample(sample).words(now: now)
        if all.count > maximumNames {
            hint += " The \(maximumNames) of \(all.count) \(title(kind).lowercased()) with most jobs."
        }
        return .init(
            heading: "Recent activity", hint: hint,
            table: .init(
                "Recent activity", [noun(kind), "Jobs", "Failed", "5xx", "Median", "95 %", "Last", "Change"], rows,
                empty: kind == .host
                    ? "No job of the last 24 hours has ended. New job, at Jobs, makes one."
                    : "No job of a flow is among them. Jobs name their flow as flow.key."))
    }
}
