package import FetchEngine

// Certificates as clients write them. They are never written back but for their fingerprint.
extension ClientIdentity {
    private static let members: Set = ["certificateChain", "privateKey", "pkcs12", "passphrase"]

    /// Reads a certificate with its private key; the check gets a violation when it cannot be used.
    init?(reader: JSONReader) {
        guard let object = reader.object(of: Self.members) else { return nil }
        guard (object["pkcs12"] == nil) != (object["certificateChain"] == nil) else {
            reader.refuse("must have one of certificateChain and pkcs12")
            return nil
        }
        if object["pkcs12"] != nil { object["privateKey"]?.refuse("does not go with pkcs12") }
        guard let identity = Credential.identity(object, of: reader) else { return nil }
        self = identity
    }

    /// It whole, in the form that is sealed.
    package var secretBytes: [UInt8]? { Credential(identity: self, persistence: .permanent).secretBytes }

    /// The identity that was sealed.
    ///
    /// - Throws: ``InvalidInput`` when the bytes are none.
    package init(secretBytes: [UInt8]) throws {
        let credential = try Credential(secretBytes: secretBytes, user: "", persistence: .permanent)
        guard let identity = credential.identity else {
            throw InvalidInput(pointer: "", message: "is not a certificate with its private key")
        }
        self = identity
    }
}
