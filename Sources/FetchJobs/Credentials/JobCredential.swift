package import FetchEngine

/// The credential that a job brings: for the server of its URL, or for its proxy.
package enum JobCredential: Sendable, Equatable {
    /// With the job; it is sealed where the job is stored and never shown again.
    case inline(Credential)
    /// One that is stored.
    case stored(StoredCredential.ID)
    /// One that came with the job, where its secret is not told.
    case sealed
}

extension JobCredential {
    /// Reads the member `credential`: a credential itself, or the id of one that is stored.
    init?(reader: JSONReader) {
        if case .string = reader.value {
            guard let text = reader.string(maximumLength: 64) else { return nil }
            guard text != Self.sealedText else {
                self = .sealed
                return
            }
            guard let id = StoredCredential.ID(text) else {
                reader.refuse("is not the id of a credential (crd_…)")
                return nil
            }
            self = .stored(id)
            return
        }
        guard let object = reader.object(of: Credential.members.union(["persistence"])) else { return nil }
        let persistence =
            object["persistence"].map { $0.persistence() } ?? Credential.Persistence.none
        guard let persistence, let credential = Credential(members: object, of: reader, persistence: persistence) else {
            return nil
        }
        self = .inline(credential)
    }

    private static let sealedText = "sealed"

    /// As it is shown and stored: without a secret.
    var text: String {
        switch self {
        case .inline, .sealed: Self.sealedText
        case .stored(let id): id.description
        }
    }

    // MARK: As it is sealed

    /// The secret part of it in the form that is sealed; nil when there is none.
    var secretBytes: [UInt8]? {
        guard case .inline(let credential) = self, let secret = credential.secretBytes else { return nil }
        return JSONWriter.object { writer in
            writer.member("user", credential.user)
            writer.member("persistence", credential.persistence.rawValue)
            writer.member("secret", RawJSON(secret))
        }
    }

    /// Reads the sealed form.
    init(secret json: JSONValue) throws {
        let check = InputCheck()
        let object = JSONReader(json, check: check).object(of: ["user", "persistence", "secret"])
        guard let object, let user = object.required("user")?.string(),
            let persistence = object.required("persistence")?.oneOf(Credential.Persistence.self),
            let secret = object.required("secret")
        else { throw InvalidInput(check.violations) }
        var writer = JSONWriter()
        writer.value(secret.value)
        self = .inline(try Credential(secretBytes: writer.bytes, user: user, persistence: persistence))
    }
}
