package import FetchEngine

extension CookieVerdict {
    /// Writes the name and the reason as an element; nothing of a cookie that was taken.
    func writeRejection(_ writer: inout JSONWriter) {
        guard let rejection else { return }
        writer.object { writer in
            writer.member("name", name)
            writer.member("reason", rejection.rawValue)
            writer.member("message", rejection.message)
        }
    }
}

extension JSONWriter {
    /// Writes the verdicts on cookies by their names; only the jar has the values (COK-4).
    package mutating func verdicts(_ verdicts: [CookieVerdict]) {
        member(
            "accepted",
            array: { writer in
                for verdict in verdicts where verdict.rejection == nil { writer.value(verdict.name) }
            })
        member("rejected", array: { writer in verdicts.forEach { $0.writeRejection(&writer) } })
    }
}
