/// A blob that a client sends in several requests (draft-ietf-httpbis-resumable-upload).
package struct Upload: Sendable {
    package enum Kind: StoredKind {
        package static let prefix = "upl"
    }

    package typealias ID = Identifier<Kind>

    package let id: ID
    package let tenant: Tenant.ID
    package let contentType: String?
    /// When the finished blob expires.
    package let expiresAt: Timestamp?
    /// How many bytes it will have; nil while the client has not said.
    package let length: Int64?

    package init(id: ID, tenant: Tenant.ID, contentType: String?, expiresAt: Timestamp?, length: Int64?) {
        self.id = id
        self.tenant = tenant
        self.contentType = contentType
        self.expiresAt = expiresAt
        self.length = length
    }
}

extension Upload {
    /// As it is kept beside its bytes.
    package var json: [UInt8] {
        JSONWriter.object { writer in
            writer.member("contentType", contentType)
            writer.member("expiresAt", expiresAt?.microseconds)
            writer.member("length", length)
        }
    }

    /// Reads what ``json`` wrote; nil when it is something else.
    package init?(id: ID, tenant: Tenant.ID, json: [UInt8]) {
        guard let value = try? JSONParser.parse(json),
            let object = JSONReader(value, check: InputCheck()).object(of: ["contentType", "expiresAt", "length"])
        else { return nil }
        self.init(
            id: id,
            tenant: tenant,
            contentType: object["contentType"]?.string(),
            expiresAt: object["expiresAt"]?.integer(in: 0 ... .max).map { Timestamp(microseconds: $0) },
            length: object["length"]?.integer(in: 0 ... .max)
        )
    }
}
