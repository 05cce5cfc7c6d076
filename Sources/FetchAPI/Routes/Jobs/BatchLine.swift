import FetchJobs

/// One line of a batch: a job, and the client's name for the line, if any.
struct BatchLine {
    private static let keyName = "idempotencyKey"
    private static let ownNames: Set = [keyName]

    let spec: JobSpec
    /// Stands for the line alone, wherever in whichever batch it is.
    let key: IdempotencyKey?

    /// - Throws: ``InvalidInput`` naming every member that breaks a rule.
    init(json: JSONValue) throws(InvalidInput) {
        let check = InputCheck()
        if case .object(let members) = json, let member = members.first(where: { $0.name == Self.keyName }) {
            key = IdempotencyKey(reader: JSONReader(member.value, pointer: "/\(Self.keyName)", check: check))
        } else {
            key = nil
        }
        do {
            spec = try JobSpec(json: json, besides: Self.ownNames)
        } catch {
            for violation in error.violations { check.refuse(violation.pointer, violation.message) }
            try check.finish()
            throw error
        }
        try check.finish()
    }
}

extension Problem {
    /// A key, of a line or of the whole batch, that named another line before.
    static func reusedKey(ofLine isOfLine: Bool) -> Problem {
        let message = "was used for another line"
        guard isOfLine else { return Problem(parameter: "Idempotency-Key", message, code: .idempotencyKeyReused) }
        var problem = Problem(.idempotencyKeyReused, "/idempotencyKey \(message)")
        problem.errors = [Entry(place: .member("/idempotencyKey"), message: message)]
        return problem
    }
}
